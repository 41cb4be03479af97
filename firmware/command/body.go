package command

import (
	"encoding/binary"
	"fmt"
)

// The bodies below are this project's layout (assumed) of what the documents name: little-
// endian words, lists behind their counts.

// A Buffer binds memory to a port of a program.
type Buffer struct {
	Port    uint32 // index of the port
	Address uint64 // device address
}

// A Bar is a custom buffer-access value of a call: what a relocation of the program takes.
type Bar struct {
	Parameter uint32
	Value     uint64
}

// An Event is waited for, or signalled, at a value.
type Event struct {
	ID    uint32
	Value uint64
}

// A Program is the body of LoadProgram.
type Program struct {
	Address    uint64 // of the firmware container
	Bytes      uint32
	Procedures uint32 // that calls may name, 0 for all
	Bars       uint32 // custom bars that its calls may give
}

// A Call is the body of the calls and of the cache requests. Lists that a command's name
// does not announce are empty.
type Call struct {
	OutputSets, Partitions, Requests uint32 // one each
	Buffers                          []Buffer
	Bars                             []Bar
	Wait, Signal                     []Event
	Shared                           []Event // active shared events
	Order                            []uint32
	Group                            uint32 // of a cache request
}

// Append encodes the program after dst.
func (p *Program) Append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, p.Address)
	for _, w := range [...]uint32{p.Bytes, p.Procedures, p.Bars} {
		dst = le.AppendUint32(dst, w)
	}
	return dst
}

// ReadProgram decodes the body of LoadProgram. Errors are a *FormatError or a *LimitError.
func ReadProgram(id ID, b []byte) (p Program, err error) {
	r := reader{b: b, all: len(b)}
	p = Program{Address: r.u64(), Bytes: r.u32(), Procedures: r.u32(), Bars: r.u32()}
	if err := r.end(); err != nil {
		return p, err
	}
	return p, within(id, "custom bars", int(min(p.Bars, 1<<30)), MaxProgramBars)
}

// Append encodes the call after dst.
func (c *Call) Append(dst []byte) []byte {
	le := binary.LittleEndian
	for _, w := range [...]uint32{c.OutputSets, c.Partitions, c.Requests, c.Group} {
		dst = le.AppendUint32(dst, w)
	}
	dst = le.AppendUint32(dst, uint32(len(c.Buffers)))
	for _, x := range c.Buffers {
		dst = le.AppendUint64(le.AppendUint32(dst, x.Port), x.Address)
	}
	dst = le.AppendUint32(dst, uint32(len(c.Bars)))
	for _, x := range c.Bars {
		dst = le.AppendUint64(le.AppendUint32(dst, x.Parameter), x.Value)
	}
	for _, list := range [...][]Event{c.Wait, c.Signal, c.Shared} {
		dst = le.AppendUint32(dst, uint32(len(list)))
		for _, x := range list {
			dst = le.AppendUint64(le.AppendUint32(dst, x.ID), x.Value)
		}
	}
	dst = le.AppendUint32(dst, uint32(len(c.Order)))
	for _, x := range c.Order {
		dst = le.AppendUint32(dst, x)
	}
	return dst
}

// ReadCall decodes the body of a call or of a cache request and holds it to the documented
// limits. Errors are a *FormatError or a *LimitError.
func ReadCall(id ID, b []byte) (c Call, err error) {
	r := reader{b: b, all: len(b)}
	c.OutputSets, c.Partitions, c.Requests, c.Group = r.u32(), r.u32(), r.u32(), r.u32()
	const pair = 12
	c.Buffers = make([]Buffer, r.count(pair))
	for i := range c.Buffers {
		c.Buffers[i] = Buffer{r.u32(), r.u64()}
	}
	c.Bars = make([]Bar, r.count(pair))
	for i := range c.Bars {
		c.Bars[i] = Bar{r.u32(), r.u64()}
	}
	for _, list := range [...]*[]Event{&c.Wait, &c.Signal, &c.Shared} {
		*list = make([]Event, r.count(pair))
		for i := range *list {
			(*list)[i] = Event{r.u32(), r.u64()}
		}
	}
	c.Order = make([]uint32, r.count(4))
	for i := range c.Order {
		c.Order[i] = r.u32()
	}
	if err := r.end(); err != nil {
		return Call{}, err
	}
	return c, c.check(id)
}

