package machine

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/x448/float16"

	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/hw/chip"
	"anesim/hw/clock"
	"anesim/internal/firmware/broker"
	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
	"anesim/internal/spelling"
	"anesim/loader"
)

// sortedKeys returns the keys of m in ascending order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// A player executes the steps of a script on a machine and writes the transcript.
type player struct {
	w       io.Writer
	models  Models
	options Options
	machine *Machine
	clients map[string]*scriptClient
	buffers map[string]uint64 // device addresses of the buffers named by map steps
	// notified counts the controller's own messages by name.
	notified map[string]int
	mapped   uint64 // scalar that the last selector returned
	outcome  outcome
	ports    map[string]*wakePort
}

// A wakePort is where the completions of a client's asynchronous calls arrive.
type wakePort struct {
	client  string
	calls   map[uint64]*driver.Completion // by sequence; nil until the completion arrives
	waiting []uint64                      // sequences of outstanding calls
}

// A scriptClient is a client that a script has made, with its connections to the driver and
// the broker.
type scriptClient struct {
	user     *driver.Client // nil if the client uses only the broker
	broker   *broker.Client // nil if it does not use the broker
	leases   map[uint64]*Lease
	priority queue.Priority
	class    uint32
}

// An outcome is the result of a step: a text for the transcript, and the names that an
// expect step may use for it.
type outcome struct {
	text  string
	names []string
}

// Models opens the models that a [Script] uses.
type Models interface {
	// Builtin returns the program that is built into anesim.
	Builtin() engine.Source
	// File returns the model in the named file.
	File(name string) (engine.Source, error)
	// Layer returns a network with one layer, given as an operation such as "conv" and keys
	// such as "cin=64".
	Layer(op string, keys ...string) (engine.Source, error)
	// Layers returns a container with one procedure per layer, with weights generated from
	// seed. Each layer is an operation and its keys, separated by spaces.
	Layers(seed uint64, layers ...string) (engine.Source, error)
}

// Play executes the script on a new machine and writes a transcript to w: each step with its
// outcome, the events of the task queues, and finally statistics. It returns the machine in its
// final state.
//
// Play returns a *[ScriptError] if a step or an expectation fails, any error from w, or the error
// of ctx.
func (s *Script) Play(ctx context.Context, w io.Writer, models Models) (*Machine, error) {
	p := &player{w: w, models: models, options: Options{Engine: engine.Options{Values: true, Seed: 1}}, clients: map[string]*scriptClient{}, buffers: map[string]uint64{}, notified: map[string]int{}, ports: map[string]*wakePort{}}
	for _, l := range s.lines {
		if p.machine == nil && l.words[0] != "option" {
			if err := p.startMachine(ctx); err != nil {
				return nil, &ScriptError{Line: l.number, What: err.Error(), Err: err}
			}
		}
		fmt.Fprintf(w, "%s\n", strings.Join(l.words, " "))
		step := scriptSteps[l.words[0]]
		if err := step.play(p, l.words[1:]); err != nil {
			return p.machine, &ScriptError{Line: l.number, What: err.Error(), Err: err, Expected: step.expects}
		}
		if ctx.Err() != nil {
			return p.machine, ctx.Err()
		}
		if p.machine != nil && p.machine.Now() > clock.Longest {
			return p.machine, &ScriptError{Line: l.number, What: fmt.Sprintf("the clock has passed %v hours, up to which times are exact to the nanosecond", float64(clock.Longest/3600e9))}
		}
	}
	if p.machine == nil {
		if err := p.startMachine(ctx); err != nil {
			return nil, &ScriptError{Line: 1, What: err.Error(), Err: err}
		}
	}
	return p.machine, p.machine.WriteStatistics(w)
}

// startMachine makes the machine and connects its events and notifications to the transcript.
func (p *player) startMachine(ctx context.Context) (err error) {
	p.machine, err = New(ctx, p.options)
	if err != nil {
		return err
	}
	p.machine.Observe = func(e queue.Event) {
		secure := ""
		if p.machine.engine.queue.State() == queue.ExecSecure {
			secure = ", " + queue.ExecSecure.String()
		}
		fmt.Fprintf(p.w, "  @ %v: request %d %v, queue %d, program %d, process %d%s\n", e.At, e.ID, e.Kind, e.Queue, e.Program, e.Process, secure)
	}
	p.machine.Notified = p.recordNotification
	p.machine.Warned = func(text string) { fmt.Fprintf(p.w, "  warning: %s\n", text) }
	return nil
}

