package regs

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// Sizes of the version 7 stream (bytes).
const (
	HeaderWords   = 10
	HeaderBytes   = 4 * HeaderWords
	Alignment     = 0x100 // every descriptor of a chain starts at a multiple of it
	MaxWords      = 512   // NextSize has nine bits and holds the words minus one
	recordAddress = 1<<26 - 1
)

// A StreamError is a descriptor stream that cannot be decoded.
type StreamError struct {
	Index int    // descriptor in the chain
	Off   uint64 // byte offset in __text
	What  string // what is wrong, and what was expected
	Err   error  // the cause, or nil
}

// Unwrap returns the cause.
func (e *StreamError) Unwrap() error { return e.Err }

func (e *StreamError) Error() string {
	return fmt.Sprintf("descriptor %d at text offset %#x: %s", e.Index, e.Off, e.What)
}

// A Record is a run of register writes: one stream word (count-1)<<26 | address, then
// the values.
type Record struct {
	Addr   uint32
	Values []uint32
}

// A Descriptor is one decoded task descriptor.
type Descriptor struct {
	Index    int    // place in the chain
	Offset   uint32 // byte offset in __text
	Words    int    // size in words, header and records
	Header   Header
	Extended bool   // the extra word of W9&3 == 3 is there
	Extra    uint32 // the extra word
	Records  []Record
}

// Apply writes the descriptor's records to the register file.
func (d *Descriptor) Apply(f *File) error {
	for _, r := range d.Records {
		if err := f.Store(r.Addr, r.Values...); err != nil {
			return err
		}
	}
	return nil
}

// extended reports whether the extra word follows the header: seen on tasks whose
// kernel is a scratch surface (48 of 2,677).
func (h *Header) extended() bool { return h.KernelBases&3 == 3 }

// Decode reads the descriptor at text[off:]. words is its declared size; 0 reads
// records up to the first zero word, the only bound a bare first descriptor has. An
// error is a *StreamError.
func Decode(text []byte, index int, off uint32, words int) (*Descriptor, error) {
	var f frame
	if err := f.read(&window{buf: text}, index, off, words); err != nil {
		return nil, err
	}
	return f.decode(), nil
}

// Append encodes the descriptor after dst: the exact bytes Decode reads.
func (d *Descriptor) Append(dst []byte) []byte {
	le := binary.LittleEndian
	var h [HeaderWords]uint32
	d.Header.store(&h)
	for _, w := range h {
		dst = le.AppendUint32(dst, w)
	}
	if d.Extended {
		dst = le.AppendUint32(dst, d.Extra)
	}
	for _, r := range d.Records {
		dst = le.AppendUint32(dst, uint32(len(r.Values)-1)<<26|r.Addr)
		for _, v := range r.Values {
			dst = le.AppendUint32(dst, v)
		}
	}
	return dst
}

// Chain walks the linked list of descriptors from the start of text by NextPointer.
// firstWords is the first descriptor's size, 0 when no container states it; every other
// size stands in the descriptor before. The walk ends after the first error, a
// *StreamError naming the descriptor: one that loops back, is misaligned, points
// outside the text, is cut off, or overlaps another.
func Chain(text []byte, firstWords int) iter.Seq2[*Descriptor, error] {
	return (&Stream{Text: text, FirstWords: firstWords}).Descriptors()
}

// Descriptors is Chain of the stream's text, which nothing modifies.
func (s *Stream) Descriptors() iter.Seq2[*Descriptor, error] {
	return func(yield func(*Descriptor, error) bool) {
		for f, err := range s.frames() {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(f.decode(), nil) {
				return
			}
		}
	}
}

// EncodeChain writes descriptors at their offsets, zero between them: the text of a
// chain without what may follow it.
func EncodeChain(chain []*Descriptor) []byte {
	var text, body []byte
	if n := len(chain); n > 1 { // room for all at once: each is about as long as the one before
		text = make([]byte, 0, int(chain[n-1].Offset)/(n-1)*n)
	}
	for _, d := range chain {
		body = d.Append(body[:0])
		if n := int(d.Offset) + len(body); n > len(text) {
			text = append(text, make([]byte, n-len(text))...)
		}
		copy(text[d.Offset:], body)
	}
	return text
}
