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

	typicalRecords = 8 // seven groups, the first one in two without kernel data
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
// records up to the first zero word, the only bound a bare first descriptor has.
func Decode(text []byte, index int, off uint32, words int) (*Descriptor, error) {
	fail := func(at uint64, format string, args ...any) (*Descriptor, error) {
		return nil, &StreamError{Index: index, Off: at, What: fmt.Sprintf(format, args...)}
	}
	base := uint64(off)
	if base+HeaderBytes > uint64(len(text)) {
		return fail(base, "header of %d bytes leaves the %d bytes of text", HeaderBytes, len(text))
	}
	end := uint64(len(text))
	if words != 0 {
		if words < HeaderWords {
			return fail(base, "declared size of %d words is below the header's %d", words, HeaderWords)
		}
		if end = base + 4*uint64(words); end > uint64(len(text)) {
			return fail(base, "declared size of %#x bytes leaves the %#x bytes of text", 4*words, len(text))
		}
	}
	le := binary.LittleEndian
	d := &Descriptor{Index: index, Offset: off}
	var h [HeaderWords]uint32
	for i := range h {
		h[i] = le.Uint32(text[base+4*uint64(i):])
	}
	d.Header.load(&h)
	at := base + HeaderBytes
	if d.Header.extended() {
		if at+4 > end {
			return fail(at, "extra word of W9&3 == 3 is missing")
		}
		d.Extended, d.Extra = true, le.Uint32(text[at:])
		at += 4
	}
	// The values of all records share one run of words.
	slab := make([]uint32, 0, min((end-at)/4, MaxWords))
	d.Records = make([]Record, 0, typicalRecords)
	for at+4 <= end {
		w := le.Uint32(text[at:])
		if w == 0 && words == 0 {
			break
		}
		n, addr := uint64(w>>26)+1, w&recordAddress
		if at+4+4*n > end {
			return fail(at, "record of %d words at register %#x leaves the descriptor's end at %#x", n, addr, end)
		}
		if _, room := slot(addr); uint64(room) < n {
			return fail(at, "record of %d words at register %#x leaves the register windows", n, addr)
		}
		first := len(slab)
		for i := range n {
			slab = append(slab, le.Uint32(text[at+4+4*i:]))
		}
		d.Records = append(d.Records, Record{addr, slab[first:len(slab):len(slab)]})
		at += 4 + 4*n
	}
	d.Words = int(at-base) / 4
	if d.Words > MaxWords {
		return fail(base, "%d words, more than the %d a descriptor can declare", d.Words, MaxWords)
	}
	return d, nil
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
	return func(yield func(*Descriptor, error) bool) {
		// owner marks the alignment units a descriptor covers, so that overlap is
		// found in one look-up whatever order the links take.
		owner := make([]int32, (len(text)+Alignment-1)/Alignment)
		off, words := uint32(0), firstWords
		for index := 0; ; index++ {
			d, err := Decode(text, index, off, words)
			if err != nil {
				yield(nil, err)
				return
			}
			first, last := off/Alignment, (off+4*uint32(d.Words)-1)/Alignment
			for u := first; u <= last; u++ {
				if o := owner[u]; o != 0 {
					yield(nil, &StreamError{Index: index, Off: uint64(off), What: fmt.Sprintf("overlaps descriptor %d", o-1)})
					return
				}
				owner[u] = int32(index) + 1
			}
			next := uint32(d.Header.Next)
			if err := checkNext(text, owner, d, next); err != nil {
				yield(nil, err)
				return
			}
			if !yield(d, nil) || next == 0 {
				return
			}
			off, words = next, int(d.Header.Timing.NextSize())+1
		}
	}
}

func checkNext(text []byte, owner []int32, d *Descriptor, next uint32) error {
	if next == 0 {
		return nil
	}
	at := uint64(d.Offset) + 4*7
	switch {
	case next%Alignment != 0:
		return &StreamError{Index: d.Index, Off: at, What: fmt.Sprintf("next pointer %#x is no multiple of %#x", next, Alignment)}
	case uint64(next) >= uint64(len(text)):
		return &StreamError{Index: d.Index, Off: at, What: fmt.Sprintf("next pointer %#x leaves the %#x bytes of text", next, len(text))}
	case owner[next/Alignment] != 0:
		return &StreamError{Index: d.Index, Off: at, What: fmt.Sprintf("next pointer %#x loops back to descriptor %d", next, owner[next/Alignment]-1)}
	}
	return nil
}

// EncodeChain writes descriptors at their offsets, zero between them: the text of a
// chain without what may follow it.
func EncodeChain(chain []*Descriptor) []byte {
	var text []byte
	for _, d := range chain {
		body := d.Append(nil)
		if n := int(d.Offset) + len(body); n > len(text) {
			text = append(text, make([]byte, n-len(text))...)
		}
		copy(text[d.Offset:], body)
	}
	return text
}
