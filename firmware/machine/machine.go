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

// A Machine is a session behind all that a call goes through on a real one:
//
//	client --> broker --> driver --> ring, doorbell --> controller --> queue --> engine
//	           whose turn  selectors, gates             commands        runs     session
//
// It takes commands on the ring and selectors of user clients. Programs are models that
// were added under a name; a load command names one by its address.
type Machine struct {
	// Observe, where it is not nil, is told what happens to requests in the task queues.
	Observe func(queue.Event)
	// Notified, where it is not nil, is told the controller's own messages.
	Notified func(command.Message)

	session    *engine.Session
	models     []*image
	mailbox    *command.Mailbox
	controller *command.Controller
	driver     *driver.Driver
	broker     *broker.Broker
	queue      *queue.Scheduler
	programs   map[int32]*resident
	buffers    map[uint64]uint64 // sizes of mapped host buffers, by device address
	events     command.Events
	parked     []*request // that wait for events
	pending    map[queue.ID]*request
	dropped    uint64 // requests whose program or process went while they waited for events
	held       bool
	finished   int
	ctx        context.Context
}

// Where images stand for the host (ours: no address is documented).
const (
	imageBase = 0x1_0000_0000
	imageSize = 0x1000_0000
)

// Options say what a machine is made of.
type Options struct {
	Engine    engine.Options
	RingDepth int // messages that each ring holds; 0 is [command.DefaultDepth]
}

// New starts an engine; the controller has not booted.
func New(ctx context.Context, o Options) (*Machine, error) {
	s, err := engine.New(o.Engine)
	if err != nil {
		return nil, err
	}
	m := &Machine{
		session: s, broker: broker.New(), queue: queue.New(), mailbox: command.NewMailbox(o.RingDepth), ctx: ctx,
		programs: map[int32]*resident{}, buffers: map[uint64]uint64{}, pending: map[queue.ID]*request{},
	}
	m.queue.Observe = func(e queue.Event) {
		if e.Kind == queue.Finished {
			m.finished++
		}
		if e.Kind == queue.Finished || e.Kind == queue.Aborted {
			delete(m.pending, e.ID)
		}
		if m.Observe != nil {
			m.Observe(e)
		}
	}
	m.controller = command.NewController(m)
	m.driver = driver.New(m)
	m.mailbox.Attach(m.controller)
	return m, nil
}

// Add names a model, and returns the address that load commands know it by.
func (m *Machine) Add(name string, model engine.Source) (address uint64, err error) {
	if _, ok := m.Image(name); ok {
		return 0, fmt.Errorf("model %s is there already", name)
	}
	m.models = append(m.models, &image{name: name, model: model})
	return imageBase + uint64(len(m.models)-1)*imageSize, nil
}

// Image is the address of a model that was added.
func (m *Machine) Image(name string) (address uint64, ok bool) {
	i := slices.IndexFunc(m.models, func(x *image) bool { return x.name == name })
	return imageBase + uint64(i)*imageSize, i >= 0
}

// Queue is the task queues.
func (m *Machine) Queue() *queue.Scheduler { return m.queue }

// Ledger is what became of the messages on the rings.
func (m *Machine) Ledger() command.Ledger { return m.controller.Ledger() }

// Mailbox is the rings and doorbells between host and controller.
func (m *Machine) Mailbox() *command.Mailbox { return m.mailbox }

// Driver is the driver, Broker the broker above it.
func (m *Machine) Driver() *driver.Driver { return m.driver }

// Broker is what divides the engine's time between clients.
func (m *Machine) Broker() *broker.Broker { return m.broker }

// Waiting is how many requests wait for events, before any queue.
func (m *Machine) Waiting() int { return len(m.parked) }

// Hold keeps requests in the queues until Step or Drain runs them; without it each call
// runs to its end before its reply.
func (m *Machine) Hold(on bool) { m.held = on }

// Step executes one run of descriptors, and reports whether there was one.
func (m *Machine) Step() (bool, error) {
	more, err := m.queue.Step()
	m.wake()
	return more, err
}

// Drain executes all that the queues hold, and what that lets go on.
func (m *Machine) Drain() error {
	for {
		if more, err := m.Step(); !more || err != nil {
			return err
		}
	}
}

// Program is the first procedure of the program in a slot of the controller, nil where it
// is empty.
func (m *Machine) Program(slot int32) *engine.Loaded { return m.Procedure(slot, 0) }

