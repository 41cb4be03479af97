package regs

import "iter"

// A State holds the values of all registers while one descriptor runs. A register that the
// descriptor does not write keeps its earlier value.
type State struct {
	Index   int    // index in the chain
	Offset  uint32 // byte offset in __text
	Words   int    // size in words, header and records
	Records int    // number of runs of register writes
	Header  Header
	Groups  Groups
}

// States returns an iterator over the values of all registers after each descriptor of a chain,
// which it walks like [Chain]. The registers start at zero. A State is valid until the next
// iteration; copy it to keep it.
func States(text []byte, firstWords int) iter.Seq2[*State, error] {
	return (&Stream{Text: text, FirstWords: firstWords}).States()
}

// States returns an iterator over the values of all registers after each descriptor of the stream,
// like the function [States]. It does not call stream.Modify.
func (stream *Stream) States() iter.Seq2[*State, error] {
	return func(yield func(*State, error) bool) {
		var file File
		var s State
		for d, err := range stream.walkFrames() {
			if err != nil {
				yield(nil, err)
				return
			}
			d.storeRecords(&file)
			s.Index, s.Offset, s.Words, s.Records, s.Header = d.Index, d.Offset, d.Words, d.count, d.Header
			file.Snapshot(&s.Groups)
			if !yield(&s, nil) {
				return
			}
		}
	}
}
