package machine

import (
	"fmt"

	"anesim/firmware/broker"
	"anesim/firmware/driver"
)

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
	slot := int32(token) - 1
	l := m.Program(slot)
	if l == nil {
		return driver.NotFound, nil
	}
	name := m.programs[slot].image.model.Name()
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
