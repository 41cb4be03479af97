package machine

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"anesim/internal/firmware/broker"
	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
	"anesim/internal/spelling"
)

// sendCommand handles the step "send CHANNEL COMMAND key=value...", which puts a command on the
// ring and, unless post is true, rings the doorbell.
func (p *player) sendCommand(words []string, post bool) error {
	channels := map[string]command.Channel{"control": command.Control, "execution": command.Execution}
	ch, ok := channels[words[0]]
	if !ok {
		return fmt.Errorf("unknown channel %q; want control or execution%s", words[0], spelling.Suggest(words[0], sortedKeys(channels)))
	}
	id, ok := command.Parse(words[1])
	if !ok {
		n, err := strconv.ParseUint(words[1], 0, 32)
		if err != nil {
			return fmt.Errorf("unknown command %q; want a command name or number%s", words[1], spelling.Suggest(words[1], commandNames()))
		}
		id = command.ID(n)
	}
	kv, err := parsePairs(words[2:], append(slices.Clone(headerKeys), bodyKeys...)...)
	if err != nil {
		return err
	}
	// A key of another command would be dropped without a word, and the script would seem to have set it.
	if err := checkTaken(kv, id.String(), append(slices.Clone(headerKeys), takenKeys(id, kv)...)); err != nil {
		return err
	}
	// The defaults are a valid call: priority 5 as observed in requests, -1 for no program or process.
	n := map[string]int64{"priority": 5, "program": -1, "process": -1, "sets": 1, "bytes": -1, "checksum": int64(command.ChecksumValid)}
	for k := range kv {
		switch k {
		case "model", "bars", "bind", "wait", "signal", "shared", "buffers", "timeout":
		case "value", "checksum":
			if n[k], err = parseNumber(kv, k, 0, 1<<40); err != nil {
				return err
			}
		default:
			if n[k], err = parseNumber(kv, k, 0, mostNumber); err != nil {
				return err
			}
		}
	}
	m := command.Message{Header: command.Header{
		ID: id, Priority: uint32(n["priority"]), Program: int32(n["program"]), Process: int32(n["process"]), Procedure: uint32(n["procedure"]),
	}}
	if m.Body, err = p.newCommandBody(id, kv, n); err != nil {
		return err
	}
	limit, err := parseTimeout(kv)
	if err != nil {
		return err
	}
	if limit > 0 {
		// Only a call can last; everything else is answered when its doorbell has been rung.
		if ch != command.Execution || post {
			return fmt.Errorf(`"timeout" is for calls that "send" sends on the execution channel`)
		}
		return p.reportEnd(p.machine.SendWithin(&m, limit), m.Program, m.Process)
	}
	if post {
		if err := p.machine.Post(ch, &m); err != nil {
			p.reportOutcome(err.Error(), "refused")
		} else {
			p.reportOutcome("in the ring", "posted")
		}
		return nil
	}
	r := p.machine.Send(ch, &m)
	p.reportReply(&r, m.Program, m.Process)
	return nil
}

// headerKeys are the keys that the step of every command takes, for the fields of its header, and
// bodyKeys are those that some commands take.
var (
	headerKeys = []string{"priority", "program", "process", "procedure", "bytes"}
	bodyKeys   = []string{"model", "procedures", "bars", "bind", "wait", "signal", "shared", "order", "group", "inputs", "buffers", "sets", "property", "value", "checksum", "timeout"}
)

// takenKeys returns the keys of a command that are not in headerKeys. With bytes, which gives a body of
// zeros, there are none.
func takenKeys(id command.ID, kv map[string]string) []string {
	_, zeros := kv["bytes"]
	switch {
	case zeros:
		return nil
	case id == command.LoadProgram:
		return []string{"model", "procedures", "bars"}
	case id == command.CHPropertyWrite:
		return []string{"property", "value"}
	case id == command.CHPropertyRead:
		return []string{"property"}
	case id == command.DebugCommandDataCheck:
		return []string{"checksum"}
	case hasCallBody(id):
		return []string{"bars", "bind", "wait", "signal", "shared", "order", "group", "inputs", "buffers", "sets", "timeout"}
	}
	return nil
}

// checkTaken returns an error if kv has a key that what, a command or a selector, does not take.
func checkTaken(kv map[string]string, what string, taken []string) error {
	for _, k := range sortedKeys(kv) {
		if !slices.Contains(taken, k) {
			return fmt.Errorf("%s does not take the key %q; it takes %s", what, k, strings.Join(taken, ", "))
		}
	}
	return nil
}

