package machine

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"anesim"
	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/internal/firmware/broker"
	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
	"anesim/internal/samples"
)

// Ten million take the machine of .ci/long some ten minutes.
var randomCommands = flag.Int("commands", 40_000, "random commands and calls of TestRandomCommands, over all seeds")

// randomSeeds are the walks, which share the commands.
var randomSeeds = []uint64{1, 2, 3, 5, 8, 13, 21, 34, 55, 89}

// Random commands, broken messages, selectors of any size, methods, buffers, events, turns
// of the broker and single runs, of clients with and without rights, leave device, ledger,
// queues and memory consistent; and when everybody has gone nothing is left.
func TestRandomCommands(t *testing.T) {
	models := randomModels(t)
	start, total := time.Now(), walkCounts{}
	for i, seed := range randomSeeds {
		w := newWalk(t, seed, models, i%2 == 0)
		for n := *randomCommands / len(randomSeeds); w.counts.commands+w.counts.calls < n && !t.Failed(); {
			w.step()
			w.check()
		}
		w.end()
		total.add(&w.counts)
		if t.Failed() {
			t.Fatalf("seed %d after %+v", seed, w.counts)
		}
	}
	took := time.Since(start)
	n := total.commands + total.calls
	t.Logf("%d commands and %d calls in %v, %.0f a second: %d answered, %d refused, %d dropped; %d requests finished, %d aborted; %d notifications",
		total.commands, total.calls, took.Round(time.Millisecond), float64(n)/took.Seconds(), total.answered, total.refused, total.dropped, total.finished, total.aborted, total.notified)
	t.Logf("%d runs of descriptors, %d stopped, %d switches between queues; %d calls timed out, %d completions came late", total.runs, total.stops, total.switches, total.expired, total.late)
	if total.answered == 0 || total.refused == 0 || total.dropped == 0 || total.finished == 0 || total.aborted == 0 || total.notified == 0 || total.runs <= total.finished || total.stops == 0 || total.expired == 0 || total.late == 0 {
		t.Errorf("something never happened: %+v", total)
	}
}

// A walkCounts counts the events of a walk.
type walkCounts struct {
	commands, calls                      int
	answered, refused, dropped, notified uint64
	finished, aborted, runs, switches    uint64
	stops, expired, late                 uint64
}

func (c *walkCounts) add(o *walkCounts) {
	c.commands += o.commands
	c.calls += o.calls
	c.answered += o.answered
	c.refused += o.refused
	c.dropped += o.dropped
	c.notified += o.notified
	c.finished += o.finished
	c.aborted += o.aborted
	c.runs += o.runs
	c.switches += o.switches
	c.stops += o.stops
	c.expired += o.expired
	c.late += o.late
}

