package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/internal/firmware/command"
	"anesim/loader"
)

// An executor is the engine as the controller sees it: the programs in the controller's
// slots, and the calls of them that run, are queued or wait for events. It implements
// [command.Engine].
type executor struct {
	ctx      context.Context
	session  *engine.Session
	models   []*image
	programs map[int32]*loadedModel // by slot
	buffers  map[uint64]uint64      // sizes of mapped host buffers, by device address
	queue    *queue.Scheduler
	events   command.Events
	parked   []*request            // requests that wait for events
	pending  map[queue.ID]*request // requests in the queues
	dropped  uint64                // requests whose program or process ended while they waited for events
	held     bool                  // whether calls stay in the queues until the caller runs them
	finished int                   // requests that ran to their end
	posting  bool                  // a command of an outstanding call is on its way, so Call does not run it
	latest   *request              // made by the last Call
	running  *request              // whose run of descriptors is in progress
	awake    clock.Nanoseconds     // time at which the engine has woken, which may be in the future
	lost     clock.Nanoseconds     // engine time in runs that were stopped
	wasted   clock.Nanojoules      // energy of these runs
	power    powerState
	weights  map[instance]uint64 // addresses of the weights of adapters
	// advance moves the clock to the next thing that happens, as timeline.advance does.
	advance func(run bool) (bool, error)
	// ended is called for each call that ended, aborted for each that waited for events and is
	// dropped, and notify after requests were submitted, so that the machine takes the messages that
	// the controller sends on its own.
	ended, aborted func(q *request)
	notify         func()
	warn           func(text string) // called for what no command reports
}

// An instance is a process of the program in a slot.
type instance struct{ slot, process int32 }

// An image is a model that load commands can refer to by its address.
type image struct {
	name       string
	model      engine.Source
	procedures []*loader.Program // made when it is first loaded
}

// A loadedModel is a model that is loaded in one of the controller's slots.
type loadedModel struct {
	image      *image
	procedures []procedure
	last       *engine.Result
	err        error
	calls      int
}

// A procedure is one procedure of a loaded model.
type procedure struct{ loaded *engine.Loaded }

// Load loads the model at the address that command p gives, and returns its number of procedures.
// Each procedure gets its own copy of the container's segments; on a real engine they share them.
func (x *executor) Load(slot int32, p command.Program) (procedures uint32, s command.Status, why string) {
	i := int((p.Address - imageBase) / imageSize)
	// An address inside an image is refused too: a program starts where its file does.
	if p.Address < imageBase || i >= len(x.models) || p.Address != imageBase+uint64(i)*imageSize {
		return 0, command.NotFound, ""
	}
	named := x.models[i]
	// The model's procedures are made once: they do not depend on the slot, and a script may load a
	// model into several.
	if named.procedures == nil {
		list, err := named.model.Procedures(x.ctx, x.session.Options())
		if err != nil {
			return 0, command.Failed, ""
		}
		named.procedures = list
	}
	programs := named.procedures
	switch {
	case int64(p.Procedures) > int64(len(programs)):
		return 0, command.NotFound, ""
	case p.Procedures > 0:
		programs = programs[:p.Procedures]
	}
	r := &loadedModel{image: named}
	// Check all procedures before any is placed, so that a refusal has no memory to free.
	for _, p := range programs {
		if len(p.Bars()) > command.MaxProgramBars {
			return 0, command.OverLimit, fmt.Sprintf("program has %d bars; want at most %d", len(p.Bars()), command.MaxProgramBars)
		}
	}
	for _, p := range programs {
		l, err := x.session.Load(p)
		if err != nil {
			// A program is loaded as a whole or not at all.
			for _, p := range r.procedures {
				p.loaded.Unload()
			}
			var full *engine.NoMemoryError
			if errors.As(err, &full) {
				return 0, command.NoMemory, err.Error()
			}
			return 0, command.Failed, ""
		}
		r.procedures = append(r.procedures, procedure{l})
	}
	// The engine would not notice: it is whoever places the constants that needs the relocations.
	for i, p := range programs {
		if gaps, err := p.RelocationGaps(); err == nil && len(gaps) > 0 {
			x.warn(fmt.Sprintf("model %s, procedure %d: %v", named.name, i, gaps))
		}
	}
	x.programs[slot] = r
	return uint32(len(programs)), command.OK, ""
}

// Unload removes the program in a slot from memory and drops its remaining calls.
func (x *executor) Unload(slot int32) {
	r := x.programs[slot]
	if r == nil {
		return
	}
	x.abortRequests(func(q *request) bool { return q.header.Program == slot })
	for _, p := range r.procedures {
		p.loaded.Unload()
	}
	delete(x.programs, slot)
	x.releaseWeights(func(i instance) bool { return i.slot == slot })
}

// releaseWeights frees the weights of the instances for which match returns true.
func (x *executor) releaseWeights(match func(instance) bool) {
	maps.DeleteFunc(x.weights, func(i instance, address uint64) bool {
		return match(i) && x.session.Release(address)
	})
}

// Terminate drops the remaining requests of a process.
func (x *executor) Terminate(slot, process int32) {
	x.abortRequests(func(q *request) bool { return q.header.Program == slot && q.header.Process == process })
	x.releaseWeights(func(i instance) bool { return i == instance{slot, process} })
}

// abortRequests drops the requests for which match returns true, once the run of descriptors in
// progress has ended.
func (x *executor) abortRequests(match func(*request) bool) {
	x.finishRun()
	x.dropRequests(match)
}

