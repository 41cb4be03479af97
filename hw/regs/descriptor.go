package regs

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
)

// Sizes of the version 7 stream (from the bytes of programs).
const (
	HeaderWords   = 10
	HeaderBytes   = 4 * HeaderWords
	Alignment     = 0x100 // every descriptor of a chain starts at a multiple of this
	MaxWords      = 512   // NextSize has nine bits and holds the number of words minus one
	recordAddress = 1<<26 - 1
)

// A StreamError reports a stream of descriptors that cannot be decoded, with the descriptor and its
// offset.
type StreamError struct {
	Index int    // of the descriptor in the chain
	Off   uint64 // byte offset in __text
	What  string // description of the error and the expected value
	Err   error  // the cause, or nil
}

// Unwrap returns the cause of the error, e.Err.
func (e *StreamError) Unwrap() error { return e.Err }

func (e *StreamError) Error() string {
	return fmt.Sprintf("descriptor %d at text offset %#x: %s", e.Index, e.Off, e.What)
}

// A Record writes consecutive registers. In the stream it is one word, (count-1)<<26 | address,
// followed by count values.
type Record struct {
	Addr   uint32
	Values []uint32
}

// A Descriptor is a decoded task descriptor: a header and the register writes that set up one task.
type Descriptor struct {
	Index    int    // index in the chain
	Offset   uint32 // byte offset in __text
	Words    int    // size in words, header and records
	Header   Header
	Extended bool   // an extra word follows the header, because the kernel is in the scratch buffer
	Extra    uint32 // the extra word
	Records  []Record
}

// Apply stores the values of the descriptor's records in the register file f. It returns an
// *AddressError if a record writes outside the register windows.
func (d *Descriptor) Apply(f *File) error {
	for _, r := range d.Records {
		if err := f.Store(r.Addr, r.Values...); err != nil {
			return err
		}
	}
	return nil
}

// IsExtended reports whether an extra word follows the header: for tasks whose kernel is in buffer
// [BARScratch] (48 of 2,677). That other buffers with both low bits set, such as 7, have no extra word is
// inferred: weights may be in any buffer behind those of the ports.
func (h *Header) IsExtended() bool { return h.KernelBases.KBase0() == BARScratch }

// Decode decodes the descriptor at text[off:], which has the given size in words. The argument
// index is used only in errors. If words is 0, as for the first descriptor of a program without a
// container, the descriptor ends at the first word that is zero where a record would begin. All
// errors are of type *[StreamError].
func Decode(text []byte, index int, off uint32, words int) (*Descriptor, error) {
	var f frame
	if err := f.readDescriptor(&window{buf: text}, index, off, words); err != nil {
		return nil, err
	}
	return f.toDescriptor(), nil
}

// Append appends the encoded descriptor, as [Decode] reads it, to dst and returns the extended
// slice.
func (d *Descriptor) Append(dst []byte) []byte {
	le := binary.LittleEndian
	words := HeaderWords + 1
	for _, r := range d.Records {
		words += 1 + len(r.Values)
	}
	dst = slices.Grow(dst, 4*words)
	var h [HeaderWords]uint32
	d.Header.storeWords(&h)
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

// Chain returns an iterator over the linked list of descriptors that starts at text[0]. The first
// descriptor has firstWords words, or an unknown number if firstWords is 0. Each descriptor's
// header gives the offset and the size of the next one. The iterator yields a *StreamError and
// stops if a descriptor is truncated, misaligned, outside the text, or overlaps an earlier one.
func Chain(text []byte, firstWords int) iter.Seq2[*Descriptor, error] {
	return (&Stream{Text: text, FirstWords: firstWords}).Descriptors()
}

// Descriptors returns an iterator over the descriptors of the chain, as [Chain] does. It does not
// apply s.Modify.
func (s *Stream) Descriptors() iter.Seq2[*Descriptor, error] {
	return func(yield func(*Descriptor, error) bool) {
		for f, err := range s.walkFrames() {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(f.toDescriptor(), nil) {
				return
			}
		}
	}
}

// EncodeChain returns the encoded descriptors, each at its Offset, with zeros between them.
func EncodeChain(chain []*Descriptor) []byte {
	var text, body []byte
	if n := len(chain); n > 1 { // allocate everything at once, assuming that all descriptors have similar lengths
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
