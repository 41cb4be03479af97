package paper

import (
	"fmt"

	"anesim"
	"anesim/internal/firmware/command"
	"anesim/internal/firmware/machine"
)

// compareLimits sends commands at and just beyond each documented limit and compares the replies
// with the documents.
func (p *paper) compareLimits() error {
	m, err := machine.New(p.ctx, machine.Options{})
	if err != nil {
		return err
	}
	if _, err := m.Add("add", anesim.Identity()); err != nil {
		return err
	}
	send := func(ch command.Channel, id command.ID, body []byte) command.Reply {
		return m.Send(ch, &command.Message{Header: command.Header{ID: id, Priority: 5}, Body: body})
	}
	send(command.Control, command.Boot, nil)
	at, _ := m.Image("add")
	program := command.Program{Address: at, Procedures: 1}
	send(command.Control, command.LoadProgram, program.Append(nil))
	plain := command.Call{OutputSets: 1, Partitions: 1, Requests: 1}
	if r := send(command.Control, command.CreateProcess, plain.Append(nil)); r.Status != command.OK {
		return fmt.Errorf("paper: cannot create a firmware process: %s", r.Why)
	}
	for _, x := range []struct {
		what string
		want int
		id   command.ID
		fill func(c *command.Call, n int)
	}{
		{"signal events of a call", 16, command.ProcedureCallWithSignalEvents, func(c *command.Call, n int) { c.Signal = make([]command.Event, n) }},
		{"custom bars of a call", 32, command.ProcedureCallWithCustomBars, func(c *command.Call, n int) { c.Bars = make([]command.Bar, n) }},
		{"execute-order entries", 128, command.ProcedureCall, func(c *command.Call, n int) { c.Order = make([]uint32, n) }},
		{"active shared events", 1, command.ProcedureCallWithSignalEvents, func(c *command.Call, n int) { c.Shared = make([]command.Event, n) }},
		{"output buffer sets", 1, command.ProcedureCall, func(c *command.Call, n int) { c.OutputSets = uint32(n) }},
		{"task-descriptor partitions", 1, command.ProcedureCall, func(c *command.Call, n int) { c.Partitions = uint32(n) }},
		{"engine requests in a list", 1, command.ProcedureCall, func(c *command.Call, n int) { c.Requests = uint32(n) }},
	} {
		// The largest accepted number, found by trying.
		most := 0
		for n := 1; n <= 2*x.want+1; n++ {
			call := plain
			x.fill(&call, n)
			r := send(command.Execution, x.id, call.Append(nil))
			// The program has no bars, so that a call with any is malformed, but not for their number.
			if r.Status != command.OK && !(r.Status == command.Malformed && x.id == command.ProcedureCallWithCustomBars) {
				break
			}
			most = n
		}
		p.addClaim("limits", x.what+", at most", "", float64(x.want), float64(most), 0, "calls with one more each time, until one is refused", "")
	}
	most := 0
	for n := 1; n <= 200; n++ {
		program.Bars = uint32(n)
		r := m.Send(command.Control, &command.Message{Header: command.Header{ID: command.LoadProgram, Program: 1}, Body: program.Append(nil)})
		if r.Status != command.OK {
			break
		}
		m.Send(command.Control, &command.Message{Header: command.Header{ID: command.UnloadProgram, Program: 1}})
		most = n
	}
	p.addClaim("limits", "custom bars of a program, at most", "", 128, float64(most), 0, "loads with one more each time, until one is refused", "32 on the wire")
	return nil
}
