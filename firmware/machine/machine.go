package machine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"anesim/firmware/broker"
	"anesim/firmware/command"
	"anesim/firmware/driver"
	"anesim/firmware/engine"
	"anesim/firmware/queue"
)

// A Machine is a session together with all layers that a call passes through on a real
// engine:
//
//	client --> broker --> driver --> ring, doorbell --> controller --> queue --> engine
//	           whose turn  selectors, gates             commands        runs     session
//
// It takes commands on the ring and selectors of user clients. Programs are models that
// were added under a name. A load command identifies one by its address.
type Machine struct {
	// Observe, if it is not nil, is called for each event of a request in the task queues.
	Observe func(queue.Event)
	// Notified, if it is not nil, is called for each message that the controller sends on
	// its own.
	Notified func(command.Message)

	engine     *executor
	mailbox    *command.Mailbox
	controller *command.Controller
	driver     *driver.Driver
	broker     *broker.Broker
}

// Addresses of images as seen by the host. They are this project's own, because none are
// documented.
const (
	imageBase = 0x1_0000_0000
	imageSize = 0x1000_0000
)

// Options configures a machine.
type Options struct {
	Engine    engine.Options
	RingDepth int // capacity of each ring in messages; 0 means [command.DefaultDepth]
}

// New starts an engine. Its controller has not booted yet.
func New(ctx context.Context, o Options) (*Machine, error) {
	s, err := engine.New(o.Engine)
	if err != nil {
		return nil, err
	}
	x := &executor{
		session: s, queue: queue.New(), ctx: ctx,
		programs: map[int32]*loadedModel{}, buffers: map[uint64]uint64{}, pending: map[queue.ID]*request{},
	}
	m := &Machine{engine: x, broker: broker.New(), mailbox: command.NewMailbox(o.RingDepth), controller: command.NewController(x)}
	x.queue.Observe = func(e queue.Event) {
		if e.Kind == queue.Finished {
			x.finished++
		}
		if e.Kind == queue.Finished || e.Kind == queue.Aborted {
			delete(x.pending, e.ID)
		}
		if m.Observe != nil {
			m.Observe(e)
		}
	}
	x.notify = m.takeNotifications
	x.ended = func(q *request) {
		m.controller.Ended(q.header, q.status())
		m.takeNotifications()
	}
	m.driver = driver.New(m)
	m.mailbox.Attach(m.controller)
	return m, nil
}

// Add adds a model under a name, and returns the address by which load commands identify
// it.
func (m *Machine) Add(name string, model engine.Source) (address uint64, err error) {
	if _, ok := m.Image(name); ok {
		return 0, fmt.Errorf("duplicate model %s", name)
	}
	m.engine.models = append(m.engine.models, &image{name: name, model: model})
	return imageBase + uint64(len(m.engine.models)-1)*imageSize, nil
}

// Image returns the address of a model that was added under name.
func (m *Machine) Image(name string) (address uint64, ok bool) {
	i := slices.IndexFunc(m.engine.models, func(x *image) bool { return x.name == name })
	return imageBase + uint64(i)*imageSize, i >= 0
}

// Queue returns the task queues.
func (m *Machine) Queue() *queue.Scheduler { return m.engine.queue }

// Ledger returns the counts of messages on the rings by their result.
func (m *Machine) Ledger() command.Ledger { return m.controller.Ledger() }

// Mailbox returns the rings and doorbells between host and controller.
func (m *Machine) Mailbox() *command.Mailbox { return m.mailbox }

// Driver returns the driver.
func (m *Machine) Driver() *driver.Driver { return m.driver }

// Broker returns the broker, which divides the engine's time between clients.
func (m *Machine) Broker() *broker.Broker { return m.broker }

// Waiting returns the number of requests that wait for events and are not in a queue yet.
func (m *Machine) Waiting() int { return len(m.engine.parked) }

// Hold sets whether requests stay in the queues until Step or Drain runs them. Otherwise
// each call runs to its end before its reply.
func (m *Machine) Hold(on bool) { m.engine.held = on }

// Step executes one run of descriptors, and reports whether there was one.
func (m *Machine) Step() (bool, error) { return m.engine.step() }

// Drain runs all requests in the queues, and the requests that become ready meanwhile.
func (m *Machine) Drain() error { return m.engine.drain() }

// Program returns the first procedure of the program in a slot of the controller, or nil if
// the slot is empty.
func (m *Machine) Program(slot int32) *engine.Loaded { return m.Procedure(slot, 0) }

// Procedure returns a procedure of the program in a slot, or nil if there is none.
func (m *Machine) Procedure(slot int32, procedure uint32) *engine.Loaded {
	if r := m.engine.programs[slot]; r != nil && int64(procedure) < int64(len(r.procedures)) {
		return r.procedures[procedure].loaded
	}
	return nil
}

