package machine

import (
	"encoding/binary"
	"slices"

	"anesim/internal/firmware/broker"
	"anesim/internal/firmware/driver"
)

// A Lease is given to a client by the broker for a model: handles of the program, which the broker has
// created and prepared on its own connection to the driver, and of its intermediate buffer.
type Lease struct {
	Token        uint64
	Intermediate uint64
	instance     *broker.Instance
}

// brokerConnection returns the broker's connection to the driver, with the device open. It makes one if
// there is none.
func (m *Machine) brokerConnection() (*driver.Client, driver.Return) {
	if m.daemon == nil {
		c, ret := m.driver.NewUserClient(driver.Control, driver.Entitlements{driver.UserAccess}, false)
		if ret != driver.Success {
			return nil, ret
		}
		r := c.Call(0, driver.Arguments{Struct: driver.OpenRequest(), StructOut: driver.OpenBytes})
		if r.Return != driver.Success {
			c.Close()
			return nil, r.Return
		}
		m.daemon = c
	}
	return m.daemon, driver.Success
}

// Lease opens the model with the given name for client b of the broker. If the model is not in memory,
// the broker creates and prepares its program. Otherwise b attaches to it. The error is that of
// [broker.Client.Open], in which case the Return is [driver.NotPrivileged].
func (m *Machine) Lease(b *broker.Client, name string) (*Lease, driver.Return, error) {
	address, ok := m.Image(name)
	if !ok {
		return nil, driver.NotFound, nil
	}
	c, ret := m.brokerConnection()
	if ret != driver.Success {
		return nil, ret, nil
	}
	if token, ok := m.leased[name]; ok && m.broker.Holds(name) {
		if _, ok := c.Intermediate(token); !ok { // a reset of the controller has discarded it
			return nil, driver.NotFound, nil
		}
	}
	inst, err := b.Open(name, 0, broker.InstanceOptions{})
	if err != nil {
		return nil, driver.NotPrivileged, err
	}
	if inst.Model.Instances == 1 {
		token, ret := m.createForBroker(c, address, driver.Identity(b.Identity))
		if ret != driver.Success {
			inst.Release()
			return nil, ret, nil
		}
		m.leased[name] = token
		inst.Model.Bytes = m.Program(int32(token&0xffffffff) - 1).Bytes()
	}
	l := &Lease{Token: m.leased[name], instance: inst}
	l.Intermediate, _ = c.Intermediate(l.Token)
	return l, driver.Success, nil
}

// An adapter is an instance of a leased program with weights of its own.
type adapter struct {
	client *broker.Client
	token  uint64
}

// LeaseAdapter opens an instance of the model base for client b of the broker, with the weights of
// the model weights. Base stays in memory once; the instance takes the bytes of its weights. The
// Return is [driver.NotFound] if the broker does not hold base. The error is that of
// [broker.Client.OpenAdapter] or of [engine.Session.AddWeights].
func (m *Machine) LeaseAdapter(b *broker.Client, base, weights string) (*Lease, driver.Return, error) {
	token, ok := m.leased[base]
	// The low half of a token is the slot, counted from 1; the high half is the instance.
	slot := int32(token&0xffffffff) - 1
	p := m.engine.programs[slot]
	address, known := m.Image(weights)
	if !ok || !known || !m.broker.Holds(base) || p == nil || len(p.procedures) != 1 {
		return nil, driver.NotFound, nil
	}
	image := m.engine.models[(address-imageBase)/imageSize]
	list, err := image.model.Procedures(m.engine.ctx, m.engine.session.Options())
	if err != nil || len(list) != 1 {
		return nil, driver.NotFound, nil
	}
	// The broker accounts for the memory that the weights take, rounded as the session rounds it. So
	// they are placed first, and freed again if the broker refuses the client.
	before := m.engine.session.Used()
	at, err := m.engine.session.AddWeights(p.procedures[0].loaded, list[0])
	if err != nil {
		return nil, driver.BadArgument, err
	}
	inst, err := b.OpenAdapter(base, weights, m.engine.session.Used()-before, broker.InstanceOptions{})
	if err != nil {
		m.engine.session.Release(at)
		return nil, driver.NotPrivileged, err
	}
	made, ret := m.createInstance(token)
	// Undo in reverse order, as for a refusal above.
	if ret != driver.Success {
		inst.Release()
		m.engine.session.Release(at)
		return nil, ret, nil
	}
	m.engine.weights[instance{slot, int32(made >> 32)}] = at
	m.adapters = append(m.adapters, adapter{b, made})
	l := &Lease{Token: made, instance: inst}
	l.Intermediate, _ = m.daemon.Intermediate(made)
	return l, driver.Success, nil
}

