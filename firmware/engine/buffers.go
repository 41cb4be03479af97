package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"anesim/loader"
)

// ErrWaiting is returned for a call that cannot run yet, because it shares a buffer with an earlier
// call that has not ended and at least one of the two writes the buffer.
var ErrWaiting = errors.New("call must wait for an earlier call that shares a buffer")

// A BufferError reports a port that cannot be bound to a buffer, and why.
type BufferError struct {
	Port    string
	Address uint64
	What    string
}

func (e *BufferError) Error() string {
	if e.Address == 0 {
		return fmt.Sprintf("port %s: %s", e.Port, e.What)
	}
	return fmt.Sprintf("port %s at %#x: %s", e.Port, e.Address, e.What)
}

// A portKey identifies a port of a program by name and direction.
type portKey struct {
	name      string
	direction loader.Direction
}

// Buffer returns the device address of a port's values and their size in bytes, which includes gaps
// between the values. It returns a *[BufferError] if the program has no such port.
func (l *Loaded) Buffer(port string, d loader.Direction) (address, size uint64, err error) {
	if l.session == nil {
		return 0, 0, ErrUnloaded
	}
	p, ok := l.program.Port(port, d)
	if !ok {
		return 0, 0, &BufferError{port, 0, fmt.Sprintf("program has no such %v", d)}
	}
	return p.Address, portSpanBytes(p), nil
}

// BindBuffer makes a port use the buffer at the given device address, starting with the
// next call. The buffer must come from [Session.Reserve] or belong to a port of another
// program in the session. Address 0 means the port's own buffer. If two programs share
// a buffer, values pass from one to the other without being copied, and their calls wait
// for each other; see [Loaded.Start].
//
// BindBuffer returns a *[BufferError] if the buffer does not fit the port, [ErrOutstanding]
// if a call of the program is in progress, or an error of linking the program with the new
// address.
func (l *Loaded) BindBuffer(port string, d loader.Direction, address uint64) error {
	switch {
	case l.session == nil:
		return ErrUnloaded
	case l.current != nil:
		return ErrOutstanding
	}
	bad := func(format string, args ...any) error {
		return &BufferError{port, address, fmt.Sprintf(format, args...)}
	}
	p, ok := l.program.Port(port, d)
	if !ok {
		return bad("program has no such %v", d)
	}
	for _, a := range l.state {
		if a.Output == port && d == loader.Output || a.Input == port && d == loader.Input {
			return bad("port already belongs to state %s=%s", a.Output, a.Input)
		}
	}
	if p.BAR < 0 || l.program.BARs[p.BAR] != p.Address {
		return bad("no base address register (BAR) points to the port")
	}
	for i := range l.program.Ports {
		if q := &l.program.Ports[i]; q != p && q.BAR == p.BAR {
			return bad("ports %q and %q share a base address register (BAR)", p.Name, q.Name)
		}
	}
	return l.movePortToBuffer(p, address, bad)
}

// movePortToBuffer makes port p use the buffer at address, or the port's own buffer if address is
// 0. If that fails, the port keeps its buffer, and movePortToBuffer returns an error made by bad.
func (l *Loaded) movePortToBuffer(p *loader.Port, address uint64, bad func(string, ...any) error) error {
	port, d := p.Name, p.Direction
	key := portKey{port, d}
	home, moved := l.home[key]
	if !moved {
		home = p.Address
	}
	if address == 0 {
		address = home
	}
	var s loader.Segment
	if address != home {
		var ok bool
		if s, ok = l.session.findBuffer(address); !ok {
			return bad("session has no buffer at this address")
		}
		if n := portSpanBytes(p); address+n > s.End() {
			return bad("port needs %d bytes, but buffer %q has only %d left at this address", n, s.Name, s.End()-address)
		}
	}
	// The move may turn out wrong only when the program is linked, so what it changes is kept.
	before, linked, lent := *l.program, l.linked, l.lent
	l.program.Ports = slices.Clone(l.program.Ports)
	l.program.BARs[p.BAR] = address
	q, _ := l.program.Port(port, d)
	q.Address = address
	l.lent = maps.Clone(l.lent)
	if delete(l.lent, key); address != home {
		if l.lent == nil {
			l.lent = make(map[portKey]loader.Segment)
		}
		l.lent[key] = s
	}
	l.program.Segments = l.listSegments()
	l.linked = make(map[bindings]*loader.Linked)
	if err := l.checkPortsFit(); err != nil {
		*l.program, l.linked, l.lent = before, linked, lent
		return err
	}
	if l.home == nil {
		l.home = make(map[portKey]uint64)
	}
	l.home[key] = home
	// Values set for the old buffer would overwrite what another program wrote to the new one.
	delete(l.inputs, port)
	return nil
}

// Connect makes the given input of l use the buffer of the given output of another program, from,
// so that values are not copied. Both programs must be in the same session, and both ports must
// have the same shape and strides. Connect returns the same errors as [Loaded.BindBuffer].
func (l *Loaded) Connect(input string, from *Loaded, output string) error {
	address, _, err := from.Buffer(output, loader.Output)
	if err != nil {
		return err
	}
	out, _ := from.program.Port(output, loader.Output)
	switch in, ok := l.program.Port(input, loader.Input); {
	case l.session != from.session:
		return &BufferError{input, address, "programs belong to different sessions"}
	case !ok: // BindBuffer returns the error
	case in.Shape != out.Shape:
		return &BufferError{input, address, fmt.Sprintf("input shape %v does not match output shape %v", in.Shape, out.Shape)}
	case in.Strides != out.Strides:
		return &BufferError{input, address, fmt.Sprintf("input strides %v do not match output strides %v", in.Strides, out.Strides)}
	}
	for _, a := range from.state {
		if a.Output == output {
			return &BufferError{input, address, fmt.Sprintf("output %q belongs to state %s=%s, so its buffer changes after each call", output, a.Output, a.Input)}
		}
	}
	return l.BindBuffer(input, loader.Input, address)
}