// Result returns the result of the last finished call of the program in a slot, or nil if
// there is none. It returns an error if the slot is empty or the call failed.
func (m *Machine) Result(slot int32) (*engine.Result, error) {
	r := m.engine.programs[slot]
	if r == nil {
		return nil, fmt.Errorf("found no program in slot %d", slot)
	}
	return r.last, r.err
}

// Slots returns the slots that hold a program, in ascending order.
func (m *Machine) Slots() []int32 { return slices.Sorted(maps.Keys(m.engine.programs)) }

// Send puts a message on a channel's ring, rings its doorbell and returns the controller's
// reply. The driver uses it to send commands.
func (m *Machine) Send(ch command.Channel, msg *command.Message) command.Reply {
	if err := m.mailbox.Submit(ch, msg); err != nil {
		return command.Reply{Header: msg.Header, Status: command.NoRoom, Why: err.Error()}
	}
	return m.deliver(ch & 1)
}

// Post puts a message on a channel's ring without ringing its doorbell. The error is one of
// [command.Ring.Push].
func (m *Machine) Post(ch command.Channel, msg *command.Message) error {
	return m.mailbox.Submit(ch, msg)
}

// Ring writes the doorbell with the given index. If it is a channel's doorbell, the
// controller handles the messages in that ring, and Ring returns the replies in the order
// of the messages. The error is for an index past the last.
func (m *Machine) Ring(index uint32) ([]command.Reply, error) {
	if err := m.mailbox.Ring(index); err != nil {
		return nil, err
	}
	var replies []command.Reply
	for {
		served := m.mailbox.Serve(m.controller)
		for ch := range command.Execution + 1 {
			for ok := true; ok; {
				_, ok = m.mailbox.Take(ch)
			}
		}
		replies = append(replies, served...)
		if len(served) == 0 {
			m.takeNotifications()
			return replies, nil
		}
	}
}

// SendBytes is like Send for bytes that may not be a valid message.
func (m *Machine) SendBytes(ch command.Channel, data []byte) command.Reply {
	if err := m.mailbox.SubmitBytes(ch, data); err != nil {
		return command.Reply{Status: command.NoRoom, Why: err.Error()}
	}
	return m.deliver(ch & 1)
}

// deliver rings a channel's doorbell and returns the completion of the message sent on it.
func (m *Machine) deliver(ch command.Channel) command.Reply {
	if err := m.mailbox.Ring(uint32(ch)); err != nil {
		return command.Reply{Status: command.Failed, Why: err.Error()}
	}
	var reply command.Reply
	for _, r := range m.mailbox.Serve(m.controller) {
		reply = r
		if done, ok := m.mailbox.Take(ch); ok {
			done.Why = r.Why // the explanation is the model's own and is not on the ring
			reply = done
		}
	}
	m.takeNotifications()
	return reply
}

// takeNotifications handles the messages that the controller sends on its own.
func (m *Machine) takeNotifications() {
	for {
		n, ok := m.mailbox.Notification()
		if !ok {
			return
		}
		if n.ID == command.CHResetNotification {
			m.driver.Reset()
			m.engine.events.Reset()
		}
		if m.Notified != nil {
			m.Notified(n)
		}
	}
}

// Map allocates a device buffer of size bytes for the host and returns its address.
func (m *Machine) Map(_, size uint64) (address uint64, ok bool) {
	if size == 0 {
		return 0, false
	}
	address, err := m.engine.session.Reserve("host buffer", size)
	if err != nil {
		return 0, false
	}
	m.engine.buffers[address] = size
	return address, true
}

// Unmap frees a host buffer. Requests that would use it are dropped.
func (m *Machine) Unmap(address uint64) bool {
	if _, ok := m.engine.buffers[address]; !ok {
		return false
	}
	m.engine.abort(func(q *request) bool {
		return slices.ContainsFunc(q.call.Buffers, func(b command.Buffer) bool { return b.Address == address })
	})
	delete(m.engine.buffers, address)
	return m.engine.session.Release(address)
}

// Signal raises an event and submits the requests that waited for it.
func (m *Machine) Signal(e command.Event) {
	m.engine.events.Signal(e)
	m.engine.submitReady()
	if !m.engine.held {
		m.Drain()
	}
}

// Event returns the value of an event.
func (m *Machine) Event(id uint32) uint64 { return m.engine.events.Value(id) }

// ReadRegister returns a word of the engine's register space.
func (m *Machine) ReadRegister(address uint64) (uint32, bool) {
	v, err := m.engine.session.Controller().MMIO().Load(address)
	return v, err == nil
}

// WriteRegister writes a word of the engine's register space.
func (m *Machine) WriteRegister(address uint64, v uint32) bool {
	return m.engine.session.Controller().MMIO().MaskedWrite(address, ^uint32(0), v) == nil
}