// dropRequests drops the requests for which match returns true. It drops requests in a queue and
// requests that wait for events.
func (x *executor) dropRequests(match func(*request) bool) {
	var ids []queue.ID
	for id, q := range x.pending {
		if match(q) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		x.queue.Abort(id)
	}
	var dropped []*request
	x.parked = slices.DeleteFunc(x.parked, func(q *request) bool {
		if match(q) {
			dropped = append(dropped, q)
			return true
		}
		return false
	})
	x.dropped += uint64(len(dropped))
	for _, q := range dropped {
		x.aborted(q)
	}
}

// abortInRun aborts request q at the end of its run of descriptors if one is in progress, and reports
// whether that is so.
func (x *executor) abortInRun(q *request) bool {
	if _, busy := x.queue.Running(); !busy || x.running != q {
		return false
	}
	return x.queue.Abort(q.id)
}

// finishRun lets the run of descriptors in progress end.
func (x *executor) finishRun() {
	if _, busy := x.queue.Running(); busy {
		x.endRun()
	}
}

// endRun moves the clock to the end of the run of descriptors in progress and submits the requests
// whose events have occurred.
func (x *executor) endRun() {
	x.queue.End()
	x.running = nil
	x.submitReadyRequests()
}

// Call puts a call in the queue of its priority once the events it waits for have occurred.
// It runs the queues unless calls are held. A call that sets a parameter or a bar to a value that the
// program does not allow runs nothing.
func (x *executor) Call(h command.Header, c command.Call) (s command.Status, why string) {
	r := x.programs[h.Program]
	if r == nil || int64(h.Procedure) >= int64(len(r.procedures)) {
		return command.NotFound, ""
	}
	q := &request{executor: x, program: r, procedure: &r.procedures[h.Procedure], header: h, call: c}
	if s, why := q.checkBindings(); s != command.OK {
		return s, why
	}
	if err := q.procedure.loaded.CheckSettings(q.settings()); err != nil {
		return command.Malformed, err.Error()
	}
	x.latest = q
	// A call that waits for events is accepted now, as is one whose run the caller leaves to the timeline or to
	// a script; a notification tells of its end.
	if !x.events.Reached(c.Wait) {
		x.parked = append(x.parked, q)
		return command.OK, ""
	}
	if s := x.submitRequest(q); s != command.OK || x.held || x.posting {
		return s, ""
	}
	if err := x.drainQueues(); err != nil {
		return command.Failed, ""
	}
	if q.done {
		return q.resultStatus(), ""
	}
	return command.OK, ""
}

func (x *executor) submitRequest(q *request) command.Status {
	h := &q.header
	id, err := x.queue.Submit(queue.Request{
		Priority: queue.Priority(h.Priority), Network: uint8(h.Program + 1), Program: h.Program, Process: h.Process, Work: q,
	})
	if err != nil {
		return command.NoRoom
	}
	x.pending[id], q.id = q, id
	return command.OK
}

// submitReadyRequests queues the requests whose events have occurred. A request whose queue is full
// continues to wait.
func (x *executor) submitReadyRequests() {
	x.parked = slices.DeleteFunc(x.parked, func(q *request) bool {
		return x.events.Reached(q.call.Wait) && x.submitRequest(q) == command.OK
	})
	x.notify()
}

// drainQueues runs all requests in the queues, and the requests that become ready meanwhile.
func (x *executor) drainQueues() error {
	for x.queue.Waiting() > 0 {
		if more, err := x.advance(true); !more || err != nil {
			return err
		}
	}
	return nil
}

// Quiesce runs all requests in the queues to their end. Requests that exceed the time limit
// of a queue are aborted.
func (x *executor) Quiesce() command.Status {
	x.finishRun()
	for n := queue.Queues - 1; n >= 0; n-- {
		if _, err := x.queue.Quiesce(n); err != nil {
			return command.Failed
		}
	}
	return command.OK
}

// Power turns the power domains on or off.
func (x *executor) Power(on bool) command.Status {
	x.finishRun()
	if on {
		x.session.Controller().Wake(1)
	} else {
		x.session.Controller().PowerDown()
	}
	return command.OK
}

// passTime moves the clock to the time at. Unless a run of descriptors is in progress, the engine is
// idle meanwhile.
func (x *executor) passTime(at clock.Nanoseconds) {
	if _, busy := x.queue.Running(); !busy {
		x.waitIdle(at - x.queue.Now())
	}
	x.queue.Wait(at)
}

// Resources describes the engine and its memory.
func (x *executor) Resources() command.Resources {
	memory := x.session.Options().Memory
	return command.Resources{
		Tiles: uint32(bits.OnesCount32(x.session.Controller().TileEnables())), Queues: queue.Queues,
		Memory: memory, Free: memory - min(x.session.Used(), memory), Statistics: firmware.StatisticsBytes,
	}
}

// Boot starts the task queues. It does nothing if they were started before.
func (x *executor) Boot() command.Status {
	if x.queue.State() == queue.Init && x.queue.Start() != nil {
		return command.WrongState
	}
	return command.OK
}

// Pause stops the task queues between two runs of descriptors if on is true, and restarts
// them otherwise.
func (x *executor) Pause(on bool) command.Status {
	x.finishRun()
	change := x.queue.Start
	if on {
		change = x.queue.Pause
	}
	if change() != nil {
		return command.WrongState
	}
	return command.OK
}

// Secure enters or leaves secure mode. It first empties the task queues and then turns all
// power domains off.
func (x *executor) Secure(on bool) command.Status {
	x.finishRun()
	if _, err := x.queue.SecureBoundary(on, x.session.Controller().PowerDown); err != nil {
		return command.WrongState
	}
	return command.OK
}
