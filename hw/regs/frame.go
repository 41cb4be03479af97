package regs

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// A frame is a checked descriptor whose records still refer to the text. A walk stores them in the
// register file without copying them; Decode copies them.
type frame struct {
	Descriptor        // Records is unset
	records    []byte // each record is a stream word and its values
	count      int    // number of records
}

// readDescriptor checks the descriptor at off and makes f refer to it. It has the same parameters
// as Decode.
func (f *frame) readDescriptor(text *window, index int, off uint32, words int) error {
	fail := func(at uint64, format string, args ...any) error {
		return &StreamError{Index: index, Off: at, What: fmt.Sprintf(format, args...)}
	}
	base := uint64(off)
	if base+HeaderBytes > text.textSize() {
		return fail(base, "header of %d bytes extends past the end of the text (%d bytes)", HeaderBytes, text.textSize())
	}
	end := text.textSize()
	if words != 0 {
		if words < HeaderWords {
			return fail(base, "declared size is %d words; want at least %d for the header", words, HeaderWords)
		}
		if uint64(words) > (text.textSize()-base)/4 { // compare before multiplying, because the product could wrap around
			return fail(base, "declared size of %d words extends past the end of the text (%#x bytes)", words, text.textSize())
		}
		end = base + 4*uint64(words)
	}
	b, err := text.bytesFrom(base)
	if err != nil {
		return &StreamError{Index: index, Off: base, What: err.Error(), Err: err}
	}
	le := binary.LittleEndian
	*f = frame{Descriptor: Descriptor{Index: index, Offset: off}}
	var h [HeaderWords]uint32
	for i := range h {
		h[i] = le.Uint32(b[4*i:])
	}
	f.Header.loadWords(&h)
	at := base + HeaderBytes
	if f.Header.IsExtended() {
		if at+4 > end {
			return fail(at, "missing extra header word declared by header word 9")
		}
		f.Extended, f.Extra = true, le.Uint32(b[at-base:])
		at += 4
	}
	first := at
	for at+4 <= end && at-base <= 4*MaxWords {
		w := le.Uint32(b[at-base:])
		// Without a declared size, the padding of zeros ends the descriptor: no record has a zero header.
		if w == 0 && words == 0 {
			break
		}
		n, addr := uint64(w>>26)+1, w&recordAddress
		if at+4+4*n > end {
			return fail(at, "record of %d words at register %#x runs past the descriptor's end at %#x", n, addr, end)
		}
		// A record may run over neighboring registers, but not from one window into the next.
		if _, room := findRegisterIndex(addr); uint64(room) < n {
			return fail(at, "record of %d words at register %#x is not inside a register window", n, addr)
		}
		at += 4 + 4*n
		f.count++
	}
	f.Words = int(at-base) / 4
	if f.Words > MaxWords {
		return fail(base, "descriptor has at least %d words; want at most %d", f.Words, MaxWords)
	}
	f.records = b[first-base : at-base]
	return nil
}

// allRecords returns an iterator over the records: the register address and the bytes of the
// values of each.
func (f *frame) allRecords() iter.Seq2[uint32, []byte] {
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

// storeRecords stores the values of all records in the register file.
func (f *frame) storeRecords(file *File) {
	for addr, b := range f.allRecords() {
		file.storeBytes(addr, b)
	}
}

// toDescriptor returns a copy of the descriptor that does not share memory with the text.
func (f *frame) toDescriptor() *Descriptor {
	d := f.Descriptor
	d.Records = make([]Record, 0, f.count)
	// The values of all records share one slice.
	values := make([]uint32, 0, len(f.records)/4-f.count)
	for addr, b := range f.allRecords() {
		first := len(values)
		for ; len(b) > 0; b = b[4:] {
			values = append(values, binary.LittleEndian.Uint32(b))
		}
		d.Records = append(d.Records, Record{addr, values[first:len(values):len(values)]})
	}
	return &d
}

// A frameWalk reads the descriptors of a text by following their links.
type frameWalk struct {
	text  window
	owner []int32 // per alignment unit: 1 + index of the descriptor there, or 0
	frame frame
	index int
	off   uint32
	words int // size of the next descriptor
	ended bool
}

// startAt prepares the walk to read the descriptors of text. The first descriptor has firstWords
// words.
func (w *frameWalk) startAt(text window, firstWords int) {
	// The owner marks detect overlaps with one look-up, in any order of links.
	*w = frameWalk{text: text, words: firstWords, owner: make([]int32, (text.textSize()+Alignment-1)/Alignment)}
}

// nextFrame returns the next descriptor. It is valid until the following call. It returns nil after
// the last descriptor and after an error.
func (w *frameWalk) nextFrame() (*frame, error) {
	if w.ended {
		return nil, nil
	}
	if err := w.readFrame(); err != nil {
		w.ended = true
		return nil, err
	}
	return &w.frame, nil
}

// readFrame reads the descriptor at w.off and follows its link.
func (w *frameWalk) readFrame() error {
	f := &w.frame
	if err := f.readDescriptor(&w.text, w.index, w.off, w.words); err != nil {
		return err
	}
	first, last := w.off/Alignment, (w.off+4*uint32(f.Words)-1)/Alignment
	for u := first; u <= last; u++ {
		if o := w.owner[u]; o != 0 {
			return &StreamError{Index: w.index, Off: uint64(w.off), What: fmt.Sprintf("overlaps descriptor %d", o-1)}
		}
		w.owner[u] = int32(w.index) + 1
	}
	next := uint32(f.Header.Next)
	if err := checkLink(w.text.textSize(), w.owner, &f.Descriptor, next); err != nil {
		return err
	}
	w.index, w.off, w.words, w.ended = w.index+1, next, int(f.Header.Timing.NextSize())+1, next == 0
	return nil
}

// walkFrames returns an iterator over the descriptors of a text. Each frame is valid until the next
// step.
func walkFrames(text window, firstWords int) iter.Seq2[*frame, error] {
	return func(yield func(*frame, error) bool) {
		var w frameWalk
		w.startAt(text, firstWords)
		for {
			switch f, err := w.nextFrame(); {
			case err != nil:
				yield(nil, err)
				return
			case f == nil || !yield(f, nil):
				return
			}
		}
	}
}

// checkLink returns an error if next, the link of d, is misaligned, outside the text or leads back.
func checkLink(size uint64, owner []int32, d *Descriptor, next uint32) error {
	if next == 0 {
		return nil
	}
	at := uint64(d.Offset) + 4*7
	switch {
	case next%Alignment != 0:
		return &StreamError{Index: d.Index, Off: at, What: fmt.Sprintf("next pointer %#x is not a multiple of %#x", next, Alignment)}
	case uint64(next) >= size:
		return &StreamError{Index: d.Index, Off: at, What: fmt.Sprintf("next pointer %#x is outside the text (%#x bytes)", next, size)}
	case owner[next/Alignment] != 0:
		return &StreamError{Index: d.Index, Off: at, What: fmt.Sprintf("next pointer %#x loops back to descriptor %d", next, owner[next/Alignment]-1)}
	}
	return nil
}