// recordNotification counts a message that the controller sent unasked. It writes the message to
// the transcript unless it only reports the success of a call.
func (p *player) recordNotification(m command.Message) {
	p.notified[m.ID.String()]++
	n, err := command.ReadNotice(m.Body)
	switch {
	case err != nil || len(m.Body) == 0:
		fmt.Fprintf(p.w, "  <- %v\n", m.ID)
	case m.ID == command.ProgramEvent && n.Status == command.OK:
	case n.Status != command.OK:
		fmt.Fprintf(p.w, "  <- %v: program %d, process %d: %v\n", m.ID, m.Program, m.Process, n.Status)
	default:
		fmt.Fprintf(p.w, "  <- %v: %d\n", m.ID, n.Value)
	}
}

// reportOutcome writes text, the outcome of a step, to the transcript and records it for a later
// expect step. The outcome may have other names, which are in names.
func (p *player) reportOutcome(text string, names ...string) {
	p.outcome = outcome{text, names}
	fmt.Fprintf(p.w, "  -> %s\n", text)
}

// closeClient handles the step "close CLIENT", which closes the client's connections to the
// driver and the broker.
func (p *player) closeClient(name string) error {
	c, err := p.findClient(name)
	if err != nil {
		return err
	}
	if c.user != nil {
		c.user.Close()
	}
	if c.broker != nil {
		p.machine.disconnect(c.broker)
		c.broker, c.leases = nil, nil
	}
	p.reportOutcome(fmt.Sprintf("closed; user clients: %d", p.machine.driver.Clients()), "closed")
	return nil
}

// executeRuns handles the step "step N", which executes N runs of descriptors, 1 if N is missing.
// It stops when the queues are empty.
func (p *player) executeRuns(words []string) (err error) {
	n := 1
	if len(words) > 0 {
		if n, err = strconv.Atoi(words[0]); err != nil || n < 1 {
			return fmt.Errorf("invalid run count %q; want 1 or more", words[0])
		}
	}
	for range n {
		if more, err := p.machine.Step(); err != nil || !more {
			return err
		}
	}
	return nil
}

// waitForTime carries out the step "wait 1.5ms", which lets time pass without work.
func (p *player) waitForTime(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("invalid duration %q; want 0s or more, such as 1.5ms", text)
	}
	return p.machine.RunUntil(p.machine.Now() + clock.Nanoseconds(d.Nanoseconds()))
}

// runUntil handles the step "until 1.5ms", which runs the task queues until the given time
// since the start, also if requests are held. A run of descriptors that is in progress then goes on.
func (p *player) runUntil(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("invalid time %q; want a duration since the start, such as 1.5ms", text)
	}
	at := clock.Nanoseconds(d.Nanoseconds())
	// Recorded times have fractions of a nanosecond, which a time.Duration does not.
	if number, ok := strings.CutSuffix(text, "ns"); ok {
		if v, err := strconv.ParseFloat(number, 64); err == nil && v < math.MaxInt64 {
			at = clock.Nanoseconds(v)
		}
	}
	return p.machine.timeline.runUntil(at, true)
}

