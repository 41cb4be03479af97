package command

// A cacheKey identifies a cache request. There is one for each procedure of a process.
type cacheKey struct {
	program, process int32
	procedure        uint32
}

// A cacheRequest is a call that the host has prepared and triggers later, each time with
// new inputs. While the host has its output buffer, it cannot be triggered again.
type cacheRequest struct {
	call   Call
	active bool // whether it is the request of its group that triggers may run
	out    int  // outputs that the host has not returned
}

// storeCacheRequest stores the call in message m as the cache request of its procedure, so that the
// host can trigger it later. If no other request of its group is active, the new request becomes
// active.
func (c *Controller) storeCacheRequest(m *Message, r *Reply) {
	p := c.findProgram(m, r)
	if p == nil {
		return
	}
	call, err := ReadCall(m.ID, m.Body)
	if err == nil {
		err = checkAllowedLists(m.ID, &call)
	}
	k := cacheKey{m.Program, m.Process, m.Procedure}
	bindings, running := p.processes[m.Process]
	switch {
	case err != nil:
		r.refuseForError(err)
	case c.disabled:
		r.refuseWithStatus(WrongState, "cache requests are disabled")
	case !running:
		r.refuseWithStatus(NotFound, "program %d has no process %d", m.Program, m.Process)
	case m.Procedure >= p.Procedures:
		r.refuseWithStatus(NotFound, "procedure %d of program %d is out of range; want less than %d", m.Procedure, m.Program, p.Procedures)
	case c.cache[k] != nil:
		r.refuseWithStatus(WrongState, "procedure %d of process %d already has a cache request", m.Procedure, m.Process)
	default:
		call.Buffers = mergeBuffers(bindings.Buffers, call.Buffers)
		c.cache[k] = &cacheRequest{call: call, active: c.isGroupInactive(m.Program, call.Group)}
	}
}

// isGroupInactive reports whether no cache request of the program in the given group is active.
func (c *Controller) isGroupInactive(program int32, group uint32) bool {
	for k, x := range c.cache {
		if k.program == program && x.call.Group == group && x.active {
			return false
		}
	}
	return true
}

// triggerCacheRequest runs the cache request of a procedure with the input buffers in message m. It
// refuses the message if the request is not active, or if the host has not yet returned the
// previous output buffers.
func (c *Controller) triggerCacheRequest(m *Message, r *Reply) {
	if _, _, ok := c.findProcess(m, r); !ok {
		return
	}
	inputs, err := ReadCall(m.ID, m.Body)
	if err == nil {
		err = checkAllowedLists(m.ID, &inputs)
	}
	x := c.cache[cacheKey{m.Program, m.Process, m.Procedure}]
	// What is wrong with the message itself comes before the state of the request, and secure mode, which
	// refuses all calls alike, last.
	switch {
	case err != nil:
		r.refuseForError(err)
	case x == nil:
		r.refuseWithStatus(NotFound, "procedure %d of process %d has no cache request", m.Procedure, m.Process)
	case !x.active:
		r.refuseWithStatus(WrongState, "cache request for procedure %d is not active; send %v first", m.Procedure, SetActiveCacheRequestInGroup)
	case x.out >= OutputSets:
		r.refuseWithStatus(NoRoom, "all output buffer sets of the cache request are in use; recycle one first")
	case c.refuseIfBlocked(m, r):
	default:
		call := x.call
		call.Buffers = mergeBuffers(call.Buffers, inputs.Buffers)
		if c.runCall(m.Header, call, r); r.Status == OK {
			x.out++
			c.notifyHost(DataChainingEvent, m.Header, Notice{Value: uint32(x.out)})
		}
	}
}

// manageCacheRequest performs one of three commands on the cache request of a procedure: it removes
// the request, makes it the only active one of its group, or accepts an output buffer set that the
// host returns.
func (c *Controller) manageCacheRequest(m *Message, r *Reply) {
	k := cacheKey{m.Program, m.Process, m.Procedure}
	x := c.cache[k]
	switch {
	case !c.requireNoBody(m, r):
	case x == nil:
		r.refuseWithStatus(NotFound, "procedure %d of process %d has no cache request", m.Procedure, m.Process)
	case m.ID == ProcedureCallInvalidateCacheRequest:
		delete(c.cache, k)
	case m.ID == ProcedureCallRecycleOutputBuffer && x.out == 0:
		r.refuseWithStatus(WrongState, "no output buffer set is in use, so none can be recycled")
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