// Procedure is a procedure of the program in a slot, nil where there is none.
func (m *Machine) Procedure(slot int32, procedure uint32) *engine.Loaded {
	if r := m.programs[slot]; r != nil && int64(procedure) < int64(len(r.procedures)) {
		return r.procedures[procedure].loaded
	}
	return nil
}

// Result is that of the last call of the program in a slot which ended, nil before one.
func (m *Machine) Result(slot int32) (*engine.Result, error) {
	r := m.programs[slot]
	if r == nil {
		return nil, fmt.Errorf("no program in slot %d", slot)
	}
	return r.last, r.err
}

// Slots lists the slots that hold a program.
func (m *Machine) Slots() []int32 { return slices.Sorted(maps.Keys(m.programs)) }

// Send puts a message on a channel's ring, rings its doorbell and returns the controller's
// reply. It is what the driver stands on.
func (m *Machine) Send(ch command.Channel, msg *command.Message) command.Reply {
	if err := m.mailbox.Submit(ch, msg); err != nil {
		return command.Reply{Header: msg.Header, Status: command.NoRoom, Why: err.Error()}
	}
	return m.deliver(ch & 1)
}

// Post puts a message on a channel's ring and leaves its doorbell alone. Errors are those of
// [command.Ring.Push].
func (m *Machine) Post(ch command.Channel, msg *command.Message) error {
	return m.mailbox.Submit(ch, msg)
}

// Ring writes the doorbell of an index; of a channel's, the controller takes what is in its
// ring. The replies are in the order of the messages. An error is an index past the last.
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
			m.notices()
			return replies, nil
		}
	}
}

// SendBytes is Send for bytes that need not be a message.
func (m *Machine) SendBytes(ch command.Channel, data []byte) command.Reply {
	if err := m.mailbox.SubmitBytes(ch, data); err != nil {
		return command.Reply{Status: command.NoRoom, Why: err.Error()}
	}
	return m.deliver(ch & 1)
}

// deliver rings a channel's doorbell and takes the completion of what was sent on it.
func (m *Machine) deliver(ch command.Channel) command.Reply {
	if err := m.mailbox.Ring(uint32(ch)); err != nil {
		return command.Reply{Status: command.Failed, Why: err.Error()}
	}
	var reply command.Reply
	for _, r := range m.mailbox.Serve(m.controller) {
		reply = r
		if done, ok := m.mailbox.Take(ch); ok {
			done.Why = r.Why // the words are the model's, and are not on the ring
			reply = done
		}
	}
	m.notices()
	return reply
}

// notices takes the controller's own messages.
func (m *Machine) notices() {
	for {
		n, ok := m.mailbox.Notification()
		if !ok {
			return
		}
		if n.ID == command.CHResetNotification {
			m.driver.Reset()
			m.events.Reset()
		}
		if m.Notified != nil {
			m.Notified(n)
		}
	}
}

// Map gives a host buffer a device address.
func (m *Machine) Map(_, size uint64) (address uint64, ok bool) {
	if size == 0 {
		return 0, false
	}
	address, err := m.session.Reserve("host buffer", size)
	if err != nil {
		return 0, false
	}
	m.buffers[address] = size
	return address, true
}

// Unmap takes a buffer's address away. Requests that are to use it are dropped.
func (m *Machine) Unmap(address uint64) bool {
	if _, ok := m.buffers[address]; !ok {
		return false
	}
	m.abort(func(q *request) bool {
		return slices.ContainsFunc(q.call.Buffers, func(b command.Buffer) bool { return b.Address == address })
	})
	delete(m.buffers, address)
	return m.session.Release(address)
}

// Signal moves an event up, and lets the requests go on that waited for it.
func (m *Machine) Signal(e command.Event) {
	m.events.Signal(e)
	m.wake()
	if !m.held {
		m.Drain()
	}
}

// Event is what an event stands at.
func (m *Machine) Event(id uint32) uint64 { return m.events.Value(id) }

// ReadRegister reads a word of the engine's register space.
func (m *Machine) ReadRegister(address uint64) (uint32, bool) {
	v, err := m.session.Controller().MMIO().Load(address)
	return v, err == nil
}

// WriteRegister writes a word of the engine's register space.
func (m *Machine) WriteRegister(address uint64, v uint32) bool {
	return m.session.Controller().MMIO().MaskedWrite(address, ^uint32(0), v) == nil
}