// selectorKeys returns the keys that the step "call" takes for a selector.
func selectorKeys(s *driver.Selector) []string {
	taken := []string{"size"}
	switch {
	case s.Name == "ANE_DeviceOpen":
		taken = append(taken, "usage")
	case s.Name == "ANE_ProgramCreate":
		taken = append(taken, "model", "procedures")
	case s.Name == "ANE_ProgramSendRequest":
		taken = append(taken, "program", "priority", "qos", "sequence", "surfaces", "bars", "bind", "wait", "signal", "shared", "async", "timeout")
	case s.Name == "ANE_ProgramInputsReady":
		taken = append(taken, "program", "surfaces")
	case s.Name == "ANE_MemoryMapRequest":
		taken = append(taken, "bytes")
	case s.Name == "ANE_MemoryUnMapRequest":
		taken = append(taken, "address")
	case s.StructIn > 0:
		taken = append(taken, "program", "procedure")
	}
	return taken
}

// parseTimeout returns the value of the key timeout, or 0 if it is missing.
func parseTimeout(kv map[string]string) (time.Duration, error) {
	text, ok := kv["timeout"]
	if !ok {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("invalid timeout %q; want a positive duration such as 2ms", text)
	}
	return d, nil
}

// reportEnd writes how a call with a time limit ended as the outcome of the step.
func (p *player) reportEnd(e driver.End, program, process int32) error {
	if e.Stuck {
		return newNeverReturnsError(p.machine.timeline.stuck)
	}
	if e.Expired {
		p.reportReturn(driver.Timeout)
		return nil
	}
	p.reportReply(&e.Reply, program, process)
	return nil
}

// newNeverReturnsError returns the error of a step whose call nothing can end, with the reason.
func newNeverReturnsError(why string) error {
	return fmt.Errorf("the call never returns, unless it has a timeout: %s", why)
}

// mostNumber is the largest number that may be given as key=value.
const mostNumber = 1 << 20

// newCommandBody returns the body of command id, filled from the text arguments kv and the numeric
// arguments n of a script's step. It returns nil for a command without a body.
func (p *player) newCommandBody(id command.ID, kv map[string]string, n map[string]int64) ([]byte, error) {
	info, _ := id.Info()
	switch {
	// A size takes the place of all other arguments: with it, scripts show how the controller
	// refuses bodies that are too short or too long.
	case n["bytes"] >= 0:
		return make([]byte, n["bytes"]), nil
	case id == command.LoadProgram:
		at, ok := p.machine.Image(kv["model"])
		if !ok {
			return nil, p.newUnknownModelError(kv["model"])
		}
		bars, err := parseNumber(kv, "bars", 0, mostNumber)
		if err != nil {
			return nil, err
		}
		body := command.Program{Address: at, Procedures: uint32(n["procedures"]), Bars: uint32(bars)}
		return body.Append(nil), nil
	case id == command.LoadAFPP:
		return new(command.AFPP).Append(nil), nil
	case id == command.CHPropertyWrite:
		return (&command.Property{Number: uint32(n["property"]), Value: uint64(n["value"])}).Append(nil), nil
	case id == command.CHPropertyRead:
		return binary.LittleEndian.AppendUint32(nil, uint32(n["property"])), nil
	case id == command.DebugCommandDataCheck:
		return binary.LittleEndian.AppendUint32(nil, uint32(n["checksum"])), nil
	case info.Body == command.BodyOurs && hasCallBody(id):
		body := command.Call{
			// Calls of several partitions or requests are not modelled.
			OutputSets: uint32(n["sets"]), Partitions: 1, Requests: 1, Group: uint32(n["group"]),
			Buffers: make([]command.Buffer, max(0, n["inputs"])), Order: make([]uint32, max(0, n["order"])),
		}
		if err := p.fillCallLists(kv, &body); err != nil {
			return nil, err
		}
		return body.Append(nil), nil
	}
	return nil, nil
}

// ringDoorbell handles the step "doorbell INDEX", which writes the doorbell with that index
// and reports the replies.
func (p *player) ringDoorbell(text string) error {
	n, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		return fmt.Errorf("invalid doorbell %q; want a number", text)
	}
	index := uint32(n)
	word, err := command.Doorbell(index)
	if err != nil {
		p.reportOutcome(err.Error(), "refused")
		return nil
	}
	p.reportOutcome(fmt.Sprintf("writes %#x", word), fmt.Sprintf("%#x", word))
	replies, err := p.machine.Ring(index)
	for i := range replies {
		p.reportReply(&replies[i], replies[i].Program, replies[i].Process)
	}
	return err
}