// createInstance creates and prepares another instance of a program on the broker's connection, and
// returns its token.
func (m *Machine) createInstance(token uint64) (made uint64, ret driver.Return) {
	before := m.daemon.Tokens()
	in := make([]byte, 56)
	binary.LittleEndian.PutUint64(in, token)
	if r := m.daemon.Call(8, driver.Arguments{Struct: in[:32]}); r.Return != driver.Success {
		return 0, r.Return
	}
	for _, t := range m.daemon.Tokens() {
		if !slices.Contains(before, t) {
			made = t
		}
	}
	binary.LittleEndian.PutUint64(in, made)
	return made, m.daemon.Call(4, driver.Arguments{Struct: in, StructOut: 56}).Return
}

// createForBroker creates and prepares a program on the broker's connection c, on behalf of a client
// with the identity id, and returns its token.
func (m *Machine) createForBroker(c *driver.Client, address uint64, id driver.Identity) (token uint64, ret driver.Return) {
	before := c.Tokens()
	in := make([]byte, 56)
	binary.LittleEndian.PutUint64(in, address)
	if r := c.Call(3, driver.Arguments{Struct: in[:32]}); r.Return != driver.Success {
		return 0, r.Return
	}
	for _, t := range c.Tokens() {
		if !slices.Contains(before, t) {
			token = t
		}
	}
	c.Assign(token, id)
	binary.LittleEndian.PutUint64(in, token)
	return token, c.Call(4, driver.Arguments{Struct: in, StructOut: 56}).Return
}

// AskLease sends a request for a leased program through the broker, on the broker's connection, and
// waits for its end.
func (m *Machine) AskLease(b *broker.Client, l *Lease, sequence uint64) (ret driver.Return) {
	c, ret := m.brokerConnection()
	if ret != driver.Success {
		return ret
	}
	ret = driver.Busy
	l.instance.Submit(func() { ret = sendThrough(c, b, l.Token, sequence) })
	for m.broker.Turn() {
	}
	return ret
}

// sendThrough sends a request of client b of the broker on the driver's client c.
func sendThrough(c *driver.Client, b *broker.Client, token, sequence uint64) driver.Return {
	q := driver.Request{Token: token, Sequence: sequence, Priority: uint32(b.QoS.Priority()), Class: b.QoS.Class()}
	return c.Call(2, driver.Arguments{Scalars: make([]uint64, 1), Struct: q.Append(nil), StructOut: driver.ReplyBytes}).Return
}

// Lend gives the direct-path client to the handles of a lease. It returns [driver.NotPrivileged] if
// the client's identity is not that of the program's owner.
func (m *Machine) Lend(l *Lease, to *driver.Client) driver.Return {
	c, ret := m.brokerConnection()
	if ret != driver.Success {
		return ret
	}
	return c.Lend(l.Token, to)
}

// disconnect closes the connection of b to the broker, which destroys the programs that no client
// leases any more.
func (m *Machine) disconnect(b *broker.Client) {
	b.Disconnect()
	m.adapters = slices.DeleteFunc(m.adapters, func(a adapter) bool {
		if a.client == b {
			m.destroy(a.token)
		}
		return a.client == b
	})
	for _, name := range sortedKeys(m.leased) {
		if !m.broker.Holds(name) {
			m.destroy(m.leased[name])
			delete(m.leased, name)
		}
	}
	if m.broker.Clients() == 0 && m.daemon != nil {
		m.daemon.Close()
		m.daemon = nil
	}
}

// destroy releases the program or the instance with the given token on the broker's connection.
func (m *Machine) destroy(token uint64) {
	in := make([]byte, 16)
	binary.LittleEndian.PutUint64(in, token)
	m.daemon.Call(6, driver.Arguments{Struct: in})
}
