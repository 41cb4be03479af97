package command

import (
	"encoding/binary"
	"fmt"
)

// An ID identifies a command of the engine's firmware.
type ID uint32

// NoCommand is an ID that no command has. In a program or process number, it means none.
const NoCommand ID = 0xffffffff

// A Direction says who sends a command: the host, the controller, or either of them.
type Direction uint8

// Directions of commands.
const (
	Down Direction = iota // host to firmware
	Up                    // firmware to host, a notification
	Both
)

// String returns an arrow from the sender to the receiver, such as "H->FW" for commands that the
// host sends to the firmware.
func (d Direction) String() string {
	return [...]string{"H->FW", "FW->H", "FW<->H"}[min(d, Both)]
}

// A Body says whether a command has a body and whether the layout of that body is documented.
type Body uint8

// Origins of a body's layout.
const (
	BodyNone       Body = iota // nothing follows the header
	BodyDocumented             // laid out by the documents
	BodyOurs                   // laid out by this project; the documents name fields or limits (assumed)
	BodyUnknown                // passed on as bytes
)

// String returns the name of the value, such as "documented".
func (b Body) String() string {
	return [...]string{"none", "documented", "layout ours (assumed)", "unknown"}[min(b, BodyUnknown)]
}

// An Info describes a command: its name, direction and body.
type Info struct {
	Name      string
	Direction Direction
	Subsystem string
	Body      Body
}

// Commands is the number of commands, whose IDs are 0x00 to 0x5c.
const Commands = len(table)

// Info returns the description of the command, and whether there is a command with this ID.
func (id ID) Info() (info Info, ok bool) {
	if int64(id) >= int64(len(table)) {
		return Info{}, false
	}
	return table[id], true
}

// String returns the name of the command, or text such as "command 0x5d" if no command has this ID.
func (id ID) String() string {
	if info, ok := id.Info(); ok {
		return info.Name
	}
	if id == NoCommand {
		return "no command"
	}
	return fmt.Sprintf("command %#x", uint32(id))
}

// Parse returns the ID of the command with the given name, and whether there is one. If there is
// none, the ID is [NoCommand].
func Parse(name string) (ID, bool) {
	for i := range table {
		if table[i].Name == name {
			return ID(i), true
		}
	}
	return NoCommand, false
}

// HeaderBytes is the size of an encoded [Header].
const HeaderBytes = 24

// MaxBody is the largest size of a message's body in bytes. The value is assumed; a call with all
// lists full needs much less.
const MaxBody = 64 << 10

// A Header is the start of every message: six little-endian words.
type Header struct {
	ID        ID
	Size      uint32 // size of the body in bytes
	Priority  uint32 // 0 to 7; 0 and 1 are the realtime band
	Program   int32  // slot of a loaded program, -1 for none
	Process   int32  // instance of a program, -1 for none
	Procedure uint32 // index in the program's procedures
}

// Realtime reports whether the priority of the message is 0 or 1, which are reserved for
// privileged realtime programs.
func (h *Header) Realtime() bool { return h.Priority < 2 }

// A FormatError reports a malformed message and the byte offset of the mistake.
type FormatError struct {
	Off  int // byte in the message
	What string
}

func (e *FormatError) Error() string { return fmt.Sprintf("message byte %#x: %s", e.Off, e.What) }

// A Message is a command, an answer or a notification: a header and a body.
type Message struct {
	Header
	Body []byte
}

// Append appends the encoded message to dst, padded to a multiple of four bytes, and returns the
// extended slice. The size in the encoded header is always len(m.Body), even if m.Size differs.
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

// parseHeader decodes the header at the start of b without checking it.
func parseHeader(b []byte) Header {
	le := binary.LittleEndian
	return Header{
		ID: ID(le.Uint32(b)), Size: le.Uint32(b[4:]), Priority: le.Uint32(b[8:]),
		Program: int32(le.Uint32(b[12:])), Process: int32(le.Uint32(b[16:])), Procedure: le.Uint32(b[20:]),
	}
}

// Read decodes the message at the start of b. It also returns rest, the bytes after the message and
// its padding. The message's body shares memory with b. Read returns a *[FormatError] if the
// message is malformed.
func Read(b []byte) (m Message, rest []byte, err error) {
	if len(b) < HeaderBytes {
		return m, nil, &FormatError{len(b), fmt.Sprintf("message has %d bytes; want at least %d for the header", len(b), HeaderBytes)}
	}
	m.Header = parseHeader(b)
	if _, ok := m.ID.Info(); !ok {
		return m, nil, &FormatError{0, fmt.Sprintf("unknown command %#x", uint32(m.ID))}
	}
	if m.Priority > 7 {
		return m, nil, &FormatError{8, fmt.Sprintf("priority %d is out of range; want 0 to 7", m.Priority)}
	}
	if m.Program < -1 || m.Process < -1 {
		return m, nil, &FormatError{12, fmt.Sprintf("invalid program %d or process %d; want at least -1 for both", m.Program, m.Process)}
	}
	b = b[HeaderBytes:]
	if most := min(MaxBody, len(b)); uint64(m.Size) > uint64(most) {
		return m, nil, &FormatError{4, fmt.Sprintf("body size is %d bytes; want at most %d", m.Size, most)}
	}
	m.Body, b = b[:m.Size], b[m.Size:]
	for pad := 0; pad < int(-m.Size&3) && len(b) > 0; pad++ {
		if b[0] != 0 {
			return m, nil, &FormatError{HeaderBytes + int(m.Size) + pad, fmt.Sprintf("padding byte is %#x; want 0", b[0])}
		}
		b = b[1:]
	}
	return m, b, nil
}
