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

	// Beside is the registers of the next descriptor when it runs beside this one
	// through a ring in the L2, nil when it does not. Those of the two are one cost.
	Beside *Groups
}

// A Stream is a chain of descriptors with what its addresses need: the text, in memory or
// in its file, the first descriptor's words (0 when unknown) and the buffers.
type Stream struct {
	Text       []byte
	File       *TextFile // where Text is nil
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
		var t, next Task
		held := false // t waits for the descriptor that reads its ring
		release := func() bool {
			h := held
			held = false
			return !h || yield(&t, nil)
		}
		for d, err := range s.frames() {
			cur := &t
			if held {
				cur = &next
			}
			if err == nil {
				err = s.task(cur, d, f)
			}
			if err != nil {
				if release() {
					yield(nil, err)
				}
				return
			}
			if held {
				if next.Groups.readsRing() {
					beside := next.Groups
					t.Beside = &beside
				}
				if !release() {
					return
				}
				t = next
			}
			if held = t.Groups.writesRing(); !held && !yield(&t, nil) {
				return
			}
		}
		release()
	}
}

// frames walks the stream's text.
func (s *Stream) frames() iter.Seq2[*frame, error] {
	if s.Text == nil && s.File != nil {
		return frames(&window{file: s.File}, s.FirstWords)
	}
	return frames(&window{buf: s.Text}, s.FirstWords)
}

// task takes a task from a descriptor's frame.
func (s *Stream) task(t *Task, d *frame, f *File) (err error) {
	d.apply(f)
	if s.Modify != nil {
		if err := s.Modify(f); err != nil {
			return &StreamError{Index: d.Index, Off: uint64(d.Offset), What: err.Error(), Err: err}
		}
	}
	t.Index, t.Offset, t.Header, t.Beside = d.Index, d.Offset, d.Header, nil
	f.Snapshot(&t.Groups)
	if t.Bases, err = Resolve(&t.Header, &t.Groups, &s.BARs); err != nil {
		return &StreamError{Index: d.Index, Off: uint64(d.Offset), What: err.Error(), Err: err}
	}
	return nil
}

// writesRing and readsRing report whether a task's result is a ring of rows in the L2,
// and whether its source is one.
func (g *Groups) writesRing() bool {
	return g.L2.ResultCfg.Type() == typeCircular && !g.DestinationOn()
}

func (g *Groups) readsRing() bool {
	return g.L2.SourceCfg.Type() == typeCircular && !g.Source1On()
}
