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

	// Operands are resolved from Groups by the walk that made the task. They are nil in a
	// task that was made by hand, and must be set to nil where Groups are changed; see
	// [Task.Resolved].
	Operands *Operands

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

// Resolved returns the task's operands. It resolves them into room if the task does not
// carry them.
func (t *Task) Resolved(room *Operands) *Operands {
	if t.Operands != nil {
		return t.Operands
	}
	room.Resolve(&t.Groups)
	return room
}

// Clone returns a copy of the task that stays good when the walk goes on.
func (t *Task) Clone() *Task {
	c := *t
	if t.Operands != nil {
		ops := *t.Operands
		c.Operands = &ops
	}
	return &c
}

// Tasks walks the chain as a [Walk] does. It ends after the first error.
func (s *Stream) Tasks(f *File) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		var w Walk
		w.Start(s, f)
		for {
			switch t, err := w.Next(); {
			case err != nil:
				yield(nil, err)
				return
			case t == nil || !yield(t, nil):
				return
			}
		}
	}
}

// A Walk steps through a chain. Each step stores one descriptor's records into the register
// file, modifies it, and resolves the task's operands and bases.
type Walk struct {
	stream *Stream
	file   *File
	frames frameWalk
	tasks  [2]Task
	ops    [2]Operands
	at     int   // of tasks, the one that Next returned last
	ahead  bool  // the other one is the next task
	err    error // that reading ahead met
}

// Start sets the walk to the first task of a stream, with f as the register file.
func (w *Walk) Start(s *Stream, f *File) {
	w.stream, w.file, w.at, w.ahead, w.err = s, f, 0, false, nil
	w.frames.start(s.window(), s.FirstWords)
}

// Next returns the next task, or nil behind the last one. The task is the walk's own and
// good until the next call: Clone it to keep it. An error is a
// *StreamError that names the descriptor, and ends the walk.
func (w *Walk) Next() (*Task, error) {
	w.at ^= 1
	t := &w.tasks[w.at]
	if !w.ahead {
		if ok, err := w.read(w.at); !ok {
			return nil, err
		}
	}
	if w.ahead = false; t.Groups.writesRing() {
		// The descriptor that reads the ring shares the cost of the one that fills it.
		if w.ahead, w.err = w.read(w.at ^ 1); w.ahead {
			if next := &w.tasks[w.at^1]; next.Groups.readsRing() {
				beside := next.Groups
				t.Beside = &beside
			}
		}
	}
	return t, nil
}

// read reads the next descriptor into a task of the walk. It reports false, and an error if
// there is one, where the chain ends.
func (w *Walk) read(at int) (bool, error) {
	if w.err != nil {
		err := w.err
		w.err = nil
		return false, err
	}
	d, err := w.frames.next()
	if d == nil {
		return false, err
	}
	t := &w.tasks[at]
	if err := w.stream.task(t, d, w.file); err != nil {
		w.frames.ended = true
		return false, err
	}
	t.Operands = &w.ops[at]
	t.Operands.Resolve(&t.Groups)
	return true, nil
}

// window is the stream's text.
func (s *Stream) window() window {
	if s.Text == nil && s.File != nil {
		return window{file: s.File}
	}
	return window{buf: s.Text}
}

// frames walks the stream's text.
func (s *Stream) frames() iter.Seq2[*frame, error] { return frames(s.window(), s.FirstWords) }

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