// reportReply writes the controller's reply r as the outcome of the step. The command had the
// numbers program and process. If the reply has other numbers, the controller assigned them, and
// reportReply shows them.
func (p *player) reportReply(r *command.Reply, program, process int32) {
	switch {
	case r.Dropped:
		p.reportOutcome("dropped: "+r.Why, "dropped")
	case r.Status != command.OK:
		p.reportOutcome(fmt.Sprintf("%v: %s", r.Status, r.Why), "refused", r.Status.String(), strings.ReplaceAll(r.Status.String(), " ", "-"))
	case r.Program != program || r.Process != process:
		p.reportOutcome(fmt.Sprintf("ok: program %d, process %d", r.Program, r.Process), "ok")
	case r.ID == command.Buildinfo:
		p.reportOutcome(fmt.Sprintf("ok: %q", r.Body), "ok", string(r.Body))
	case r.ID == command.ResourceInfoGet:
		x, err := command.ReadResources(r.Body)
		if err != nil {
			p.reportOutcome(err.Error(), "refused")
			return
		}
		p.reportOutcome(fmt.Sprintf("ok: %d tiles, %d queues, %d of %d bytes of memory free", x.Tiles, x.Queues, x.Free, x.Memory), "ok")
	case len(r.Body) == 8:
		v := binary.LittleEndian.Uint64(r.Body)
		p.reportOutcome(fmt.Sprintf("ok: %d", v), "ok", strconv.FormatUint(v, 10))
	default:
		p.reportOutcome("ok", "ok")
	}
}

func commandNames() (names []string) {
	for id := range command.ID(command.Commands) {
		names = append(names, id.String())
	}
	return names
}

func selectorNames(table []driver.Selector) (names []string) {
	for i := range table {
		names = append(names, table[i].Name)
	}
	return names
}

// newUnknownModelError returns the error for a model name that no earlier step introduced.
func (p *player) newUnknownModelError(name string) error {
	var names []string
	for _, x := range p.machine.engine.models {
		names = append(names, x.name)
	}
	return fmt.Errorf("unknown model %q%s", name, spelling.Suggest(name, names))
}

// hasCallBody reports whether command id has the body of a procedure call.
func hasCallBody(id command.ID) bool {
	switch id {
	case command.CreateProcess, command.ProcedureCall, command.ProcedureCallWithCustomBars, command.ProcedureCallWithSignalEvents,
		command.ProcedureCallCacheRequest, command.ProcedureCallTriggerCacheRequest,
		command.ProcedureCallCacheRequestWithCustomBars, command.ProcedureCallCacheRequestWithSharedEvents:
		return true
	}
	return false
}

// fillCallLists sets the lists of call c from the values in kv. A value is the number of empty
// entries, or a list of entries NUMBER:VALUE: an event or a bar with its value, or a port with its
// buffer.
func (p *player) fillCallLists(kv map[string]string, c *command.Call) error {
	// Well above the documented limits, so that scripts can exceed those, and small enough to hold.
	const most = 1 << 12
	pairs := func(key string, add func(k uint32, v string) error) error {
		text, ok := kv[key]
		if !ok {
			return nil
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			if n > most {
				return fmt.Errorf("too many entries (%s) in %q; want at most %d", text, key, most)
			}
			for range n {
				if err := add(0, "0"); err != nil {
					return err
				}
			}
			return nil
		}
		for _, entry := range strings.Split(text, ",") {
			k, v, ok := strings.Cut(entry, ":")
			n, err := strconv.ParseUint(k, 0, 32)
			if !ok || err != nil {
				return fmt.Errorf("invalid value %q for %q; want a count or entries such as 1:7,2:9", text, key)
			}
			if err := add(uint32(n), v); err != nil {
				return fmt.Errorf("invalid value %q for %q: %w", text, key, err)
			}
		}
		return nil
	}
	events := func(list *[]command.Event) func(uint32, string) error {
		return func(k uint32, v string) error {
			n, err := strconv.ParseUint(v, 0, 64)
			*list = append(*list, command.Event{ID: k, Value: n})
			return err
		}
	}
	var err error
	if c.LiveIns, err = parseLiveIns(kv); err != nil {
		return err
	}
	return cmp.Or(
		pairs("bars", func(k uint32, v string) error {
			n, err := p.parseAddress(v)
			c.Bars = append(c.Bars, command.Bar{Number: k, Value: n})
			return err
		}),
		pairs("wait", events(&c.Wait)), pairs("signal", events(&c.Signal)), pairs("shared", events(&c.Shared)),
		pairs("buffers", func(k uint32, v string) error {
			at, err := p.parseAddress(v)
			c.Buffers = append(c.Buffers, command.Buffer{Port: k, Address: at})
			return err
		}),
	)
}

