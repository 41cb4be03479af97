package anesim

import "anesim/hw/clock"

// A request is a call in a task queue: it begins with its first run, so that several calls
// of a program can wait.
type request struct {
	machine *Machine
	program *resident
	call    *Call
}

// Run executes the call's next run of descriptors.
func (q *request) Run() (took clock.Nanoseconds, more bool) {
	r := q.program
	if q.call == nil {
		if q.call, r.err = r.loaded.Start(q.machine.ctx); r.err != nil {
			return 0, false
		}
	}
	took, more = q.call.Run()
	if !more {
		r.calls++
		if res, err := q.call.Result(); err != nil {
			r.err = err
		} else {
			r.last, r.err = res, nil
		}
	}
	return took, more
}

// Abort drops what has not run.
func (q *request) Abort() {
	if q.call != nil {
		q.call.Abort()
	}
}
