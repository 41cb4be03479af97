package machine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/internal/firmware/broker"
	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
	"anesim/loader"
)

// A Machine models all layers that a call passes through on a real computer:
//
//	client --> broker --> driver --> ring, doorbell --> controller --> queue --> engine
//	           whose turn  selectors, gates             commands        runs     session
//
// Programs run through commands on the controller's rings ([Machine.Send]) or through clients of
// the driver ([Machine.Driver]). Before a command can load a model, [Machine.Add] must assign an
// address to it.
type Machine struct {
	// Observe is called for each event of a request in the task queues, if it is not nil.
	Observe func(queue.Event)
	// Notified is called for each message that the controller sends without being asked, if
	// it is not nil.
	Notified func(command.Message)
	// Warned is called for each mistake in a program that neither the controller nor the engine reports
	// when it is loaded, such as an address of weights without a relocation, if it is not nil.
	Warned func(text string)

	engine     *executor
	mailbox    *command.Mailbox
	controller *command.Controller
	driver     *driver.Driver
	broker     *broker.Broker
	timeline   *timeline
	daemon     *driver.Client    // the broker's connection to the driver, or nil
	leased     map[string]uint64 // tokens of the programs that the broker holds, by model
	adapters   []adapter
	why        string // reason of the controller's last refusal
}

// Addresses of images as seen by the host. They are this project's own, because none are
// documented.
const (
	imageBase = 0x1_0000_0000
	imageSize = 0x1000_0000
)

// Options configures a [Machine].
type Options struct {
	Engine    engine.Options
	RingDepth int // capacity of each ring in messages; 0 means [command.DefaultDepth]
	// InFlight is the number of calls of clients that the driver admits at a time; 0 means one, as on
	// macOS.
	InFlight   int
	Preemption queue.Preemption // where a more urgent request takes the engine
}

// New returns a machine with an idle engine whose controller has not booted. Calls of
// programs end when ctx is done. New returns the errors of [engine.New].
func New(ctx context.Context, o Options) (*Machine, error) {
	if o.Engine.AddressEnd == 0 { // programs and buffers share the space that the kernel's address translation has
		o.Engine.AddressEnd = loader.AddressSpaceEnd
	}
	s, err := engine.New(o.Engine)
	if err != nil {
		return nil, err
	}
	x := &executor{
		session: s, queue: queue.New(), ctx: ctx,
		programs: map[int32]*loadedModel{}, weights: map[instance]uint64{}, buffers: map[uint64]uint64{}, pending: map[queue.ID]*request{},
	}
	m := &Machine{engine: x, leased: map[string]uint64{}, broker: broker.New(), mailbox: command.NewMailbox(o.RingDepth), controller: command.NewController(x)}
	m.timeline = &timeline{machine: m, inFlight: max(1, o.InFlight)}
	x.queue.Preemption = o.Preemption
	// The executor has functions instead of the machine: what it executes does not depend on who waits
	// for it.
	x.queue.Observe = m.observe
	x.advance = m.timeline.advance
	x.notify = m.takeNotifications
	x.warn = func(text string) {
		if m.Warned != nil {
			m.Warned(text)
		}
	}
	x.ended = func(q *request) {
		// The host has the notification of the end before the next request starts.
		m.controller.Ended(q.header, q.resultStatus())
		m.takeNotifications()
	}
	x.aborted = func(q *request) { m.timeline.requestEnded(q, true) }
	m.driver = driver.New(m)
	m.mailbox.Attach(m.controller)
	return m, nil
}

// observe handles an event of a request in the task queues.
func (m *Machine) observe(e queue.Event) {
	x := m.engine
	q := x.pending[e.ID]
	// The request is forgotten before anyone learns of its end: a client may send the next one at once.
	switch e.Kind {
	case queue.Finished:
		x.finished++
		delete(x.pending, e.ID)
	case queue.Aborted:
		delete(x.pending, e.ID)
	}
	if m.Observe != nil {
		m.Observe(e)
	}
	switch {
	case q == nil:
	case e.Kind == queue.Finished:
		q.finishCall()
		m.timeline.requestEnded(q, false)
	case e.Kind == queue.Aborted:
		m.timeline.requestEnded(q, true)
	}
}

