package anesim

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"anesim/firmware/broker"
	"anesim/firmware/command"
	"anesim/firmware/driver"
	"anesim/loader"
)

// send puts a command on the ring: send CHANNEL COMMAND key=value...
func (p *player) send(words []string) error {
	channels := map[string]command.Channel{"control": command.Control, "execution": command.Execution}
	ch, ok := channels[words[0]]
	if !ok {
		return fmt.Errorf("channel %q: want control or execution", words[0])
	}
	id, ok := command.Parse(words[1])
	if !ok {
		n, err := strconv.ParseUint(words[1], 0, 32)
		if err != nil {
			return fmt.Errorf("command %q: want a name or a number", words[1])
		}
		id = command.ID(n)
	}
	kv, err := pairsOf(words[2:], "priority", "program", "process", "procedure", "model", "procedures", "bars", "wait", "signal", "shared", "order", "group", "inputs", "sets", "bytes")
	if err != nil {
		return err
	}
	n := map[string]int64{"priority": 5, "program": -1, "process": -1, "procedures": 1, "sets": 1, "bytes": -1}
	const most = 1 << 20
	for k := range kv {
		if k != "model" {
			if n[k], err = number(kv, k, 0, most); err != nil {
				return err
			}
		}
	}
	m := command.Message{Header: command.Header{
		ID: id, Priority: uint32(n["priority"]), Program: int32(n["program"]), Process: int32(n["process"]), Procedure: uint32(n["procedure"]),
	}}
	info, _ := id.Info()
	switch {
	case n["bytes"] >= 0:
		m.Body = make([]byte, n["bytes"])
	case id == command.LoadProgram:
		at, ok := p.machine.Image(kv["model"])
		if !ok {
			return fmt.Errorf("no model %q", kv["model"])
		}
		body := command.Program{Address: at, Procedures: uint32(n["procedures"]), Bars: uint32(n["bars"])}
		m.Body = body.Append(nil)
	case info.Body == command.BodyOurs && (id == command.CreateProcess || strings.HasPrefix(info.Name, command.ProcedureCall.String())):
		body := command.Call{
			OutputSets: uint32(n["sets"]), Partitions: 1, Requests: 1, Group: uint32(n["group"]),
			Buffers: make([]command.Buffer, max(0, n["inputs"])), Bars: make([]command.Bar, max(0, n["bars"])),
			Wait: make([]command.Event, max(0, n["wait"])), Signal: make([]command.Event, max(0, n["signal"])),
			Shared: make([]command.Event, max(0, n["shared"])), Order: make([]uint32, max(0, n["order"])),
		}
		m.Body = body.Append(nil)
	}
	r := p.machine.Send(ch, &m)
	switch {
	case r.Dropped:
		p.came("dropped: "+r.Why, "dropped")
	case r.Status != command.OK:
		p.came(fmt.Sprintf("%v: %s", r.Status, r.Why), "refused", r.Status.String(), strings.ReplaceAll(r.Status.String(), " ", "-"))
	case r.Program != m.Program || r.Process != m.Process:
		p.came(fmt.Sprintf("ok: program %d, process %d", r.Program, r.Process), "ok")
	default:
		p.came("ok", "ok")
	}
	return nil
}

