package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/firmware/broker"
	"anesim/firmware/command"
	"anesim/firmware/driver"
	"anesim/hw/spelling"
	"anesim/loader"
)

// method calls a method beside the selectors: raw CLIENT METHOD NUMBERS...
func (p *player) method(c *scriptClient, words []string) error {
	var names []string
	for _, m := range driver.Methods() {
		names = append(names, m.Name)
	}
	if !slices.Contains(names, words[0]) {
		return fmt.Errorf("no method %s%s", words[0], spelling.Suggest(words[0], names))
	}
	var args []uint64
	for _, w := range words[1:] {
		v, err := p.address(w)
		if err != nil {
			return fmt.Errorf("argument %q: want a number or a buffer", w)
		}
		args = append(args, v)
	}
	out, ret := c.user.Method(words[0], args...)
	p.returned(ret)
	if len(out) > 0 {
		fmt.Fprintf(p.w, "  %s %#x\n", words[0], out)
	}
	return nil
}

// mapBuffer maps a buffer of a direct-path client and names it: map CLIENT NAME bytes=N.
func (p *player) mapBuffer(words []string) error {
	if _, err := p.named(words[0]); err != nil {
		return err
	}
	name := words[1]
	if _, ok := p.buffers[name]; ok {
		return fmt.Errorf("buffer %s is there already", name)
	}
	if _, err := strconv.ParseUint(name, 0, 64); err == nil {
		return fmt.Errorf("buffer %s: a name cannot be a number", name)
	}
	kv, err := pairsOf(words[2:], "bytes")
	if err != nil {
		return err
	}
	size, err := number(kv, "bytes", loader.PageSize, 1<<40)
	if err != nil {
		return err
	}
	if err := p.call([]string{words[0], "ANE_MemoryMapRequest", fmt.Sprintf("bytes=%d", size)}); err != nil {
		return fmt.Errorf("%w (the direct path maps buffers: kind=direct)", err)
	}
	if p.mapped != 0 {
		p.buffers[name] = p.mapped
	}
	return nil
}

// lend gives a client a handle to another's program: lend OWNER CLIENT program=N. Where
// both are connected to the broker, it holds their identities to each other.
func (p *player) lend(words []string) error {
	from, err := p.named(words[0])
	if err != nil {
		return err
	}
	to, err := p.named(words[1])
	if err != nil {
		return err
	}
	kv, err := pairsOf(words[2:], "program")
	if err != nil {
		return err
	}
	token, err := number(kv, "program", 0, 1<<40)
	if err != nil {
		return err
	}
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
			p.came(err.Error(), "denied")
			return nil
		}
	}
	p.returned(from.user.Lend(uint64(token), to.user))
	return nil
}

// signal moves an event up from the host's side: signal EVENT VALUE.
func (p *player) signal(words []string) error {
	id, err := strconv.ParseUint(words[0], 0, 32)
	if err != nil {
		return fmt.Errorf("event %q: want a number", words[0])
	}
	v, err := strconv.ParseUint(words[1], 0, 64)
	if err != nil {
		return fmt.Errorf("value %q: want a number", words[1])
	}
	p.machine.Signal(command.Event{ID: uint32(id), Value: v})
	p.came(fmt.Sprintf("event %d at %d; %d requests wait", id, p.machine.Event(uint32(id)), p.machine.Waiting()), "signalled")
	return nil
}

// portsOf are the names of a program's ports of a direction.
func portsOf(p *loader.Program, d loader.Direction) string {
	var names []string
	for i := range p.Ports {
		if p.Ports[i].Direction == d {
			names = append(names, p.Ports[i].Name)
		}
	}
	return strings.Join(names, ", ")
}