// Add makes a model available under the given name. Commands that load a program identify the model
// by the returned address. Add returns an error if the name is already in use.
func (m *Machine) Add(name string, model engine.Source) (address uint64, err error) {
	if _, ok := m.Image(name); ok {
		return 0, fmt.Errorf("duplicate model %q", name)
	}
	m.engine.models = append(m.engine.models, &image{name: name, model: model})
	return imageBase + uint64(len(m.engine.models)-1)*imageSize, nil
}

// Image returns the address of the model that [Machine.Add] added under the given name, and whether
// there is one.
func (m *Machine) Image(name string) (address uint64, ok bool) {
	i := slices.IndexFunc(m.engine.models, func(x *image) bool { return x.name == name })
	return imageBase + uint64(i)*imageSize, i >= 0
}

// Queue returns the scheduler of the task queues.
func (m *Machine) Queue() *queue.Scheduler { return m.engine.queue }

// Ledger returns the number of messages that the controller received, answered, refused and
// dropped.
func (m *Machine) Ledger() command.Ledger { return m.controller.Ledger() }

// Mailbox returns the rings and doorbells through which host and controller exchange
// messages.
func (m *Machine) Mailbox() *command.Mailbox { return m.mailbox }

// Driver returns the model of the kernel driver.
func (m *Machine) Driver() *driver.Driver { return m.driver }

// Broker returns the model of the system service that schedules the requests of clients.
func (m *Machine) Broker() *broker.Broker { return m.broker }

// Waiting returns the number of requests that wait for an event and are therefore not in a task
// queue yet.
func (m *Machine) Waiting() int { return len(m.engine.parked) }

// Hold turns the holding of requests on or off. While it is on, requests stay in the task queues
// until [Machine.Step] or [Machine.Drain] runs them. While it is off, each call runs to its end
// before the controller replies.
func (m *Machine) Hold(on bool) { m.engine.held = on }

// Step executes one run of descriptors from the task queues. It returns false if there is none. If a
// more urgent request stops the run, that counts as its end.
func (m *Machine) Step() (bool, error) {
	for x := m.engine; x.queue.Waiting() > 0; {
		runs, stops := x.queue.Stats().Runs, x.queue.Stats().Stops
		if more, err := m.timeline.advance(true); !more || err != nil {
			return false, err
		}
		if now := x.queue.Stats(); now.Runs > runs || now.Stops > stops {
			return true, nil
		}
	}
	return false, nil
}

// Drain runs all requests in the task queues, including requests that become ready meanwhile, and all
// outstanding calls of clients.
func (m *Machine) Drain() error {
	for {
		if more, err := m.timeline.advance(true); !more || err != nil {
			return err
		}
	}
}

// RunUntil moves the clock to the time at since the start. Meanwhile requests run, unless they are
// held. A run of descriptors that is in progress at that time goes on.
func (m *Machine) RunUntil(at clock.Nanoseconds) error {
	return m.timeline.runUntil(at, !m.engine.held)
}

// Now returns the time since the start.
func (m *Machine) Now() clock.Nanoseconds { return m.engine.queue.Now() }

// Program returns the first procedure of the program in a slot of the controller, or nil if
// the slot is empty.
func (m *Machine) Program(slot int32) *engine.Loaded { return m.Procedure(slot, 0) }

// Procedure returns the procedure with the given index of the program in a slot, or nil if
// there is none.
func (m *Machine) Procedure(slot int32, procedure uint32) *engine.Loaded {
	if r := m.engine.programs[slot]; r != nil && int64(procedure) < int64(len(r.procedures)) {
		return r.procedures[procedure].loaded
	}
	return nil
}

