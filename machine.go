package anesim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"anesim/firmware/broker"
	"anesim/firmware/command"
	"anesim/firmware/driver"
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

	session    *Session
	models     []image
	controller *command.Controller
	driver     *driver.Driver
	broker     *broker.Broker
	queue      *queue.Scheduler
	rings      [2]*command.Ring
	programs   map[int32]*resident
	buffers    map[uint64]uint64 // sizes of mapped host buffers, by device address
	next       uint64
	held       bool
	finished   int
	ctx        context.Context
}

// An image is a model that load commands can name.
type image struct {
	name  string
	model *Model
}

// A resident is a program in one of the controller's slots.
type resident struct {
	image  image
	loaded *Loaded
	last   *Result
	err    error
	calls  int
}

// Where images and mapped buffers stand for the host (ours: no address is documented).
const (
	imageBase  = 0x1_0000_0000
	imageSize  = 0x1000_0000
	bufferBase = 0x8_0000_0000
)

// NewMachine starts an engine; the controller has not booted. Of the options, State and
// Repeat are left aside.
func NewMachine(ctx context.Context, o Options) (*Machine, error) {
	s, err := NewSession(o)
	if err != nil {
		return nil, err
	}
	m := &Machine{
		session: s, broker: broker.New(), queue: queue.New(), ctx: ctx,
		rings:    [2]*command.Ring{command.NewRing(0), command.NewRing(0)},
		programs: map[int32]*resident{}, buffers: map[uint64]uint64{}, next: bufferBase,
	}
	m.queue.Observe = func(e queue.Event) {
		if e.Kind == queue.Finished {
			m.finished++
		}
		if m.Observe != nil {
			m.Observe(e)
		}
	}
	m.controller = command.NewController(m)
	m.driver = driver.New(m)
	return m, nil
}

// Add names a model, and returns the address that load commands know it by.
func (m *Machine) Add(name string, model *Model) (address uint64, err error) {
	if _, ok := m.Image(name); ok {
		return 0, fmt.Errorf("model %s is there already", name)
	}
	m.models = append(m.models, image{name, model})
	return imageBase + uint64(len(m.models)-1)*imageSize, nil
}

// Image is the address of a model that was added.
func (m *Machine) Image(name string) (address uint64, ok bool) {
	i := slices.IndexFunc(m.models, func(x image) bool { return x.name == name })
	return imageBase + uint64(i)*imageSize, i >= 0
}

// Queue is the task queues.
func (m *Machine) Queue() *queue.Scheduler { return m.queue }

// Ledger is what became of the messages on the rings.
func (m *Machine) Ledger() command.Ledger { return m.controller.Ledger() }

// Driver is the driver, Broker the broker above it.
func (m *Machine) Driver() *driver.Driver { return m.driver }

// Broker is what divides the engine's time between clients.
func (m *Machine) Broker() *broker.Broker { return m.broker }

// Hold keeps requests in the queues until Step or Drain runs them; without it each call
// runs to its end before its reply.
func (m *Machine) Hold(on bool) { m.held = on }

// Step executes one run of descriptors, and reports whether there was one.
func (m *Machine) Step() (bool, error) { return m.queue.Step() }

// Drain executes all that the queues hold.
func (m *Machine) Drain() error { return m.queue.Drain() }

// Program is what runs in a slot of the controller, nil where it is empty.
func (m *Machine) Program(slot int32) *Loaded {
	if r := m.programs[slot]; r != nil {
		return r.loaded
	}
	return nil
}

// Result is that of the last call of the program in a slot which ended, nil before one.
func (m *Machine) Result(slot int32) (*Result, error) {
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
	ring := m.rings[ch&1]
	if err := ring.Push(msg); err != nil {
		return command.Reply{Header: msg.Header, Status: command.NoRoom, Why: err.Error()}
	}
	r := m.controller.Handle(ch, ring.Pop())
	if r.Status == command.OK && msg.ID == command.Boot && m.queue.State() == queue.Init {
		if err := m.queue.Start(); err != nil {
			return command.Reply{Header: msg.Header, Status: command.WrongState, Why: err.Error()}
		}
	}
	return r
}

// Map gives a host buffer a device address.
func (m *Machine) Map(_, size uint64) (address uint64, ok bool) {
	if size == 0 || size > m.session.options.Memory {
		return 0, false
	}
	address = m.next
	m.next += (size + pageSize - 1) / pageSize * pageSize
	m.buffers[address] = size
	return address, true
}

// Unmap takes a buffer's address away.
func (m *Machine) Unmap(address uint64) bool {
	_, ok := m.buffers[address]
	delete(m.buffers, address)
	return ok
}

// Load loads the model that a load command names.
func (m *Machine) Load(slot int32, p command.Program) command.Status {
	i := int((p.Address - imageBase) / imageSize)
	if p.Address < imageBase || i >= len(m.models) || p.Address != imageBase+uint64(i)*imageSize {
		return command.NotFound
	}
	l, err := m.session.Load(m.ctx, m.models[i].model)
	if err != nil {
		return command.Failed
	}
	m.programs[slot] = &resident{image: m.models[i], loaded: l}
	return command.OK
}

// Unload takes a slot's program out of memory.
func (m *Machine) Unload(slot int32) {
	if r := m.programs[slot]; r != nil {
		r.loaded.Unload()
		delete(m.programs, slot)
	}
}

// Call puts a call into the queue of its priority, and runs it unless calls are held.
func (m *Machine) Call(h command.Header, c command.Call) command.Status {
	r := m.programs[h.Program]
	if r == nil {
		return command.NotFound
	}
	for _, b := range c.Buffers {
		if _, ok := m.buffers[b.Address]; !ok {
			return command.NotFound
		}
	}
	_, err := m.queue.Submit(queue.Request{
		Priority: queue.Priority(h.Priority), Network: uint8(h.Program + 1), Program: h.Program, Process: h.Process,
		Work: &request{machine: m, program: r},
	})
	if err != nil {
		return command.NoRoom
	}
	if m.held {
		return command.OK
	}
	if err := m.queue.Drain(); err != nil || r.err != nil || r.last != nil && len(r.last.Report.Faults) > 0 {
		return command.Failed
	}
	return command.OK
}