// call calls a selector with a struct of its size: call CLIENT SELECTOR key=value...
func (p *player) call(words []string) error {
	c, err := p.named(words[0])
	if err != nil {
		return err
	}
	table := driver.Selectors(c.user.Kind())
	at := slices.IndexFunc(table, func(s driver.Selector) bool { return s.Name == words[1] })
	sel := driver.Selector{Number: ^uint32(0)}
	if at >= 0 {
		sel = table[at]
	} else if n, err := strconv.ParseUint(words[1], 0, 32); err == nil {
		sel.Number = uint32(n)
		if n < uint64(len(table)) {
			sel = table[n]
		}
	} else {
		return fmt.Errorf("the %v client has no selector %s", c.user.Kind(), words[1])
	}
	kv, err := pairsOf(words[2:], "model", "program", "priority", "sequence", "size", "usage", "address", "procedure", "bytes")
	if err != nil {
		return err
	}
	const most = 1 << 40
	n := map[string]int64{"priority": int64(c.priority), "usage": 1, "size": int64(sel.StructIn)}
	for k := range kv {
		if k != "model" {
			if n[k], err = number(kv, k, 0, most); err != nil {
				return err
			}
		}
	}
	const bound = 1 << 20
	if n["size"] < 0 || n["size"] > bound {
		return fmt.Errorf("size=%d: want 0 to %d", n["size"], bound)
	}
	in := make([]byte, n["size"])
	le := binary.LittleEndian
	word := func(off int, v uint64) {
		if off+8 <= len(in) {
			le.PutUint64(in[off:], v)
		}
	}
	switch sel.Name {
	case "ANE_DeviceOpen":
		copy(in, driver.OpenRequest())
		if len(in) > 0 {
			in[0] = byte(n["usage"])
		}
	case "ANE_ProgramCreate", "ANE_ProgramCreateInstance":
		address, ok := p.machine.Image(kv["model"])
		if !ok {
			return fmt.Errorf("no model %q", kv["model"])
		}
		word(0, address)
	case "ANE_ProgramSendRequest":
		q := driver.Request{Token: uint64(n["program"]), Sequence: uint64(n["sequence"]), QoS: uint32(n["priority"])}
		copy(in, q.Append(nil))
	case "ANE_MemoryMapRequest":
		word(8, uint64(n["bytes"]))
	case "ANE_MemoryUnMapRequest":
		word(0, uint64(n["address"]))
	default:
		word(0, uint64(n["program"]))
		word(8, uint64(n["procedure"]))
	}
	r := c.user.Call(sel.Number, driver.Arguments{
		Scalars: make([]uint64, sel.ScalarsIn), Struct: in, ScalarsOut: sel.ScalarsOut, StructOut: sel.StructOut,
	})
	p.returned(r.Return)
	if r.Return == driver.Success && len(r.Scalars) > 0 {
		fmt.Fprintf(p.w, "  %s %#x\n", sel.Name, r.Scalars)
	}
	return nil
}

// ask sends a request by way of the broker, which says whose turn it is: ask CLIENT program=N.
func (p *player) ask(words []string) error {
	c, err := p.named(words[0])
	if err != nil {
		return err
	}
	if c.broker == nil {
		return fmt.Errorf("client %s has no broker: give it a qos", words[0])
	}
	kv, err := pairsOf(words[1:], "program", "sequence")
	if err != nil {
		return err
	}
	token, err := number(kv, "program", 0, 1<<30)
	if err != nil {
		return err
	}
	sequence, err := number(kv, "sequence", 0, 1<<30)
	if err != nil {
		return err
	}
	ret, err := p.machine.Ask(c.broker, c.user, uint64(token), uint64(sequence))
	switch {
	case err != nil:
		p.came(err.Error(), "denied")
	default:
		p.returned(ret)
	}
	return nil
}

// Ask sends a request for a program that a user client made through the broker's queue:
// the broker gives it its turn, the driver sends the command. The model's bytes count as
// resident while the request lasts.
func (m *Machine) Ask(b *broker.Client, c *driver.Client, token, sequence uint64) (ret driver.Return, err error) {
	l := m.Program(int32(token) - 1)
	if l == nil {
		return driver.NotFound, nil
	}
	inst, err := b.Open(fmt.Sprintf("%s at %#x", l.model.name, l.Address()), l.bytes, broker.InstanceOptions{})
	if err != nil {
		return driver.NotPrivileged, err
	}
	defer inst.Release()
	ret = driver.Busy
	inst.Submit(func() {
		q := driver.Request{Token: token, Sequence: sequence, QoS: uint32(b.QoS.Priority())}
		ret = c.Call(2, driver.Arguments{Scalars: make([]uint64, 1), Struct: q.Append(nil), StructOut: driver.ReplyBytes}).Return
	})
	for m.broker.Turn() {
	}
	return ret, nil
}

