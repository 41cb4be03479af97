package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/internal/firmware/broker"
	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
	"anesim/internal/spelling"
	"anesim/loader"
)

// callMethodByName calls a method of client c that has no selector. The words are the name of the
// method and its arguments.
func (p *player) callMethodByName(c *scriptClient, words []string) error {
	var names []string
	for _, m := range driver.Methods() {
		names = append(names, m.Name)
	}
	if !slices.Contains(names, words[0]) {
		return fmt.Errorf("unknown method %q%s", words[0], spelling.Suggest(words[0], names))
	}
	var args []uint64
	for _, w := range words[1:] {
		v, err := p.parseAddress(w)
		if err != nil {
			return fmt.Errorf("invalid argument %q; want a number or a buffer name", w)
		}
		args = append(args, v)
	}
	out, ret := c.user.Method(words[0], args...)
	p.reportReturn(ret)
	if len(out) > 0 {
		fmt.Fprintf(p.w, "  %s %#x\n", words[0], out)
	}
	return nil
}

// mapBuffer handles the step "map CLIENT NAME bytes=N", which maps and names a buffer of a
// direct-path client.
func (p *player) mapBuffer(words []string) error {
	if _, err := p.findClient(words[0]); err != nil {
		return err
	}
	name := words[1]
	if _, ok := p.buffers[name]; ok {
		return fmt.Errorf("duplicate buffer %q", name)
	}
	if _, err := strconv.ParseUint(name, 0, 64); err == nil {
		return fmt.Errorf("buffer name %q must not be a number", name)
	}
	kv, err := parsePairs(words[2:], "bytes")
	if err != nil {
		return err
	}
	size, err := parseNumber(kv, "bytes", loader.PageSize, 1<<40)
	if err != nil {
		return err
	}
	if err := p.invokeSelector([]string{words[0], "ANE_MemoryMapRequest", fmt.Sprintf("bytes=%d", size)}); err != nil {
		return err
	}
	if p.mapped != 0 {
		p.buffers[name] = p.mapped
	}
	return nil
}

// lendProgram handles the step "lend OWNER CLIENT program=N", which gives a client a handle
// to another client's program. The driver compares their identities. If both are connected to the
// broker, that does so too, and requires that the other client may share models.
func (p *player) lendProgram(words []string) error {
	from, err := p.findClient(words[0])
	if err != nil {
		return err
	}
	to, err := p.findClient(words[1])
	if err != nil {
		return err
	}
	if from.user == nil || to.user == nil {
		return fmt.Errorf("both clients must be user clients of the driver; the broker lends to others with the step lease")
	}
	kv, err := parsePairs(words[2:], "program")
	if err != nil {
		return err
	}
	token, err := parseNumber(kv, "program", 0, 1<<40)
	if err != nil {
		return err
	}
	// The broker knows the owner of a model only while an instance is open. So the owner's instance
	// comes first and stays until the other client has asked; both are released at the end, since the
	// handle of the driver, not they, is what the step lends.
	if from.broker != nil && to.broker != nil {
		key := fmt.Sprintf("program %d", token)
		owned, err := from.broker.Open(key, 0, broker.InstanceOptions{})
		if err == nil {
			defer owned.Release()
			var shared *broker.Instance
			if shared, err = to.broker.Open(key, 0, broker.InstanceOptions{}); err == nil {
				defer shared.Release()
			}
		}
		if err != nil {
			p.reportDenied(err)
			return nil
		}
	}
	p.reportReturn(from.user.Lend(uint64(token), to.user))
	return nil
}

// signalEvent handles the step "signal EVENT VALUE", which raises an event from the host.
func (p *player) signalEvent(words []string) error {
	id, err := strconv.ParseUint(words[0], 0, 32)
	if err != nil {
		return fmt.Errorf("invalid event %q; want a number", words[0])
	}
	v, err := strconv.ParseUint(words[1], 0, 64)
	if err != nil {
		return fmt.Errorf("invalid event value %q; want a number", words[1])
	}
	p.machine.Signal(command.Event{ID: uint32(id), Value: v})
	p.reportOutcome(fmt.Sprintf("event %d at %d; %d requests wait", id, p.machine.Event(uint32(id)), p.machine.Waiting()), "signalled")
	return nil
}

// portNames returns the names of a program's ports of direction d, separated by commas.
func portNames(p *loader.Program, d loader.Direction) string {
	var names []string
	for i := range p.Ports {
		if p.Ports[i].Direction == d {
			names = append(names, p.Ports[i].Name)
		}
	}
	return strings.Join(names, ", ")
}