// parseLiveIns parses the value of the key bind, entries NAME:VALUE.
func parseLiveIns(kv map[string]string) (list []command.LiveIn, err error) {
	text, ok := kv["bind"]
	if !ok {
		return nil, nil
	}
	for _, entry := range strings.Split(text, ",") {
		name, v, ok := strings.Cut(entry, ":")
		n, err := strconv.ParseUint(v, 0, 64)
		if !ok || err != nil || name == "" || len(name) > command.MaxLiveInName {
			return nil, fmt.Errorf("invalid value %q for \"bind\"; want entries such as k:64,n:32", text)
		}
		list = append(list, command.LiveIn{Name: name, Value: n})
	}
	return list, nil
}

// parseAddress returns the device address of the buffer that an earlier map step named name. If
// there is no such buffer, it parses name as a number.
func (p *player) parseAddress(name string) (uint64, error) {
	if at, ok := p.buffers[name]; ok {
		return at, nil
	}
	at, err := strconv.ParseUint(name, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("unknown buffer %q%s", name, spelling.Suggest(name, sortedKeys(p.buffers)))
	}
	return at, nil
}

// invokeSelector carries out the step "call CLIENT SELECTOR key=value...", which calls a selector
// with a struct of the right size.
func (p *player) invokeSelector(words []string) error {
	c, err := p.findUser(words[0])
	if err != nil {
		return err
	}
	sel, err := parseSelector(c.user.Kind(), words[1])
	if err != nil {
		return err
	}
	kv, err := parsePairs(words[2:], "model", "program", "priority", "qos", "sequence", "size", "usage", "address", "procedure", "procedures", "bytes", "surfaces", "bars", "bind", "wait", "signal", "shared", "async", "timeout")
	if err != nil {
		return err
	}
	// As for commands: a key of another selector is a mistake of the script, not a bad argument.
	if err := checkTaken(kv, cmp.Or(sel.Name, "this selector"), selectorKeys(&sel)); err != nil {
		return err
	}
	const most = 1 << 40
	n := map[string]int64{"priority": int64(c.priority), "class": int64(c.class), "usage": 1, "size": int64(sel.StructIn)}
	var surfaces []uint64
	for k, v := range kv {
		switch k {
		case "model", "bars", "bind", "wait", "signal", "shared", "async", "timeout":
		case "surfaces":
			for _, name := range strings.Split(v, ",") {
				at, err := p.parseAddress(name)
				if err != nil {
					return err
				}
				surfaces = append(surfaces, at)
			}
		case "address":
			at, err := p.parseAddress(v)
			if err != nil {
				return err
			}
			n[k] = int64(at)
		case "qos":
			class, ok := broker.ParseQoS(v)
			if !ok {
				return fmt.Errorf("unknown QoS class %q; want %s, or 33, 25, 21, 17, 9; priority= is a number from 0 to 7", v, strings.Join(broker.QoSNames(), ", "))
			}
			n["class"] = int64(class.Class())
			// The order of the keys must not matter, so an explicit priority stays.
			if _, given := kv["priority"]; !given {
				n["priority"] = int64(class.Priority())
			}
		case "priority":
			priority, err := strconv.ParseUint(v, 0, 32)
			if err != nil {
				return fmt.Errorf("invalid value %q for \"priority\"; want a number, 0 for the most urgent", v)
			}
			n[k] = int64(priority)
		default:
			if n[k], err = parseNumber(kv, k, 0, most); err != nil {
				return err
			}
		}
	}
	// Any size but the selector's own is refused by the driver; this only bounds the memory.
	const bound = 1 << 20
	if n["size"] < 0 || n["size"] > bound {
		return fmt.Errorf(`"size" is %d; want 0 to %d`, n["size"], bound)
	}
	in := make([]byte, n["size"])
	if err := p.fillSelectorStruct(in, sel.Name, kv, n, surfaces); err != nil {
		return err
	}
	a := driver.Arguments{Scalars: make([]uint64, sel.ScalarsIn), Struct: in, ScalarsOut: sel.ScalarsOut, StructOut: sel.StructOut}
	if a.Timeout, err = parseTimeout(kv); err != nil {
		return err
	}
	// A port must know of the call before it is made: with no host's time, it completes at once.
	var port *wakePort
	if _, async := kv["async"]; async {
		if port, err = p.usePort(kv["async"], words[0], uint64(n["sequence"])); err != nil {
			return err
		}
		a.Wake = p.newWake(kv["async"], uint64(n["sequence"]))
	}
	before := p.machine.Now()
	// The reason of a refusal must be this call's, not an earlier one's.
	p.machine.why = ""
	r := c.user.Call(sel.Number, a)
	if why := p.machine.timeline.stuck; why != "" {
		p.machine.timeline.stuck = ""
		return newNeverReturnsError(why)
	}
	if port != nil && r.Return != driver.Success {
		port.cancel(uint64(n["sequence"]))
	}
	if now := p.machine.Now(); now > before && a.Wake == nil && p.machine.engine.session.Options().Host.Floor.Value > 0 {
		fmt.Fprintf(p.w, "  @ %v: the call returns, after %v\n", now, now-before)
	}
	p.reportReturn(r.Return)
	if r.Return != driver.Success && p.machine.why != "" {
		fmt.Fprintf(p.w, "  because the controller says: %s\n", p.machine.why)
	}
	// The step "map" names the buffer whose address a memory map has returned last.
	p.mapped = 0
	if r.Return == driver.Success && len(r.Scalars) > 0 {
		p.mapped = r.Scalars[0]
		fmt.Fprintf(p.w, "  %s %#x\n", sel.Name, r.Scalars)
	}
	return nil
}

