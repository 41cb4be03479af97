package machine

import (
	"fmt"

	"anesim/internal/firmware/broker"
	"anesim/internal/firmware/driver"
)

// leaseModel carries out the step "lease CLIENT model=NAME", in which the broker opens a model for a
// client, and "lease CLIENT model=NAME weights=NAME", in which it opens an adapter of a model. A client with the sandbox exception gets handles for its own direct-path client.
func (p *player) leaseModel(words []string) error {
	c, err := p.findClient(words[0])
	if err != nil {
		return err
	}
	if c.broker == nil {
		return fmt.Errorf(`client %q is not connected to the broker; that takes rights=broker or broker-access`, words[0])
	}
	kv, err := parsePairs(words[1:], "model", "weights")
	if err != nil {
		return err
	}
	if _, ok := p.machine.Image(kv["model"]); !ok {
		return p.newUnknownModelError(kv["model"])
	}
	var l *Lease
	var ret driver.Return
	if weights, ok := kv["weights"]; !ok {
		l, ret, err = p.machine.Lease(c.broker, kv["model"])
	} else if _, known := p.machine.Image(weights); !known {
		return p.newUnknownModelError(weights)
	} else {
		l, ret, err = p.machine.LeaseAdapter(c.broker, kv["model"], weights)
	}
	switch {
	case err != nil && ret == driver.NotPrivileged:
		p.reportDenied(err)
		return nil
	case err != nil:
		p.reportOutcome(fmt.Sprintf("%v: %v", ret, err), "BadArgument", fmt.Sprintf("%#x", uint32(ret)))
		return nil
	}
	if ret == driver.Success && c.user != nil {
		if ret = p.machine.Lend(l, c.user); ret == driver.Busy {
			ret = driver.Success // it has the handles already
		}
	}
	if ret != driver.Success {
		p.reportReturn(ret)
		return nil
	}
	c.leases[l.Token] = l
	p.reportOutcome(fmt.Sprintf("%v: program %d, intermediate buffer %d", ret, l.Token, l.Intermediate), "Success", "0x0")
	return nil
}

// reportDenied writes the broker's refusal as the outcome of the step.
func (p *player) reportDenied(err error) {
	p.reportOutcome(fmt.Sprintf("%v: %v", driver.NotPrivileged, err), "denied", "NotPrivileged", fmt.Sprintf("%#x", uint32(driver.NotPrivileged)))
}

// askBroker carries out the step "ask CLIENT program=N", which sends a request through the broker.
func (p *player) askBroker(words []string) error {
	c, err := p.findClient(words[0])
	if err != nil {
		return err
	}
	if c.broker == nil {
		return fmt.Errorf(`client %q is not connected to the broker; that takes rights=broker or broker-access, and qos= if it also has user-access`, words[0])
	}
	kv, err := parsePairs(words[1:], "program", "sequence")
	if err != nil {
		return err
	}
	token, err := parseNumber(kv, "program", 0, 1<<40) // an instance has its process above the slot
	if err != nil {
		return err
	}
	sequence, err := parseNumber(kv, "sequence", 0, 1<<30)
	if err != nil {
		return err
	}
	if l := c.leases[uint64(token)]; l != nil {
		p.reportReturn(p.machine.AskLease(c.broker, l, uint64(sequence)))
		return nil
	}
	if c.user == nil {
		p.reportReturn(driver.NotFound)
		return nil
	}
	ret, err := p.machine.Ask(c.broker, c.user, uint64(token), uint64(sequence))
	switch {
	case err != nil:
		p.reportDenied(err)
	default:
		p.reportReturn(ret)
	}
	return nil
}

// Ask sends a request for the program with the given token through broker client b, and waits for
// the outcome. When the broker reaches the request, driver client c sends the command with the
// given sequence number. Ask returns the driver's return value, which is [driver.NotFound] if there
// is no such program. It returns an error only if the broker denies the request.
func (m *Machine) Ask(b *broker.Client, c *driver.Client, token, sequence uint64) (ret driver.Return, err error) {
	slot := int32(token) - 1
	l := m.Program(slot)
	if l == nil {
		return driver.NotFound, nil
	}
	name := m.engine.programs[slot].image.model.Name()
	inst, err := b.Open(fmt.Sprintf("%s at %#x", name, l.Address()), l.Bytes(), broker.InstanceOptions{})
	if err != nil {
		return driver.NotPrivileged, err
	}
	defer inst.Release()
	ret = driver.Busy
	inst.Submit(func() { ret = sendThrough(c, b, token, sequence) })
	for m.broker.Turn() {
	}
	return ret, nil
}
