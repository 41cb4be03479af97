package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/internal/firmware/driver"
	"anesim/internal/spelling"
)

// usePort returns the wake port with the given name for a new asynchronous call of a client. A port
// belongs to one client, and tells its calls apart by their sequences.
func (p *player) usePort(name, client string, sequence uint64) (*wakePort, error) {
	if name == "" {
		return nil, fmt.Errorf(`missing port; want "async=PORT"`)
	}
	port := p.ports[name]
	if port == nil {
		port = &wakePort{client: client, calls: map[uint64]*driver.Completion{}}
		p.ports[name] = port
	}
	if port.client != client {
		return nil, fmt.Errorf("port %q belongs to client %q", name, port.client)
	}
	if slices.Contains(port.waiting, sequence) {
		return nil, fmt.Errorf("sequence %d is outstanding at port %q already; give each call its own sequence=", sequence, name)
	}
	port.calls[sequence] = nil
	port.waiting = append(port.waiting, sequence)
	return port, nil
}

// cancel removes a call that could not be posted.
func (w *wakePort) cancel(sequence uint64) {
	delete(w.calls, sequence)
	w.waiting = slices.DeleteFunc(w.waiting, func(s uint64) bool { return s == sequence })
}

// newWake returns the function that receives the completion of a call at a port, and writes it to the
// transcript.
func (p *player) newWake(name string, sequence uint64) func(driver.Completion) {
	return func(c driver.Completion) {
		port := p.ports[name]
		port.calls[sequence] = &c
		port.waiting = slices.DeleteFunc(port.waiting, func(s uint64) bool { return s == sequence })
		fmt.Fprintf(p.w, "  @ %v: completion of sequence %d at port %s: %v\n", p.machine.Now(), sequence, name, c.Return)
	}
}

// expectCompletion carries out the step "expect completion PORT SEQUENCE RETURN". It lets time pass
// until the completion has arrived.
func (p *player) expectCompletion(words []string) error {
	if len(words) != 4 {
		return fmt.Errorf(`wrong number of operands (%d); want "expect completion PORT SEQUENCE RETURN"`, len(words)-1)
	}
	port := p.ports[words[1]]
	if port == nil {
		return fmt.Errorf("unknown port %q%s", words[1], spelling.Suggest(words[1], sortedKeys(p.ports)))
	}
	sequence, err := strconv.ParseUint(words[2], 0, 64)
	if err != nil {
		return fmt.Errorf("invalid sequence %q; want a number", words[2])
	}
	if _, sent := port.calls[sequence]; !sent {
		return fmt.Errorf("no call with sequence %d was sent with port %q", sequence, words[1])
	}
	// Held requests wait for a later step of the script, so the engine must not start while time
	// passes here. A call that nothing can complete is an error, not an endless wait.
	for port.calls[sequence] == nil {
		more, err := p.machine.timeline.advance(!p.machine.engine.held)
		switch {
		case err != nil:
			return err
		case !more && p.machine.engine.held:
			return fmt.Errorf("sequence %d does not complete while requests are held", sequence)
		case !more:
			return fmt.Errorf("sequence %d never completes: %s", sequence, p.machine.timeline.explain())
		}
	}
	got := port.calls[sequence].Return
	// A return prints as a name and an explanation; scripts have the name or the number.
	name, _, _ := strings.Cut(got.String(), " ")
	if !strings.EqualFold(words[3], name) && words[3] != fmt.Sprintf("%#x", uint32(got)) {
		return fmt.Errorf("sequence %d completed with %v; want %s", sequence, got, words[3])
	}
	return nil
}