func (p *player) setOption(words []string) error {
	kv, err := parsePairs(words, "chip", "host", "seed", "values", "depth", "in_flight", "preemption")
	if err != nil {
		return err
	}
	o := &p.options
	// Sorted, so that of two wrong values the same one is reported each time.
	for _, k := range sortedKeys(kv) {
		v := kv[k]
		switch k {
		case "chip":
			o.Engine.Chip, err = chip.ByName(v)
		case "host":
			o.Engine.Host, err = engine.HostByName(v)
		case "seed":
			o.Engine.Seed, err = strconv.ParseUint(v, 10, 64)
		case "depth":
			var n uint64
			if n, err = strconv.ParseUint(v, 10, 12); err == nil && n == 0 {
				err = fmt.Errorf("ring depth is 0; want 1 or more")
			}
			o.RingDepth = int(n)
		case "in_flight":
			var n uint64
			if n, err = strconv.ParseUint(v, 10, 16); err == nil && n == 0 {
				err = fmt.Errorf("number of commands in flight is 0; want 1 or more")
			}
			o.InFlight = int(n)
		case "preemption":
			var ok bool
			if o.Preemption, ok = queue.ParsePreemption(v); !ok {
				err = fmt.Errorf("unknown preemption %q; want %s%s", v, strings.Join(queue.Preemptions(), ", "), spelling.Suggest(v, queue.Preemptions()))
			}
		default:
			if o.Engine.Values = v == "on"; v != "on" && v != "off" {
				err = fmt.Errorf(`unknown value %q for "values"; want on or off`, v)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *player) addModel(words []string) (err error) {
	var m engine.Source
	switch what := words[1]; {
	case what == "layer" && len(words) > 2:
		m, err = p.models.Layer(words[2], words[3:]...)
	case what == "layers" && len(words) > 2:
		m, err = p.models.Layers(p.options.Engine.Seed, strings.Split(strings.Join(words[2:], " "), " / ")...)
	case what == "file" && len(words) > 2:
		m, err = p.models.File(strings.Join(words[2:], " "))
	case what == "builtin":
		m = p.models.Builtin()
	default:
		err = fmt.Errorf(`unknown source for model %q; want "file NAME", "layer OP KEYS", "layers OP KEYS / OP KEYS" or "builtin"`, words[0])
	}
	if err != nil {
		return err
	}
	at, err := p.machine.Add(words[0], m)
	if err == nil {
		p.reportOutcome(fmt.Sprintf("image at %#x", at), "image")
	}
	return err
}

// entitlements maps the names of rights in scripts to entitlements.
var entitlements = map[string]string{
	"user-access": driver.UserAccess, "data-chaining": driver.DataChaining, "realtime": driver.Realtime,
	"reserved-priorities": driver.Reserved, "memory": driver.Memory, "data": driver.Data,
	"set-hints": driver.SetHints, "share-hints": driver.ShareHints, "sandbox-exception": driver.SandboxException,
	"broker": broker.Allow, "broker-access": broker.Access, "model-share": broker.ModelShare,
	"adapter-weights": broker.AdapterWeight, "aggressive-saving": broker.AggressiveSaving,
}

func (p *player) addClient(words []string) error {
	name := words[0]
	if p.clients[name] != nil {
		return fmt.Errorf("duplicate client %q", name)
	}
	kv, err := parsePairs(words[1:], "kind", "rights", "qos", "team", "hash", "privileged")
	if err != nil {
		return err
	}
	rights, err := parseRights(kv["rights"])
	if err != nil {
		return err
	}
	kinds := map[string]driver.Kind{"": driver.Control, "control": driver.Control, "direct": driver.DirectPath, "hints": driver.Hints}
	kind, ok := kinds[kv["kind"]]
	if !ok {
		return fmt.Errorf("unknown client kind %q; want control, direct or hints%s", kv["kind"], spelling.Suggest(kv["kind"], []string{"control", "direct", "hints"}))
	}
	class := broker.Default
	qos, hasQoS := kv["qos"]
	if hasQoS {
		if class, ok = broker.ParseQoS(qos); !ok {
			return fmt.Errorf("unknown QoS class %q; want %s, or 33, 25, 21, 17, 9%s", qos, strings.Join(broker.QoSNames(), ", "), spelling.Suggest(qos, broker.QoSNames()))
		}
	}
	c := &scriptClient{leases: map[uint64]*Lease{}, priority: class.Priority(), class: class.Class()}
	id := broker.Identity{Team: kv["team"], CodeDirectory: kv["hash"]}
	// Without the kernel's entitlement, the way to the engine leads through the broker.
	asks := !rights.Has(driver.UserAccess) && kind != driver.Hints && (rights.Has(broker.Allow) || rights.Has(broker.Access))
	if hasQoS || asks {
		if c.broker, err = p.machine.broker.Connect(name, id, broker.Unrestricted, class, rights...); err != nil {
			p.reportDenied(err)
			return nil
		}
	}
	if asks && !(kind == driver.DirectPath && rights.Has(driver.SandboxException)) {
		p.clients[name] = c
		p.reportOutcome(fmt.Sprintf("%v: connected to the broker", driver.Success), "Success", "0x0")
		return nil
	}
	_, privileged := kv["privileged"]
	var ret driver.Return
	if c.user, ret = p.machine.driver.NewUserClient(kind, rights, privileged); ret == driver.Success {
		c.user.Identity = driver.Identity(id)
		p.clients[name] = c
	} else if c.broker != nil {
		c.broker.Disconnect()
	}
	p.reportReturn(ret)
	return nil
}

// parseRights returns the entitlements in a list of short or full names, separated by commas.
func parseRights(list string) (rights driver.Entitlements, err error) {
	for _, r := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' }) {
		if full, ok := entitlements[r]; ok {
			r = full
		} else if !strings.Contains(r, ".") {
			return nil, fmt.Errorf("unknown entitlement %q; want %s or a full entitlement name%s", r, strings.Join(sortedKeys(entitlements), ", "), spelling.Suggest(r, sortedKeys(entitlements)))
		}
		rights = append(rights, r)
	}
	return rights, nil
}

// findUser returns the client with the given name, which must have a user client of the driver.
func (p *player) findUser(name string) (*scriptClient, error) {
	c, err := p.findClient(name)
	if err == nil && c.user == nil {
		err = fmt.Errorf("client %q has no user client of the driver; it reaches the engine through the broker, with the steps lease and ask", name)
	}
	return c, err
}

func (p *player) findClient(name string) (*scriptClient, error) {
	if c := p.clients[name]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("unknown client %q%s", name, spelling.Suggest(name, sortedKeys(p.clients)))
}

// reportReturn writes the driver's return value r as the outcome of the step. An expect
// step may refer to it by its name or by its number.
func (p *player) reportReturn(r driver.Return) {
	text := r.String()
	name, _, _ := strings.Cut(text, " ")
	p.reportOutcome(text, name, fmt.Sprintf("%#x", uint32(r)))
}

// parseNumber returns the number that kv holds for a key, or fallback if the key is missing. It
// returns an error unless the number is between -1 and limit.
func parseNumber(kv map[string]string, key string, fallback, limit int64) (int64, error) {
	v, ok := kv[key]
	if !ok {
		return fallback, nil
	}
	n, err := strconv.ParseInt(v, 0, 64)
	if err != nil || n < -1 || n > limit {
		return 0, fmt.Errorf("invalid value %q for %q; want a number from -1 to %d", v, key, limit)
	}
	return n, nil
}

func (p *player) findPort(slot, name string, d loader.Direction) (*engine.Loaded, *loader.Port, error) {
	number, chain, several := strings.Cut(slot, ":")
	n, err := strconv.ParseInt(number, 0, 32)
	if err != nil {
		return nil, nil, fmt.Errorf("invalid slot %q; want SLOT or SLOT:PROCEDURE", slot)
	}
	at := uint64(0)
	if several {
		if at, err = strconv.ParseUint(chain, 0, 32); err != nil {
			return nil, nil, fmt.Errorf("invalid procedure %q; want a number", chain)
		}
	}
	l := p.machine.Procedure(int32(n), uint32(at))
	switch {
	case p.machine.Program(int32(n)) == nil:
		return nil, nil, fmt.Errorf("program slot %d is empty", n)
	case l == nil:
		return nil, nil, fmt.Errorf("program in slot %d has no procedure %d", n, at)
	}
	port, ok := l.Program().Port(name, d)
	if !ok {
		return nil, nil, fmt.Errorf("program in slot %d has no %v %q; want one of %s", n, d, name, portNames(l.Program(), d))
	}
	return l, port, nil
}

func parseHalves(words []string, n int) ([]float16.Float16, error) {
	if len(words) != 1 && len(words) != n {
		return nil, fmt.Errorf("%d values for %d elements; want one value, or one per element", len(words), n)
	}
	data := make([]float16.Float16, n)
	for i := range data {
		w := words[min(i, len(words)-1)]
		v, err := strconv.ParseFloat(w, 32)
		if err != nil {
			return nil, fmt.Errorf("invalid value %q; want a number", w)
		}
		data[i] = float16.Fromfloat32(float32(v))
	}
	return data, nil
}

func (p *player) setInput(words []string) error {
	l, port, err := p.findPort(words[0], words[1], loader.Input)
	if err != nil {
		return err
	}
	data, err := parseHalves(words[2:], engine.Elements(port))
	if err != nil {
		return err
	}
	return l.Set(words[1], data)
}