// check holds a call to the documented limits.
func (c *Call) check(id ID) error {
	inputs := len(c.Buffers)
	if id != ProcedureCallTriggerCacheRequest {
		inputs = 0 // the limit is that of a trigger
	}
	for _, err := range [...]error{
		one(id, "output buffer sets", c.OutputSets),
		one(id, "task-descriptor partitions", c.Partitions),
		one(id, "engine requests in a list", c.Requests),
		within(id, "custom bars", len(c.Bars), MaxWireBars),
		within(id, "signal events", len(c.Signal), MaxSignalEvents),
		within(id, "active shared events", len(c.Shared), MaxSharedEvents),
		within(id, "execute-order entries", len(c.Order), MaxExecuteOrder),
		within(id, "trigger input buffers", inputs, MaxTriggerInputs),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// reader takes words off a body and remembers the first that is missing.
type reader struct {
	b    []byte
	all  int
	fail error
}

func (r *reader) take(n int) []byte {
	if r.fail == nil && len(r.b) < n {
		r.fail = &FormatError{HeaderBytes + r.all - len(r.b), fmt.Sprintf("%d bytes are left of the body, %d are wanted", len(r.b), n)}
	}
	if r.fail != nil {
		return make([]byte, n)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// count is the length of a list whose entries have a size: no more than the body holds.
func (r *reader) count(size int) int {
	n := r.u32()
	if r.fail == nil && uint64(n)*uint64(size) > uint64(len(r.b)) {
		r.fail = &FormatError{HeaderBytes + r.all - len(r.b) - 4, fmt.Sprintf("a list of %d entries of %d bytes, %d bytes follow", n, size, len(r.b))}
	}
	if r.fail != nil {
		return 0
	}
	return int(n)
}

func (r *reader) end() error {
	if r.fail == nil && len(r.b) > 0 {
		r.fail = &FormatError{HeaderBytes + r.all - len(r.b), fmt.Sprintf("%d bytes follow the body", len(r.b))}
	}
	return r.fail
}

// A Notice is the body of the controller's own messages (ours): an error's status, the
// state of secure mode, the outputs that a chain has out.
type Notice struct {
	Status Status
	Value  uint32
}

// Append encodes the notice after dst.
func (n *Notice) Append(dst []byte) []byte {
	le := binary.LittleEndian
	return le.AppendUint32(le.AppendUint32(dst, uint32(n.Status)), n.Value)
}

// ReadNotice decodes the body of a notification.
func ReadNotice(b []byte) (n Notice, err error) {
	r := reader{b: b, all: len(b)}
	n = Notice{Status(r.u32()), r.u32()}
	return n, r.end()
}

// An AFPP is the body of LoadAFPP (ours): the magic, then the address and size of the
// prefetch program.
type AFPP struct {
	Address uint64
	Bytes   uint32
}

// Append encodes the body after dst.
func (a *AFPP) Append(dst []byte) []byte {
	le := binary.LittleEndian
	return le.AppendUint32(le.AppendUint64(le.AppendUint32(dst, AFPPMagic), a.Address), a.Bytes)
}

// ReadAFPP decodes the body of LoadAFPP. Errors are a *FormatError.
func ReadAFPP(b []byte) (a AFPP, err error) {
	r := reader{b: b, all: len(b)}
	magic := r.u32()
	a = AFPP{r.u64(), r.u32()}
	if err := r.end(); err != nil {
		return AFPP{}, err
	}
	if magic != AFPPMagic {
		return AFPP{}, &FormatError{HeaderBytes, fmt.Sprintf("AFPP magic %#x, want %#x", magic, AFPPMagic)}
	}
	return a, nil
}

// A Property is the body of CHPropertyWrite; CHPropertyRead has its number alone, and is
// answered with the value (ours).
type Property struct {
	Number uint32
	Value  uint64
}

// Append encodes the body after dst.
func (p *Property) Append(dst []byte) []byte {
	le := binary.LittleEndian
	return le.AppendUint64(le.AppendUint32(dst, p.Number), p.Value)
}

// ReadProperty decodes the body of CHPropertyWrite or CHPropertyRead. Errors are a
// *FormatError.
func ReadProperty(id ID, b []byte) (p Property, err error) {
	r := reader{b: b, all: len(b)}
	p.Number = r.u32()
	if id == CHPropertyWrite {
		p.Value = r.u64()
	}
	return p, r.end()
}
