package regs

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// A frame is a descriptor in place in the text, checked: what a walk stores to the
// register file without a copy, and what Decode copies.
type frame struct {
	Descriptor        // without its Records
	records    []byte // each a stream word and its values
	count      int    // of records
}

// read checks the descriptor at off as Decode says.
func (f *frame) read(text *window, index int, off uint32, words int) error {
	fail := func(at uint64, format string, args ...any) error {
		return &StreamError{Index: index, Off: at, What: fmt.Sprintf(format, args...)}
	}
	base := uint64(off)
	if base+HeaderBytes > text.size() {
		return fail(base, "header of %d bytes leaves the %d bytes of text", HeaderBytes, text.size())
	}
	end := text.size()
	if words != 0 {
		if words < HeaderWords {
			return fail(base, "declared size of %d words is below the header's %d", words, HeaderWords)
		}
		if uint64(words) > (text.size()-base)/4 { // before the product, which can wrap around
			return fail(base, "declared size of %d words leaves the %#x bytes of text", words, text.size())
		}
		end = base + 4*uint64(words)
	}
	b, err := text.from(base)
	if err != nil {
		return &StreamError{Index: index, Off: base, What: err.Error(), Err: err}
	}
	le := binary.LittleEndian
	*f = frame{Descriptor: Descriptor{Index: index, Offset: off}}
	var h [HeaderWords]uint32
	for i := range h {
		h[i] = le.Uint32(b[4*i:])
	}
	f.Header.load(&h)
	at := base + HeaderBytes
	if f.Header.extended() {
		if at+4 > end {
			return fail(at, "extra word of W9&3 == 3 is missing")
		}
		f.Extended, f.Extra = true, le.Uint32(b[at-base:])
		at += 4
	}
	first := at
	for at+4 <= end && at-base <= 4*MaxWords {
		w := le.Uint32(b[at-base:])
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
		at += 4 + 4*n
		f.count++
	}
	f.Words = int(at-base) / 4
	if f.Words > MaxWords {
		return fail(base, "at least %d words, more than the %d a descriptor can declare", f.Words, MaxWords)
	}
	f.records = b[first-base : at-base]
	return nil
}

// all yields each record's register address and the bytes of its values.
func (f *frame) all() iter.Seq2[uint32, []byte] {
	return func(yield func(uint32, []byte) bool) {
		for b := f.records; len(b) > 0; {
			w := binary.LittleEndian.Uint32(b)
			end := 4 + 4*(w>>26+1)
			if !yield(w&recordAddress, b[4:end]) {
				return
			}
			b = b[end:]
		}
	}
}

// apply writes the records to the register file.
func (f *frame) apply(file *File) {
	for addr, b := range f.all() {
		file.storeBytes(addr, b)
	}
}

// decode copies the descriptor out of the text.
func (f *frame) decode() *Descriptor {
	d := f.Descriptor
	d.Records = make([]Record, 0, f.count)
	// The values of all records share one run of words.
	values := make([]uint32, 0, len(f.records)/4-f.count)
	for addr, b := range f.all() {
		first := len(values)
		for ; len(b) > 0; b = b[4:] {
			values = append(values, binary.LittleEndian.Uint32(b))
		}
		d.Records = append(d.Records, Record{addr, values[first:len(values):len(values)]})
	}
	return &d
}

// frames is the walk of Chain. The frame is the walk's own and good until its next step.
func frames(text *window, firstWords int) iter.Seq2[*frame, error] {
	return func(yield func(*frame, error) bool) {
		// owner marks the alignment units a descriptor covers, so that overlap is
		// found in one look-up whatever order the links take.
		owner := make([]int32, (text.size()+Alignment-1)/Alignment)
		var f frame
		off, words := uint32(0), firstWords
		for index := 0; ; index++ {
			if err := f.read(text, index, off, words); err != nil {
				yield(nil, err)
				return
			}
			first, last := off/Alignment, (off+4*uint32(f.Words)-1)/Alignment
			for u := first; u <= last; u++ {
				if o := owner[u]; o != 0 {
					yield(nil, &StreamError{Index: index, Off: uint64(off), What: fmt.Sprintf("overlaps descriptor %d", o-1)})
					return
				}
				owner[u] = int32(index) + 1
			}
			next := uint32(f.Header.Next)
			if err := checkNext(text.size(), owner, &f.Descriptor, next); err != nil {
				yield(nil, err)
				return
			}
			if !yield(&f, nil) || next == 0 {
				return
			}
			off, words = next, int(f.Header.Timing.NextSize())+1
		}
	}
}

func checkNext(size uint64, owner []int32, d *Descriptor, next uint32) error {
	if next == 0 {
		return nil
	}
	at := uint64(d.Offset) + 4*7
	switch {
	case next%Alignment != 0:
		return &StreamError{Index: d.Index, Off: at, What: fmt.Sprintf("next pointer %#x is no multiple of %#x", next, Alignment)}
	case uint64(next) >= size:
		return &StreamError{Index: d.Index, Off: at, What: fmt.Sprintf("next pointer %#x leaves the %#x bytes of text", next, size)}
	case owner[next/Alignment] != 0:
		return &StreamError{Index: d.Index, Off: at, What: fmt.Sprintf("next pointer %#x loops back to descriptor %d", next, owner[next/Alignment]-1)}
	}
	return nil
}