// randomModels returns a layer, a chain of several runs, a container of several procedures, and a
// program with a run-time parameter.
func randomModels(t *testing.T) []*anesim.Model {
	t.Helper()
	var list []*anesim.Model
	for _, words := range [][]string{{"add", "c=4"}, {"softmax", "c=16", "w=4"}, {"relu", "c=4", "h=3", "w=5"}} {
		m, err := anesim.Layer(words[0], words[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	p, err := list[2].Programs(t.Context(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := samples.LiveRows(p[0], 3)
	if err != nil {
		t.Fatal(err)
	}
	// Every tensor of this one is an output, so that its runs of descriptors are several.
	several := samples.Read(t, "inputs: {x: {c: 4, h: 1, w: 2}}\nlayers:\n  - {name: a, op: relu, from: x}\n  - {name: b, op: sigmoid, from: a}\n  - {name: c, op: add, from: [a, b]}\noutputs: [a, b, c]\n")
	return append(list, twoProcedures(t), anesim.FromProgram(rows), several)
}

// A walk is a machine with clients that do anything.
type walk struct {
	t       *testing.T
	r       *rand.Rand
	m       *Machine
	models  int
	clients []*walkClient
	buffers []uint64
	counts  walkCounts
	ended   map[queue.ID]int

	posted, completed int // asynchronous requests
}

type walkClient struct {
	user   *driver.Client
	broker *broker.Client
}

func newWalk(t *testing.T, seed uint64, models []*anesim.Model, values bool) *walk {
	t.Helper()
	o := Options{Engine: engine.Options{Values: values, Seed: seed, Memory: 16 << 20}}
	r := rand.New(rand.NewPCG(seed, 0x73))
	o.InFlight, o.Preemption = r.IntN(4), pick(r, queue.PreemptNever, queue.PreemptRuns, queue.PreemptAbort)
	o.Engine.Host, _ = engine.HostByName(pick(r, "none", "macos-air", "linux-m1"))
	m, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{t: t, r: rand.New(rand.NewPCG(seed, 0xa4e)), m: m, models: len(models), ended: map[queue.ID]int{}}
	for i, x := range models {
		if _, err := m.Add(fmt.Sprint(i), x); err != nil {
			t.Fatal(err)
		}
	}
	m.Observe = func(e queue.Event) {
		if e.Kind == queue.Finished || e.Kind == queue.Aborted {
			w.ended[e.ID]++
		}
	}
	return w
}

// pick returns a random element of list.
func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (w *walk) step() {
	r := w.r
	switch n := r.IntN(100); {
	case n < 2 || len(w.clients) == 0:
		w.join()
	case n < 3:
		w.leave(r.IntN(len(w.clients)))
	case n < 7:
		w.settle()
	case n < 45:
		w.command()
	case n < 80:
		w.call()
	case n < 84:
		w.counts.calls++
		c := w.client()
		m := driver.Methods()[r.IntN(len(driver.Methods()))]
		if m.Name == "ANE_WriteANERegister" || m.Name == "ANE_PowerOff" && r.IntN(20) > 0 {
			return // any register may be written, the tile enables too: not what is looked at here
		}
		args := w.words()
		if m.Name == "ANE_SendCommand" {
			args = []uint64{uint64(r.IntN(2))}
			x := command.Message{Header: w.header(command.ID(r.IntN(command.Commands)))}
			for b := x.Append(nil); len(b) > 0; b = b[4:] {
				args = append(args, uint64(binary.LittleEndian.Uint32(b)))
			}
		}
		c.user.Method(m.Name, args...)
	case n < 86:
		w.counts.calls++
		w.client().user.Lend(uint64(r.IntN(4)), w.client().user)
	case n < 90:
		w.counts.calls++
		if c := w.client(); c.broker != nil {
			w.m.Ask(c.broker, c.user, uint64(r.IntN(4)), 1)
		}
	case n < 92:
		w.m.Hold(r.IntN(2) == 0)
	case n < 95:
		if err := w.m.timeline.runUntil(w.m.Now()+clock.Nanoseconds(r.IntN(300)), true); err != nil && w.m.engine.queue.State() != queue.Pause {
			w.t.Errorf("run until: %v", err)
		}
	case n < 97:
		if _, err := w.m.Step(); err != nil && w.m.engine.queue.State() != queue.Pause {
			w.t.Errorf("step: %v", err)
		}
	case n < 98:
		w.m.Signal(command.Event{ID: uint32(r.IntN(3)), Value: uint64(r.IntN(50))})
	case n < 99:
		w.garbage()
	default:
		if err := w.m.Drain(); err != nil && w.m.engine.queue.State() != queue.Pause {
			w.t.Errorf("drain: %v", err)
		}
	}
}

// settle does the steps that calls require: a boot, a program with its processes, and a prepared
// program of a client.
func (w *walk) settle() {
	r := w.r
	send := func(id command.ID, h command.Header, body []byte) {
		w.counts.commands++
		h.ID = id
		before := w.m.Ledger()
		reply := w.m.Send(command.Control, &command.Message{Header: h, Body: body})
		w.counted(before, w.m.Ledger(), reply)
	}
	none := command.Header{Program: -1, Process: -1}
	switch r.IntN(4) {
	case 0:
		send(command.Boot, none, nil)
		if r.IntN(3) == 0 {
			send(command.SecureModeStop, none, nil)
		}
	case 1:
		h := w.header(command.LoadProgram)
		p := command.Program{Address: imageBase + imageSize*uint64(r.IntN(w.models))}
		send(command.LoadProgram, h, p.Append(nil))
		c := command.Call{OutputSets: 1, Partitions: 1, Requests: 1}
		for h.Process = range int32(3) {
			send(command.CreateProcess, h, c.Append(nil))
		}
	default:
		c := w.client()
		if c.user.Kind() != driver.Control {
			return
		}
		in := make([]byte, 56)
		binary.LittleEndian.PutUint64(in, imageBase+imageSize*uint64(r.IntN(w.models)))
		c.user.Call(3, driver.Arguments{Struct: in[:32]})
		binary.LittleEndian.PutUint64(in, uint64(1+r.IntN(4)))
		c.user.Call(4, driver.Arguments{Struct: in, StructOut: 56})
		w.counts.calls += 2
	}
}

func (w *walk) client() *walkClient { return w.clients[w.r.IntN(len(w.clients))] }

// join opens a client with random rights.
func (w *walk) join() {
	r := w.r
	if len(w.clients) > 12 {
		return
	}
	var rights driver.Entitlements
	for _, e := range driver.KernelEntitlements() {
		if r.IntN(5) > 0 {
			rights = append(rights, e)
		}
	}
	user, ret := w.m.Driver().NewUserClient(pick(r, driver.Control, driver.Control, driver.DirectPath, driver.Hints), rights, r.IntN(2) == 0)
	if ret != driver.Success {
		return
	}
	c := &walkClient{user: user}
	if r.IntN(2) == 0 {
		id := broker.Identity{Team: pick(r, "a", "b"), CodeDirectory: "h"}
		c.broker, _ = w.m.Broker().Connect("c", id, broker.Unrestricted, broker.QoS(r.IntN(6)), broker.Allow, pick(r, broker.ModelShare, broker.AdapterWeight))
	}
	w.clients = append(w.clients, c)
	if r.IntN(8) > 0 {
		user.Call(0, driver.Arguments{Struct: driver.OpenRequest(), StructOut: driver.OpenBytes})
	}
}

func (w *walk) leave(i int) {
	c := w.clients[i]
	c.user.Close()
	if c.broker != nil {
		c.broker.Disconnect()
	}
	w.clients = slices.Delete(w.clients, i, i+1)
	if w.r.IntN(4) == 0 { // a client that is closed may call on
		if ret := c.user.Call(1, driver.Arguments{}).Return; ret != driver.ExclusiveAccess && c.user.Kind() != driver.Hints {
			w.t.Errorf("a call of a closed client: %v", ret)
		}
	}
}

// header returns a header with random small numbers, so that commands often refer to the same
// programs and processes.
func (w *walk) header(id command.ID) command.Header {
	r := w.r
	h := command.Header{ID: id, Priority: uint32(r.IntN(8)), Program: int32(r.IntN(4)), Process: int32(r.IntN(3)), Procedure: pick(r, uint32(0), 0, 0, 1)}
	if r.IntN(12) == 0 {
		h.Program, h.Process, h.Procedure = int32(r.IntN(70)-1), int32(r.IntN(70)-1), r.Uint32N(200)
	}
	return h
}

func (w *walk) body(id command.ID) []byte {
	r := w.r
	var b []byte
	switch {
	case id == command.LoadProgram:
		p := command.Program{Address: imageBase + imageSize*uint64(r.IntN(w.models+1)), Procedures: uint32(r.IntN(3)), Bars: uint32(r.IntN(130))}
		b = p.Append(nil)
	case id == command.LoadAFPP:
		b = new(command.AFPP).Append(nil)
	case id == command.CHPropertyWrite:
		b = (&command.Property{Number: uint32(r.IntN(300)), Value: r.Uint64()}).Append(nil)
	case id == command.CHPropertyRead, id == command.DebugCommandDataCheck:
		b = binary.LittleEndian.AppendUint32(nil, pick(r, uint32(r.IntN(300)), command.ChecksumValid))
	case hasCallBody(id):
		c := command.Call{OutputSets: 1, Partitions: 1, Requests: 1, Group: uint32(r.IntN(2))}
		if r.IntN(3) == 0 {
			for i := range r.IntN(3) {
				c.Buffers = append(c.Buffers, command.Buffer{Port: uint32(i), Address: w.buffer()})
			}
		}
		if id == command.ProcedureCallWithCustomBars || r.IntN(30) == 0 {
			c.Bars = make([]command.Bar, pick(r, 0, 1, 1, 2, 32, 33))
			for i := range c.Bars {
				c.Bars[i] = command.Bar{Number: uint32(i), Value: uint64(r.IntN(5))}
			}
		}
		if id == command.ProcedureCallWithSignalEvents || r.IntN(30) == 0 {
			if r.IntN(4) == 0 {
				c.Wait = []command.Event{{ID: uint32(r.IntN(3)), Value: uint64(r.IntN(60))}}
			}
			c.Signal = make([]command.Event, pick(r, 0, 1, 1, 2, 16, 17))
			for i := range c.Signal {
				c.Signal[i] = command.Event{ID: uint32(r.IntN(3)), Value: uint64(r.IntN(60))}
			}
			c.Shared = make([]command.Event, pick(r, 0, 0, 0, 1, 1, 2))
		}
		if r.IntN(20) == 0 {
			c.Order = make([]uint32, pick(r, 1, 128, 129))
		}
		b = c.Append(nil)
	}
	switch r.IntN(40) {
	case 0:
		b = append(b, byte(r.IntN(256)))
	case 1:
		b = b[:len(b)/2]
	}
	return b
}

func (w *walk) buffer() uint64 {
	if len(w.buffers) == 0 || w.r.IntN(10) == 0 {
		return uint64(w.r.IntN(1 << 30))
	}
	return w.buffers[w.r.IntN(len(w.buffers))]
}

// command sends a random command on a random channel. Commands that undo everything are rare.
func (w *walk) command() {
	r := w.r
	id := command.ID(r.IntN(command.Commands))
	if r.IntN(3) > 0 {
		id = pick(r, command.LoadProgram, command.CreateProcess, command.ProcedureCall, command.ProcedureCall, command.ProcedureCall,
			command.ProcedureCallWithCustomBars, command.ProcedureCallWithSignalEvents, command.ProcedureCallWithSignalEvents, command.ProcedureCallCacheRequest, command.ProcedureCallTriggerCacheRequest,
			command.ProcedureCallRecycleOutputBuffer, command.SetActiveCacheRequestInGroup)
	}
	switch id {
	case command.Stop, command.Reset, command.PowerDown, command.PowerDeviceOff, command.Suspend, command.ForceDisableCacheRequests, command.SecureModeStart, command.UnloadProgram, command.TerminateProcess:
		if r.IntN(8) > 0 {
			return
		}
	}
	ch := command.Control
	if hasCallBody(id) && id != command.CreateProcess && id != command.ProcedureCallCacheRequest &&
		id != command.ProcedureCallCacheRequestWithCustomBars && id != command.ProcedureCallCacheRequestWithSharedEvents {
		ch = command.Execution
	}
	if r.IntN(25) == 0 {
		ch = 1 - ch
	}
	w.counts.commands++
	before, posted := w.m.Ledger(), w.m.timeline.posted
	reply := w.m.Send(ch, &command.Message{Header: w.header(id), Body: w.body(id)})
	if w.m.timeline.posted == posted { // no other call sends a command meanwhile
		w.counted(before, w.m.Ledger(), reply)
	}
}

// garbage sends random bytes, which need not be a valid message.
func (w *walk) garbage() {
	w.counts.commands++
	b := make([]byte, w.r.IntN(64))
	for i := range b {
		b[i] = pick(w.r, 0, 0, 0, byte(w.r.IntN(256)))
	}
	before := w.m.Ledger()
	reply := w.m.SendBytes(command.Channel(w.r.IntN(2)), b)
	w.counted(before, w.m.Ledger(), reply)
}

// counted fails the test unless the ledger counts one message more in b than in a, in the column
// that the reply r belongs to.
func (w *walk) counted(a, b command.Ledger, r command.Reply) {
	answered, refused, dropped := b.Answered-a.Answered, b.Refused-a.Refused, b.Dropped-a.Dropped
	ok := b.Received-a.Received == 1 && answered+refused+dropped == 1
	switch {
	case r.Dropped:
		ok = ok && dropped == 1
	case r.Status == command.OK:
		ok = ok && answered == 1
	default:
		ok = ok && refused == 1
	}
	if !ok {
		w.t.Errorf("%+v became %+v for %+v", a, b, r)
	}
}

// call calls a random selector, mostly with arguments of the right sizes.
func (w *walk) call() {
	r := w.r
	w.counts.calls++
	c := w.client()
	table := driver.Selectors(c.user.Kind())
	if len(table) == 0 || r.IntN(200) == 0 {
		c.user.Call(r.Uint32N(40), driver.Arguments{})
		return
	}
	s := &table[r.IntN(len(table))]
	if s.Name == "ANE_DeviceClose" && r.IntN(8) > 0 {
		return
	}
	if r.IntN(3) > 0 {
		s = &table[pick(r, 2, min(3, len(table)-1), 4)]
	}
	a := driver.Arguments{Scalars: make([]uint64, s.ScalarsIn), Struct: make([]byte, s.StructIn), ScalarsOut: s.ScalarsOut, StructOut: s.StructOut}
	le := binary.LittleEndian
	token := pick(r, 1, 2, 3, 4, 1<<32|1, uint64(r.IntN(70)))
	word := func(off int, v uint64) {
		if off+8 <= len(a.Struct) {
			le.PutUint64(a.Struct[off:], v)
		}
	}
	switch s.Name {
	case "ANE_DeviceOpen":
		a.Struct = driver.OpenRequest()
		a.Struct[0] = byte(pick(r, 1, 1, 1, 2, 3))
	case "ANE_ProgramSendRequest":
		q := driver.Request{Token: token, Sequence: r.Uint64(), Priority: uint32(r.IntN(9))}
		for range r.IntN(3) {
			q.Surfaces = append(q.Surfaces, w.buffer())
		}
		if r.IntN(4) == 0 {
			q.Signal = []command.Event{{ID: uint32(r.IntN(3)), Value: uint64(r.IntN(60))}}
		}
		if r.IntN(8) == 0 {
			q.Wait = []command.Event{{ID: uint32(r.IntN(3)), Value: uint64(r.IntN(60))}}
		}
		a.Struct = q.Append(nil)
		if r.IntN(2) == 0 || len(q.Wait) > 0 {
			a.Timeout = time.Duration(1 + r.IntN(300_000))
		}
		if r.IntN(2) == 0 {
			a.Wake = func(x driver.Completion) {
				w.completed++
				if le.Uint64(x.Reply) != q.Sequence || le.Uint64(x.Reply[8:]) != q.Token || driver.Return(le.Uint32(x.Reply[0x20:])) != x.Return {
					w.t.Errorf("completion %x of %+v with %v", x.Reply, q, x.Return)
				}
			}
		}
	case "ANE_ProgramCreate":
		word(0, imageBase+imageSize*uint64(r.IntN(w.models+1)))
	case "ANE_MemoryMapRequest":
		word(8, uint64(pick(r, 0, 1, 4096, 1<<16, 1<<30)))
	case "ANE_MemoryUnMapRequest":
		word(0, w.buffer())
	case "ANE_ProgramInputsReady":
		word(0, token)
		word(8, uint64(r.IntN(18)))
		for i := range 18 {
			word(16+8*i, w.buffer())
		}
	default:
		word(0, token)
		word(8, uint64(r.IntN(3)))
	}
	exact := r.IntN(30) > 0
	if !exact {
		switch r.IntN(3) {
		case 0:
			a.Struct = append(a.Struct, 0)
		case 1:
			a.Scalars = append(a.Scalars, 0)
		default:
			a.StructOut++
		}
	}
	res := c.user.Call(s.Number, a)
	if a.Wake != nil && res.Return == driver.Success {
		w.posted++
	}
	if !exact && res.Return != driver.BadArgument {
		w.t.Errorf("%s one off: %v", s.Name, res.Return)
	}
	if s.Name == "ANE_MemoryMapRequest" && res.Return == driver.Success {
		w.buffers = append(w.buffers, res.Scalars[0])
		if len(w.buffers) > 24 {
			w.buffers = w.buffers[1:]
		}
	}
}

func (w *walk) words() []uint64 {
	list := make([]uint64, w.r.IntN(3))
	for i := range list {
		list[i] = pick(w.r, w.buffer(), uint64(w.r.IntN(100)))
	}
	return list
}
