package machine

import (
	"fmt"

	"anesim/firmware/broker"
	"anesim/firmware/driver"
)

// askBroker carries out the step "ask CLIENT program=N", which sends a request through the broker.
func (p *player) askBroker(words []string) error {
	c, err := p.findClient(words[0])
	if err != nil {
		return err
	}
	if c.broker == nil {
		return fmt.Errorf(`client %q has no "qos", so it is not connected to the broker`, words[0])
	}
	kv, err := parsePairs(words[1:], "program", "sequence")
	if err != nil {
		return err
	}
	token, err := parseNumber(kv, "program", 0, 1<<30)
	if err != nil {
		return err
	}
	sequence, err := parseNumber(kv, "sequence", 0, 1<<30)
	if err != nil {
		return err
	}
	ret, err := p.machine.Ask(c.broker, c.user, uint64(token), uint64(sequence))
	switch {
	case err != nil:
		p.reportOutcome(err.Error(), "denied")
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
	inst.Submit(func() {
		q := driver.Request{Token: token, Sequence: sequence, QoS: uint32(b.QoS.Priority())}
		ret = c.Call(2, driver.Arguments{Scalars: make([]uint64, 1), Struct: q.Append(nil), StructOut: driver.ReplyBytes}).Return
	})
	for m.broker.Turn() {
	}
	return ret, nil
}
