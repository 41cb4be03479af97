package regs

import "iter"

// A State is the engine's registers as a descriptor finds them: its own records and what
// those before it left.
type State struct {
	Index   int    // place in the chain
	Offset  uint32 // byte offset in __text
	Words   int    // size in words, header and records
	Records int    // runs of register writes
	Header  Header
	Groups  Groups
}

// States walks a chain as Chain does and yields the registers after each descriptor's
// records, from the reset state on. The state is the walk's own and good until its next
// step: copy it to keep it.
func States(text []byte, firstWords int) iter.Seq2[*State, error] {
	return (&Stream{Text: text, FirstWords: firstWords}).States()
}

// States is States of the stream's text, which nothing modifies.
func (stream *Stream) States() iter.Seq2[*State, error] {
	return func(yield func(*State, error) bool) {
		var file File
		var s State
		for d, err := range stream.frames() {
			if err != nil {
				yield(nil, err)
				return
			}
			d.apply(&file)
			s.Index, s.Offset, s.Words, s.Records, s.Header = d.Index, d.Offset, d.Words, d.count, d.Header
			file.Snapshot(&s.Groups)
			if !yield(&s, nil) {
				return
			}
		}
	}
}