// expect holds what came against a line: of the last step a name or number, or "finished
// N", "crc32 SLOT PORT SUM", "values SLOT PORT V...", "cycles SLOT N".
func (p *player) expect(words []string) error {
	switch words[0] {
	case "finished":
		if len(words) != 2 || words[1] != strconv.Itoa(p.machine.finished) {
			return fmt.Errorf("finished: %d requests, expected %s", p.machine.finished, strings.Join(words[1:], " "))
		}
		return nil
	case "cycles":
		if len(words) != 3 {
			return fmt.Errorf("expect cycles takes a slot and a number")
		}
		slot, err := strconv.ParseInt(words[1], 0, 32)
		if err != nil {
			return fmt.Errorf("slot %q: want a number", words[1])
		}
		res, err := p.machine.Result(int32(slot))
		switch {
		case err != nil:
			return err
		case res == nil:
			return fmt.Errorf("the program in slot %d has not run", slot)
		case words[2] != strconv.FormatUint(uint64(res.Report.Cycles), 10):
			return fmt.Errorf("%d cycles, expected %s", res.Report.Cycles, words[2])
		}
		return nil
	case "crc32", "values":
		return p.expectOutput(words)
	}
	want := strings.Join(words, " ")
	for _, name := range p.outcome.names {
		if strings.EqualFold(name, want) {
			return nil
		}
	}
	return fmt.Errorf("%s, expected %s", p.outcome.text, want)
}

func (p *player) expectOutput(words []string) error {
	if len(words) < 4 {
		return fmt.Errorf("expect %s takes a slot, an output and what it holds", words[0])
	}
	l, port, err := p.port(words[1], words[2], loader.Output)
	if err != nil {
		return err
	}
	slot, _ := strconv.ParseInt(words[1], 0, 32)
	res, err := p.machine.Result(int32(slot))
	if err != nil {
		return err
	}
	if res == nil {
		return fmt.Errorf("%s has not run", l.model.Name())
	}
	for _, out := range res.Outputs {
		if out.Port.Name != port.Name {
			continue
		}
		if words[0] == "crc32" {
			if got := Checksum(out.Data); got != words[3] {
				return fmt.Errorf("output %s has crc32 %s, expected %s", port.Name, got, words[3])
			}
			return nil
		}
		want, err := fp16Words(words[3:], len(out.Data))
		if err != nil {
			return err
		}
		for i := range want {
			if want[i] != out.Data[i] {
				return fmt.Errorf("element %d of output %s is %v, expected %v", i, port.Name, out.Data[i], want[i])
			}
		}
		return nil
	}
	return fmt.Errorf("output %s has no values", port.Name)
}

// WriteStatistics writes the ledger, the queues' counts and what each program did.
func (m *Machine) WriteStatistics(w io.Writer) error {
	l, q := m.Ledger(), m.queue.Stats()
	fmt.Fprintf(w, "\nledger: %d received = %d answered + %d refused + %d dropped\n", l.Received, l.Answered, l.Refused, l.Dropped)
	fmt.Fprintf(w, "queues: %d submitted, %d finished, %d aborted, %d waiting; %d runs of descriptors, %d switches; busy %v of %v\n",
		q.Submitted, q.Finished, q.Aborted, m.queue.Waiting(), q.Runs, q.Switches, q.Busy, m.queue.Now())
	for _, slot := range m.Slots() {
		r := m.programs[slot]
		fmt.Fprintf(w, "program %d: %s at %#x, called %d times", slot, r.image.name, r.loaded.Address(), r.calls)
		if r.last != nil {
			fmt.Fprintf(w, "; last %d cycles, %v", r.last.Report.Cycles, r.last.Report.Energy)
			for _, o := range r.last.Outputs {
				fmt.Fprintf(w, ", %s crc32 %s", o.Port.Name, Checksum(o.Data))
			}
		}
		fmt.Fprintln(w)
	}
	if stages := m.session.options.Host.Stages(); stages != nil {
		fmt.Fprint(w, "host, each call:")
		for i, s := range stages {
			sep := ","
			if i == 0 {
				sep = ""
			}
			fmt.Fprintf(w, "%s %s %.1f us", sep, s.Name, s.Time.Value)
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "memory: %d bytes used; user clients: %d; models at the broker: %d\n", m.session.Used(), m.driver.Clients(), residents(m.broker))
	return err
}

func residents(b *broker.Broker) int {
	n, _ := b.Resident()
	return n
}
