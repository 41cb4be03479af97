package command

import (
	"encoding/binary"
	"fmt"
)

// An ID is a command's number.
type ID uint32

// NoCommand is no command's number; as a program or a process it is none.
const NoCommand ID = 0xffffffff

// A Direction says who sends a command.
type Direction uint8

// The directions.
const (
	Down Direction = iota // host to firmware
	Up                    // firmware to host, a notification
	Both
)

// String is the direction as the documents write it.
func (d Direction) String() string {
	return [...]string{"H->FW", "FW->H", "FW<->H"}[min(d, Both)]
}

// A Body says where the layout of a command's body comes from.
type Body uint8

// The sources of bodies.
const (
	BodyNone       Body = iota // nothing follows the header
	BodyDocumented             // the documents lay it out
	BodyOurs                   // the documents name fields or limits, the layout is ours (assumed)
	BodyUnknown                // carried as bytes
)

// String names the source.
func (b Body) String() string {
	return [...]string{"none", "documented", "layout ours (assumed)", "unknown"}[min(b, BodyUnknown)]
}

// Info is what is known of a command.
type Info struct {
	Name      string
	Direction Direction
	Subsystem string
	Body      Body
}

// Commands is how many there are: numbers 0x00 to 0x5c.
const Commands = len(table)

// Info is what is known of the command; ok is false for a number that is none.
func (id ID) Info() (info Info, ok bool) {
	if int64(id) >= int64(len(table)) {
		return Info{}, false
	}
	return table[id], true
}

// String is the command's name, or its number where it has none.
func (id ID) String() string {
	if info, ok := id.Info(); ok {
		return info.Name
	}
	if id == NoCommand {
		return "no command"
	}
	return fmt.Sprintf("command %#x", uint32(id))
}

// Parse finds a command by its name.
func Parse(name string) (ID, bool) {
	for i := range table {
		if table[i].Name == name {
			return ID(i), true
		}
	}
	return NoCommand, false
}

// HeaderBytes is the size of the header.
const HeaderBytes = 24

// MaxBody is the longest body that is read: the documents give no bound, and the longest
// they imply, a call with every list full, is far below (assumed).
const MaxBody = 64 << 10

// A Header precedes every message of the ring: six little-endian words.
type Header struct {
	ID        ID
	Size      uint32 // bytes of the body
	Priority  uint32 // 0 to 7: 0 and 1 the realtime band
	Program   int32  // slot of a loaded program, -1 for none
	Process   int32  // instance of a program, -1 for none
	Procedure uint32 // index in the program's procedures
}

// Realtime reports whether the priority is in the privileged band.
func (h *Header) Realtime() bool { return h.Priority < 2 }

// A FormatError is a message that cannot be read.
type FormatError struct {
	Off  int // byte in the message
	What string
}

func (e *FormatError) Error() string { return fmt.Sprintf("message byte %#x: %s", e.Off, e.What) }

// A Message is a header with its body.
type Message struct {
	Header
	Body []byte
}

// Append encodes the message after dst, padded with zeros to whole words. The header's
// size is the body's.
func (m *Message) Append(dst []byte) []byte {
	le := binary.LittleEndian
	for _, w := range [...]uint32{
		uint32(m.ID), uint32(len(m.Body)), m.Priority, uint32(m.Program), uint32(m.Process), m.Procedure,
	} {
		dst = le.AppendUint32(dst, w)
	}
	dst = append(dst, m.Body...)
	return append(dst, make([]byte, -len(m.Body)&3)...)
}

// header is the six words at the start of b, whatever they say.
func header(b []byte) Header {
	le := binary.LittleEndian
	return Header{
		ID: ID(le.Uint32(b)), Size: le.Uint32(b[4:]), Priority: le.Uint32(b[8:]),
		Program: int32(le.Uint32(b[12:])), Process: int32(le.Uint32(b[16:])), Procedure: le.Uint32(b[20:]),
	}
}

// Read decodes the message at the start of b and returns what follows it, after the zero
// bytes that pad it to a multiple of four. The body is b's own memory. An error is a
// *FormatError.
func Read(b []byte) (m Message, rest []byte, err error) {
	if len(b) < HeaderBytes {
		return m, nil, &FormatError{len(b), fmt.Sprintf("%d bytes, a header has %d", len(b), HeaderBytes)}
	}
	m.Header = header(b)
	if _, ok := m.ID.Info(); !ok {
		return m, nil, &FormatError{0, fmt.Sprintf("%v is none of the %d", m.ID, Commands)}
	}
	if m.Priority > 7 {
		return m, nil, &FormatError{8, fmt.Sprintf("priority %d exceeds 7", m.Priority)}
	}
	if m.Program < -1 || m.Process < -1 {
		return m, nil, &FormatError{12, fmt.Sprintf("program %d, process %d: the least is -1, none", m.Program, m.Process)}
	}
	b = b[HeaderBytes:]
	if m.Size > MaxBody || uint64(m.Size) > uint64(len(b)) {
		return m, nil, &FormatError{4, fmt.Sprintf("a body of %d bytes, the message has %d and at most %d are read", m.Size, len(b), MaxBody)}
	}
	m.Body, b = b[:m.Size], b[m.Size:]
	for pad := 0; pad < int(-m.Size&3) && len(b) > 0; pad++ {
		if b[0] != 0 {
			return m, nil, &FormatError{HeaderBytes + int(m.Size) + pad, fmt.Sprintf("padding %#x is not zero", b[0])}
		}
		b = b[1:]
	}
	return m, b, nil
}