// findBuffer returns the memory that contains a device address: a buffer of Reserve or a
// segment of a loaded program.
func (s *Session) findBuffer(address uint64) (loader.Segment, bool) {
	const prot = loader.ProtRead | loader.ProtWrite
	for _, r := range s.reserved {
		if r.lo <= address && address < r.hi {
			return loader.Segment{Name: "buffer", Addr: r.lo, Size: r.hi - r.lo, Prot: prot}, true
		}
	}
	for _, l := range s.loaded {
		for i := range l.own {
			if x := l.own[i]; x.Addr <= address && address < x.End() {
				x.Prot |= prot
				return x, true
			}
		}
	}
	return loader.Segment{}, false
}

// listSegments returns the segments of the program, and the buffers to which its ports are bound,
// without duplicates.
func (l *Loaded) listSegments() []loader.Segment {
	list := slices.Clone(l.own)
	for _, key := range slices.SortedFunc(maps.Keys(l.lent), func(a, b portKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.direction, b.direction))
	}) {
		s := l.lent[key]
		if !slices.ContainsFunc(list, func(x loader.Segment) bool { return x.Addr == s.Addr }) {
			list = append(list, s)
		}
	}
	return list
}

// unbindPortsInRange moves ports that are bound to a range of memory back to their own buffers. It
// aborts the calls in progress of their programs.
func (s *Session) unbindPortsInRange(r addressRange) {
	for _, l := range s.loaded {
		for key, x := range l.lent {
			if x.Addr < r.hi && r.lo < x.End() {
				if l.current != nil {
					l.current.Abort()
				}
				l.BindBuffer(key.name, key.direction, 0) // its own has been linked before
			}
		}
	}
}

// A memoryUse is a range of bytes that a call reads or writes through a port.
type memoryUse struct {
	addressRange
	write bool
}

// listMemoryUses returns the ranges of memory that a call reads and writes through its ports. It
// counts ports with state as written, because calls with several dispatches swap the buffers of
// these ports.
func (l *Loaded) listMemoryUses() (list []memoryUse) {
	for i := range l.program.Ports {
		p := &l.program.Ports[i]
		list = append(list, memoryUse{addressRange{p.Address, p.Address + portSpanBytes(p)}, p.Direction == loader.Output || l.isStatePort(p)})
	}
	return list
}

// A hazard is an earlier call that another call must wait for.
type hazard struct {
	call  *Call
	reads bool // the waiting call reads what this one writes
}

// findHazards returns the calls in progress that a new call of l must wait for. These are the calls
// that access a byte that the new call accesses too, if one of the two writes it.
func (s *Session) findHazards(l *Loaded) (list []hazard) {
	uses := l.listMemoryUses()
	for _, other := range s.loaded {
		if other == l || other.current == nil {
			continue
		}
		h, waits := hazard{call: other.current}, false
		for _, x := range uses {
			for _, y := range h.call.uses {
				if (x.write || y.write) && x.lo < y.hi && y.lo < x.hi {
					waits = true
					h.reads = h.reads || y.write && !x.write
				}
			}
		}
		if waits {
			list = append(list, h)
		}
	}
	return list
}

// SharesBuffer reports whether calls of l and of o must wait for each other, because they are of one
// program or one of them writes what the other reads or writes.
func (l *Loaded) SharesBuffer(o *Loaded) bool {
	return l == o || haveConflict(l.listMemoryUses(), o.listMemoryUses())
}

func haveConflict(a, b []memoryUse) bool {
	for _, x := range a {
		for _, y := range b {
			if (x.write || y.write) && x.lo < y.hi && y.lo < x.hi {
				return true
			}
		}
	}
	return false
}

// Waiting reports whether the call must wait for an earlier, unfinished call that shares a buffer
// with it. Two calls may share a buffer without waiting if neither writes it. Task queues skip a
// call that waits.
func (c *Call) Waiting() bool {
	// Keep a failed call if this call reads what it should have written.
	c.after = slices.DeleteFunc(c.after, func(h hazard) bool { return h.call.ended && (h.call.err == nil || !h.reads) })
	return slices.ContainsFunc(c.after, func(h hazard) bool { return !h.call.ended })
}

// Saved counts the bytes that the calls of a session did not have to copy, because programs share
// buffers or keep state on the device.
type Saved struct {
	HostCopyBytes uint64 // bytes that the host would have copied from the device and back
	DRAMBytes     uint64 // bytes that these copies would have read and written in device memory
}

// Saved returns how many bytes of copying the session has avoided so far.
func (s *Session) Saved() Saved { return Saved{s.saved, 2 * s.saved} }

// countSavedBytes adds the number of bytes that a finished call did not have to copy to the
// session's total. In the first call, the host does copy the state.
func (l *Loaded) countSavedBytes() {
	for i := range l.program.Ports {
		p := &l.program.Ports[i]
		if l.staysOnDevice(p) && (l.calls > 1 || !l.isStatePort(p)) {
			l.session.saved += 2 * uint64(Elements(p))
		}
	}
}