// parseSelector returns the selector with the name or number in word. If the number is beyond the
// selectors of that kind of client, the returned selector has only a number.
func parseSelector(kind driver.Kind, word string) (driver.Selector, error) {
	table := driver.Selectors(kind)
	if at := slices.IndexFunc(table, func(s driver.Selector) bool { return s.Name == word }); at >= 0 {
		return table[at], nil
	}
	n, err := strconv.ParseUint(word, 0, 32)
	if err != nil {
		for i, other := range []driver.Kind{driver.Control, driver.DirectPath} {
			if other != kind && slices.Contains(selectorNames(driver.Selectors(other)), word) {
				option := [...]string{"control", "direct"}[i]
				return driver.Selector{}, fmt.Errorf(`a %v client has no selector %s; want a client with "kind=%s"`, kind, word, option)
			}
		}
		return driver.Selector{}, fmt.Errorf("unknown selector %q for a %v client%s", word, kind, spelling.Suggest(word, selectorNames(table)))
	}
	if n < uint64(len(table)) {
		return table[n], nil
	}
	return driver.Selector{Number: uint32(n)}, nil
}

// fillSelectorStruct writes the arguments of a call to in, the struct of a selector. kv holds them as
// text, and n the numbers among them. It omits words that do not fit.
func (p *player) fillSelectorStruct(in []byte, selector string, kv map[string]string, n map[string]int64, surfaces []uint64) error {
	le := binary.LittleEndian
	word := func(off int, v uint64) {
		// Scripts choose the size of the struct, to show what the driver says of a wrong one.
		if off+8 <= len(in) {
			le.PutUint64(in[off:], v)
		}
	}
	switch selector {
	case "ANE_DeviceOpen":
		copy(in, driver.OpenRequest())
		if len(in) > 0 {
			in[0] = byte(n["usage"])
		}
	case "ANE_ProgramCreate":
		address, ok := p.machine.Image(kv["model"])
		if !ok {
			return p.newUnknownModelError(kv["model"])
		}
		word(0, address)
		word(8, uint64(n["procedures"])<<32)
	case "ANE_ProgramSendRequest":
		var settings command.Call
		if err := p.fillCallLists(kv, &settings); err != nil {
			return err
		}
		q := driver.Request{
			Token: uint64(n["program"]), Sequence: uint64(n["sequence"]), Priority: uint32(n["priority"]), Class: uint32(n["class"]), Surfaces: surfaces,
			Bars: settings.Bars, LiveIns: settings.LiveIns, Wait: settings.Wait, Signal: settings.Signal, Shared: settings.Shared,
		}
		copy(in, q.Append(nil))
	case "ANE_ProgramInputsReady":
		word(0, uint64(n["program"]))
		word(8, uint64(len(surfaces)))
		for i, at := range surfaces {
			word(16+8*i, at)
		}
	case "ANE_MemoryMapRequest":
		word(8, uint64(n["bytes"]))
	case "ANE_MemoryUnMapRequest":
		word(0, uint64(n["address"]))
	// The other selectors with arguments have the same first two words (table 27.2).
	default:
		word(0, uint64(n["program"]))
		word(8, uint64(n["procedure"]))
	}
	return nil
}
