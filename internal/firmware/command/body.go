package command

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The layout of the bodies below is this project's own (assumed); the documents only name
// the fields. Words are little-endian, and lists follow their counts.

// A Buffer binds a port of a program to device memory for one call.
type Buffer struct {
	Port    uint32 // index of the port
	Address uint64 // device address
}

// A Bar gives a field of a program's descriptors a device address, a data-set identifier or an offset
// in a buffer for one call. The documents call it a custom bar.
type Bar struct {
	Number uint32
	Value  uint64
}

// A LiveIn sets a run-time parameter of a program, such as a size of an input, for one call.
type LiveIn struct {
	Name  string // at most MaxLiveInName bytes
	Value uint64
}

// MaxLiveInName is the largest size of the name of a live-in in bytes.
const MaxLiveInName = 64

// An Event pairs the number of an event with a value. A call waits until the event has at least
// this value, or raises the event to it.
type Event struct {
	ID    uint32
	Value uint64
}

// A Program is the body of the command LoadProgram. It says where the program is in memory and how
// many procedures and run-time parameters its calls may use.
type Program struct {
	Address    uint64 // address of the firmware container
	Bytes      uint32
	Procedures uint32 // number of procedures that calls may use, 0 for all
	Bars       uint32 // maximum number of custom bars in its calls
}

// A Call is the body of a command that calls a procedure or installs a cache request, which is a
// call for a later command to trigger. Lists that a command does not use are empty.
type Call struct {
	OutputSets, Partitions, Requests uint32 // always 1 each
	Buffers                          []Buffer
	Bars                             []Bar
	LiveIns                          []LiveIn
	Wait, Signal                     []Event
	Shared                           []Event // active shared events
	Order                            []uint32
	Group                            uint32 // group of a cache request
}

// Append appends the encoded body to dst and returns the extended slice.
func (p *Program) Append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint64(dst, p.Address)
	for _, w := range [...]uint32{p.Bytes, p.Procedures, p.Bars} {
		dst = le.AppendUint32(dst, w)
	}
	return dst
}

// ReadProgram decodes b, the body of the command LoadProgram. It returns a *[FormatError] if the
// body is malformed, or a *[LimitError] if it allows more than [MaxProgramBars] custom bars. The
// argument id is used only in error messages.
func ReadProgram(id ID, b []byte) (p Program, err error) {
	r := reader{b: b, all: len(b)}
	p = Program{Address: r.readUint64(), Bytes: r.readUint32(), Procedures: r.readUint32(), Bars: r.readUint32()}
	if err := r.finishBody(); err != nil {
		return p, err
	}
	return p, checkLimit(id, "custom BARs", int(min(p.Bars, 1<<30)), MaxProgramBars)
}

