package command

// key names a cache request: one for each procedure of a process.
type key struct {
	program, process int32
	procedure        uint32
}

// A cached request is a call that stands ready: a trigger runs it on inputs of its own,
// and its output buffer stays with the host until that returns it.
type cached struct {
	call   Call
	active bool // the one of its group that a trigger may run
	out    int  // outputs that the host has not returned
}

// install keeps a call for later triggers.
func (c *Controller) install(m *Message, r *Reply) {
	p := c.find(m, r)
	if p == nil {
		return
	}
	call, err := ReadCall(m.ID, m.Body)
	if err == nil {
		err = announced(m.ID, &call)
	}
	k := key{m.Program, m.Process, m.Procedure}
	bindings, running := p.processes[m.Process]
	switch {
	case err != nil:
		r.fail(err)
	case c.disabled:
		r.refuse(WrongState, "cache requests are disabled")
	case !running:
		r.refuse(NotFound, "program %d has no process %d", m.Program, m.Process)
	case m.Procedure >= p.Procedures:
		r.refuse(NotFound, "procedure %d: program %d has %d", m.Procedure, m.Program, p.Procedures)
	case c.cache[k] != nil:
		r.refuse(WrongState, "procedure %d of process %d has a cache request", m.Procedure, m.Process)
	default:
		call.Buffers = bound(bindings.Buffers, call.Buffers)
		c.cache[k] = &cached{call: call, active: c.first(m.Program, call.Group)}
	}
}

// first reports whether a group has no active request yet.
func (c *Controller) first(program int32, group uint32) bool {
	for k, x := range c.cache {
		if k.program == program && x.call.Group == group && x.active {
			return false
		}
	}
	return true
}

// trigger runs an installed request on the inputs that the message names.
func (c *Controller) trigger(m *Message, r *Reply) {
	if _, _, ok := c.running(m, r); !ok {
		return
	}
	inputs, err := ReadCall(m.ID, m.Body)
	if err == nil {
		err = announced(m.ID, &inputs)
	}
	x := c.cache[key{m.Program, m.Process, m.Procedure}]
	switch {
	case err != nil:
		r.fail(err)
	case x == nil:
		r.refuse(NotFound, "procedure %d of process %d has no cache request", m.Procedure, m.Process)
	case !x.active:
		r.refuse(WrongState, "the cache request is not the active one of its group")
	case x.out >= OutputSets:
		r.refuse(NoRoom, "the output buffer set has not been returned")
	case c.blocked(m, r):
	default:
		call := x.call
		call.Buffers = bound(call.Buffers, inputs.Buffers)
		if c.run(m.Header, call, r); r.Status == OK {
			x.out++
			c.notify(DataChainingEvent, m.Header, Notice{Value: uint32(x.out)})
		}
	}
}

// manage does what is left of the cache-request family.
func (c *Controller) manage(m *Message, r *Reply) {
	k := key{m.Program, m.Process, m.Procedure}
	x := c.cache[k]
	switch {
	case !c.bare(m, r):
	case x == nil:
		r.refuse(NotFound, "procedure %d of process %d has no cache request", m.Procedure, m.Process)
	case m.ID == ProcedureCallInvalidateCacheRequest:
		delete(c.cache, k)
	case m.ID == ProcedureCallRecycleOutputBuffer && x.out == 0:
		r.refuse(WrongState, "no output buffer is out")
	case m.ID == ProcedureCallRecycleOutputBuffer:
		x.out--
	default:
		for other, y := range c.cache {
			if other.program == k.program && y.call.Group == x.call.Group {
				y.active = false
			}
		}
		x.active = true
	}
}