// Result returns the result of the last call of the program in a slot, or nil if none has
// ended. It returns an error if the slot is empty or if the last call failed.
func (m *Machine) Result(slot int32) (*engine.Result, error) {
	r := m.engine.programs[slot]
	if r == nil {
		return nil, fmt.Errorf("program slot %d is empty", slot)
	}
	return r.last, r.err
}

// Slots returns the numbers of the slots that hold a program, in ascending order.
func (m *Machine) Slots() []int32 { return slices.Sorted(maps.Keys(m.engine.programs)) }

// Send puts msg on the ring of channel ch, rings its doorbell, and returns the controller's
// reply.
func (m *Machine) Send(ch command.Channel, msg *command.Message) command.Reply {
	if err := m.mailbox.Submit(ch, msg); err != nil {
		return command.Reply{Header: msg.Header, Status: command.NoRoom, Why: err.Error()}
	}
	return m.deliverMessages(ch & 1)
}

// Post puts msg on the ring of channel ch without ringing its doorbell. It returns the
// errors of [command.Ring.Push].
func (m *Machine) Post(ch command.Channel, msg *command.Message) error {
	return m.mailbox.Submit(ch, msg)
}

// Ring rings the doorbell with the given index. If it belongs to a channel, the controller
// handles all messages on that channel's ring, and Ring returns the replies in the order of
// the messages. Ring returns an error if there is no such doorbell.
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

// SendBytes sends arbitrary bytes, as [Machine.Send] does with a message. The bytes need not be a
// valid message.
func (m *Machine) SendBytes(ch command.Channel, data []byte) command.Reply {
	if err := m.mailbox.SubmitBytes(ch, data); err != nil {
		return command.Reply{Status: command.NoRoom, Why: err.Error()}
	}
	return m.deliverMessages(ch & 1)
}

// deliverMessages rings the doorbell of channel ch and returns the controller's reply to the last
// message on it.
func (m *Machine) deliverMessages(ch command.Channel) command.Reply {
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
	if reply.Status != command.OK {
		m.why = reply.Why
	}
	m.takeNotifications()
	return reply
}

// takeNotifications handles all messages that the controller has sent without being asked.
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

// Map allocates a buffer of size bytes in device memory for the host and returns its
// address. It returns false if size is 0 or memory is short.
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

// Unmap frees a buffer that [Machine.Map] allocated and drops all requests that use it. It returns
// false if there is no such buffer.
func (m *Machine) Unmap(address uint64) bool {
	if _, ok := m.engine.buffers[address]; !ok {
		return false
	}
	m.engine.abortRequests(func(q *request) bool {
		return slices.ContainsFunc(q.call.Buffers, func(b command.Buffer) bool { return b.Address == address })
	})
	delete(m.engine.buffers, address)
	return m.engine.session.Release(address)
}

// Signal advances an event to the value in e and queues the requests that were waiting for it. It
// also runs them, unless requests are held.
func (m *Machine) Signal(e command.Event) {
	m.engine.events.Signal(e)
	m.engine.submitReadyRequests()
	if !m.engine.held {
		m.engine.drainQueues()
	}
}

// Event returns the current value of the event with the given number, or 0 if it has not been
// signaled since the last reset of the controller.
func (m *Machine) Event(id uint32) uint64 { return m.engine.events.Value(id) }

// ReadRegister returns the value of the engine register at a byte address. It returns false if the
// address is misaligned or in none of [firmware.Blocks].
func (m *Machine) ReadRegister(address uint64) (uint32, bool) {
	v, err := m.engine.session.Controller().MMIO().Load(address)
	return v, err == nil && isRegister(address)
}

// WriteRegister sets the engine register at a byte address to v. It returns false if the address is
// misaligned or in none of [firmware.Blocks].
func (m *Machine) WriteRegister(address uint64, v uint32) bool {
	return isRegister(address) && m.engine.session.Controller().MMIO().MaskedWrite(address, ^uint32(0), v) == nil
}

func isRegister(address uint64) bool {
	for _, b := range firmware.Blocks() {
		if b.Base <= address && address < b.End {
			return true
		}
	}
	return false
}