// Append appends the encoded body to dst and returns the extended slice.
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
		dst = le.AppendUint64(le.AppendUint32(dst, x.Number), x.Value)
	}
	dst = le.AppendUint32(dst, uint32(len(c.LiveIns)))
	for _, x := range c.LiveIns {
		dst = x.Append(dst)
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

// LiveInBytes is the size of an encoded live-in: the name, filled with zeros, and the value.
const LiveInBytes = MaxLiveInName + 8

// Append appends the encoded live-in to dst and returns the extended slice. A longer name is cut.
func (x *LiveIn) Append(dst []byte) []byte {
	var name [MaxLiveInName]byte
	copy(name[:], x.Name)
	return binary.LittleEndian.AppendUint64(append(dst, name[:]...), x.Value)
}

// ReadLiveIn decodes the live-in at the start of b. It panics if b has fewer than LiveInBytes bytes.
func ReadLiveIn(b []byte) LiveIn {
	name, _, _ := bytes.Cut(b[:MaxLiveInName], []byte{0})
	return LiveIn{string(name), binary.LittleEndian.Uint64(b[MaxLiveInName:])}
}

// ReadCall decodes b, the body of a command that calls a procedure or installs a cache request. It
// returns a *[FormatError] if the body is malformed, or a *[LimitError] if a list is too long, or a
// number wrong, for the command with the given id.
func ReadCall(id ID, b []byte) (c Call, err error) {
	r := reader{b: b, all: len(b)}
	c.OutputSets, c.Partitions, c.Requests, c.Group = r.readUint32(), r.readUint32(), r.readUint32(), r.readUint32()
	const pair = 12
	c.Buffers = make([]Buffer, r.readCount(pair))
	for i := range c.Buffers {
		c.Buffers[i] = Buffer{r.readUint32(), r.readUint64()}
	}
	c.Bars = make([]Bar, r.readCount(pair))
	for i := range c.Bars {
		c.Bars[i] = Bar{r.readUint32(), r.readUint64()}
	}
	c.LiveIns = make([]LiveIn, r.readCount(LiveInBytes))
	for i := range c.LiveIns {
		c.LiveIns[i] = ReadLiveIn(r.takeBytes(LiveInBytes))
	}
	for _, list := range [...]*[]Event{&c.Wait, &c.Signal, &c.Shared} {
		*list = make([]Event, r.readCount(pair))
		for i := range *list {
			(*list)[i] = Event{r.readUint32(), r.readUint64()}
		}
	}
	c.Order = make([]uint32, r.readCount(4))
	for i := range c.Order {
		c.Order[i] = r.readUint32()
	}
	if err := r.finishBody(); err != nil {
		return Call{}, err
	}
	return c, c.checkListLengths(id)
}

// checkListLengths returns a *[LimitError] if a list in the body has more elements than the command
// id allows.
func (c *Call) checkListLengths(id ID) error {
	inputs := len(c.Buffers)
	if id != ProcedureCallTriggerCacheRequest {
		inputs = 0 // the limit applies to triggers only
	}
	for _, err := range [...]error{
		requireOne(id, "output buffer sets", c.OutputSets),
		requireOne(id, "task-descriptor partitions", c.Partitions),
		requireOne(id, "engine requests in a list", c.Requests),
		checkLimit(id, "custom BARs", len(c.Bars), MaxWireBars),
		checkLimit(id, "live-ins", len(c.LiveIns), MaxLiveIns),
		checkLimit(id, "signal events", len(c.Signal), MaxSignalEvents),
		checkLimit(id, "active shared events", len(c.Shared), MaxSharedEvents),
		checkLimit(id, "execute-order entries", len(c.Order), MaxExecuteOrder),
		checkLimit(id, "trigger input buffers", inputs, MaxTriggerInputs),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// A reader reads words and lists from the body of a message and keeps the first error.
type reader struct {
	b    []byte
	all  int
	fail error
}

func (r *reader) takeBytes(n int) []byte {
	if r.fail == nil && len(r.b) < n {
		r.fail = &FormatError{HeaderBytes + r.all - len(r.b), fmt.Sprintf("body is too short: %d bytes left; want at least %d", len(r.b), n)}
	}
	if r.fail != nil {
		return make([]byte, n)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) readUint32() uint32 { return binary.LittleEndian.Uint32(r.takeBytes(4)) }
func (r *reader) readUint64() uint64 { return binary.LittleEndian.Uint64(r.takeBytes(8)) }

// readCount reads the number of entries in a list, each of which has the given size in bytes. If
// the rest of the body is shorter than the list, it records an error and returns 0.
func (r *reader) readCount(size int) int {
	n := r.readUint32()
	if r.fail == nil && uint64(n)*uint64(size) > uint64(len(r.b)) {
		r.fail = &FormatError{HeaderBytes + r.all - len(r.b) - 4, fmt.Sprintf("list needs %d bytes, but the body has only %d left", uint64(n)*uint64(size), len(r.b))}
	}
	if r.fail != nil {
		return 0
	}
	return int(n)
}

// finishBody returns the first error of the reader, or an error if bytes follow the body.
func (r *reader) finishBody() error {
	if r.fail == nil && len(r.b) > 0 {
		r.fail = &FormatError{HeaderBytes + r.all - len(r.b), fmt.Sprintf("body has %d extra bytes at the end", len(r.b))}
	}
	return r.fail
}

// Resources is the body of the answer to ResourceInfoGet, without Statistics. The layout is this
// project's own, because the documents only name the command's purpose.
type Resources struct {
	Tiles, Queues uint32 // tiles that are enabled; task queues
	Memory, Free  uint64 // bytes of device memory
	Statistics    uint64 // bytes of the statistics of a call, the answer to StatsBufferSizeGet
}

// append appends the encoded body to dst and returns the extended slice.
func (r *Resources) append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(le.AppendUint32(dst, r.Tiles), r.Queues)
	return le.AppendUint64(le.AppendUint64(dst, r.Memory), r.Free)
}

// ReadResources decodes b, the body of the answer to ResourceInfoGet. It returns a *[FormatError] if
// the body is malformed.
func ReadResources(b []byte) (x Resources, err error) {
	r := reader{b: b, all: len(b)}
	x = Resources{Tiles: r.readUint32(), Queues: r.readUint32(), Memory: r.readUint64(), Free: r.readUint64()}
	return x, r.finishBody()
}

// A Notice is the body of a notification, a message that the controller sends without being asked.
// The layout is this project's own, because none is documented.
type Notice struct {
	Status Status
	Value  uint32
}

// append appends the encoded body to dst and returns the extended slice.
func (n *Notice) append(dst []byte) []byte {
	le := binary.LittleEndian
	return le.AppendUint32(le.AppendUint32(dst, uint32(n.Status)), n.Value)
}

// ReadNotice decodes the body of a notification. It returns a *[FormatError] if the body is
// malformed.
func ReadNotice(b []byte) (n Notice, err error) {
	r := reader{b: b, all: len(b)}
	n = Notice{Status(r.readUint32()), r.readUint32()}
	return n, r.finishBody()
}

// An AFPP is the body of the command LoadAFPP, which installs a prefetch program: the program's
// address and size. The layout is this project's own, because none is documented.
type AFPP struct {
	Address uint64
	Bytes   uint32
}

// Append appends the encoded body to dst and returns the extended slice.
func (a *AFPP) Append(dst []byte) []byte {
	le := binary.LittleEndian
	return le.AppendUint32(le.AppendUint64(le.AppendUint32(dst, AFPPMagic), a.Address), a.Bytes)
}

// readAFPP decodes the body b of the command LoadAFPP. It returns a *[FormatError] if the
// body is malformed.
func readAFPP(b []byte) (a AFPP, err error) {
	r := reader{b: b, all: len(b)}
	magic := r.readUint32()
	a = AFPP{r.readUint64(), r.readUint32()}
	if err := r.finishBody(); err != nil {
		return AFPP{}, err
	}
	if magic != AFPPMagic {
		return AFPP{}, &FormatError{HeaderBytes, fmt.Sprintf("invalid magic number %#x in prefetch program; want %#x", magic, AFPPMagic)}
	}
	return a, nil
}

// A Property is the body of the commands CHPropertyWrite and CHPropertyRead. Only CHPropertyWrite
// sends the Value. The layout is this project's own, because none is documented.
type Property struct {
	Number uint32
	Value  uint64
}

// Append appends the encoded body to dst and returns the extended slice.
func (p *Property) Append(dst []byte) []byte {
	le := binary.LittleEndian
	return le.AppendUint64(le.AppendUint32(dst, p.Number), p.Value)
}

// readProperty decodes b, the body of the command with the given id: CHPropertyWrite or
// CHPropertyRead. It returns a *[FormatError] if the body is malformed.
func readProperty(id ID, b []byte) (p Property, err error) {
	r := reader{b: b, all: len(b)}
	p.Number = r.readUint32()
	if id == CHPropertyWrite {
		p.Value = r.readUint64()
	}
	return p, r.finishBody()
}
