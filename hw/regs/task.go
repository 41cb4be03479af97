package regs

import "iter"

// A Task is a descriptor as a unit sees it: its header, the register groups after its
// records were stored, and its resolved addresses.
type Task struct {
	Index  int    // place in the chain
	Offset uint32 // byte offset in __text
	Header Header
	Groups Groups
	Bases  Bases
}

// A Stream is a chain of descriptors with what its addresses need: the text, the first
// descriptor's words (0 when unknown) and the buffers.
type Stream struct {
	Text       []byte
	FirstWords int
	BARs       BARs

	// Modify, when it is not nil, changes the register file after each descriptor's
	// records and before the task is taken from it: a what-if.
	Modify func(*File) error
}

// Tasks walks the chain, stores each descriptor's records into f, modifies it and
// resolves the task's bases. The task is the walk's own and good until its next step:
// copy it to keep it. The walk ends after the first error, a *StreamError naming the
// descriptor.
func (s *Stream) Tasks(f *File) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		var t Task
		for d, err := range frames(s.Text, s.FirstWords) {
			if err != nil {
				yield(nil, err)
				return
			}
			d.apply(f)
			if s.Modify != nil {
				if err := s.Modify(f); err != nil {
					yield(nil, &StreamError{Index: d.Index, Off: uint64(d.Offset), What: err.Error(), Err: err})
					return
				}
			}
			t.Index, t.Offset, t.Header = d.Index, d.Offset, d.Header
			f.Snapshot(&t.Groups)
			if t.Bases, err = Resolve(&t.Header, &t.Groups, &s.BARs); err != nil {
				yield(nil, &StreamError{Index: d.Index, Off: uint64(d.Offset), What: err.Error(), Err: err})
				return
			}
			if !yield(&t, nil) {
				return
			}
		}
	}
}
