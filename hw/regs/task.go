package regs

import (
	"encoding/json"
	"iter"
)

// A Task is a descriptor that is ready to run: its header, the values of all registers, and the
// device addresses that it accesses.
type Task struct {
	Index  int    // index in the chain
	Offset uint32 // byte offset in __text
	Header Header
	Groups Groups
	Bases  Bases

	// Operands is computed from Groups by the [Walk] that made the task. It is nil in a task made
	// by hand, and must be reset to nil if Groups changes; see [Task.Resolved].
	Operands *Operands

	// Beside holds the registers of the next descriptor if both run at the same time, connected by
	// a ring buffer in L2, and is nil otherwise.
	Beside *Groups

	// WindowTaps is the number of taps of the window that the values need: the rows with a nonzero
	// weight in any channel times the columns with one, and at least 1. It is 0 if the values need
	// all taps, or if the weights are not known.
	WindowTaps int
}

// A Stream is a chain of descriptors together with the buffer addresses needed to run it.
type Stream struct {
	Text []byte
	File *TextFile // used if Text is nil
	// FirstWords is the size of the first descriptor in words, or 0 if it is unknown.
	FirstWords int
	BARs       BARs
	// WindowTaps holds Task.WindowTaps by the index of the task.
	WindowTaps map[int]WindowTaps

	// Modify, if it is not nil, may change the registers after the writes of each descriptor and
	// before the task is made. It serves experiments.
	Modify func(*File) error
}

// Resolved returns t.Operands if it is not nil. Otherwise it resolves the operands into room and
// returns room.
func (t *Task) Resolved(room *Operands) *Operands {
	if t.Operands != nil {
		return t.Operands
	}
	room.Resolve(&t.Groups)
	return room
}

// Clone returns a copy of the task that remains valid after the walk continues.
func (t *Task) Clone() *Task {
	c := *t
	if t.Operands != nil {
		ops := *t.Operands
		c.Operands = &ops
	}
	return &c
}

// Tasks returns an iterator over the tasks of the chain, with f as the register file. It stops
// after the first error, which is a *StreamError. A task is valid until the next iteration; see
// [Task.Clone].
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

// A Walk steps through a chain of descriptors. In each step it stores the descriptor's writes in
// the register file, calls Stream.Modify, and makes the task.
type Walk struct {
	stream *Stream
	file   *File
	frames frameWalk
	tasks  [2]Task
	ops    [2]Operands
	at     int   // index in tasks of the last task that Next returned
	ahead  bool  // the other entry of tasks is the next task
	err    error // error met while reading ahead
}

// Start prepares w to walk the stream s from its first descriptor, with f as the register file.
func (w *Walk) Start(s *Stream, f *File) {
	w.stream, w.file, w.at, w.ahead, w.err = s, f, 0, false, nil
	w.frames.startAt(s.textWindow(), s.FirstWords)
}

// Next returns the next task, or nil after the last one. The task is valid until the next call; see
// [Task.Clone]. The walk ends after an error, which is a *StreamError.
func (w *Walk) Next() (*Task, error) {
	w.at ^= 1
	t := &w.tasks[w.at]
	if !w.ahead {
		if ok, err := w.readTask(w.at); !ok {
			return nil, err
		}
	}
	if w.ahead = false; t.Groups.writesRing() {
		// The descriptor that reads the ring shares the cost of the one that fills it.
		if w.ahead, w.err = w.readTask(w.at ^ 1); w.ahead {
			if next := &w.tasks[w.at^1]; next.Groups.readsRing() {
				beside := next.Groups
				t.Beside = &beside
			}
		}
	}
	return t, nil
}

// readTask reads the next descriptor into w.tasks[at]. It returns false at the end of the chain. If
// the chain ends because of an error, it also returns the error.
func (w *Walk) readTask(at int) (bool, error) {
	if w.err != nil {
		err := w.err
		w.err = nil
		return false, err
	}
	d, err := w.frames.nextFrame()
	if d == nil {
		return false, err
	}
	t := &w.tasks[at]
	if err := w.stream.loadTask(t, d, w.file); err != nil {
		w.frames.ended = true
		return false, err
	}
	t.Operands = &w.ops[at]
	t.Operands.Resolve(&t.Groups)
	return true, nil
}

// textWindow returns the text of the stream, which is in memory or in its file, in the form that a
// walk reads.
func (s *Stream) textWindow() window {
	if s.Text == nil && s.File != nil {
		return window{file: s.File}
	}
	return window{buf: s.Text}
}

// walkFrames returns an iterator over the descriptors of the stream's text.
func (s *Stream) walkFrames() iter.Seq2[*frame, error] {
	return walkFrames(s.textWindow(), s.FirstWords)
}

// loadTask stores the records of d in f and fills t from it.
func (s *Stream) loadTask(t *Task, d *frame, f *File) (err error) {
	d.storeRecords(f)
	if s.Modify != nil {
		if err := s.Modify(f); err != nil {
			return &StreamError{Index: d.Index, Off: uint64(d.Offset), What: err.Error(), Err: err}
		}
	}
	t.Index, t.Offset, t.Header, t.Beside = d.Index, d.Offset, d.Header, nil
	f.Snapshot(&t.Groups)
	t.WindowTaps = s.WindowTaps[d.Index].countInWindow(t.Groups.Common.ConvCfg)
	if t.Bases, err = Resolve(&t.Header, &t.Groups, &s.BARs); err != nil {
		return &StreamError{Index: d.Index, Off: uint64(d.Offset), What: err.Error(), Err: err}
	}
	return nil
}

// A WindowTaps says how many taps of its window the values of a task need. The number is valid only
// while the task has this window.
type WindowTaps struct {
	Window ConvCfg // register with the window
	Taps   int     // see Task.WindowTaps
}

// storedTaps is how JSON has a [WindowTaps].
type storedTaps struct {
	Window uint32
	Taps   int
}

// MarshalJSON returns w as JSON, with the bits of the window's register as a number.
func (w WindowTaps) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedTaps{w.Window.v, w.Taps})
}

// UnmarshalJSON sets w from JSON that [WindowTaps.MarshalJSON] returned.
func (w *WindowTaps) UnmarshalJSON(data []byte) error {
	var s storedTaps
	err := json.Unmarshal(data, &s)
	*w = WindowTaps{ConvCfg{s.Window}, s.Taps}
	return err
}

// countInWindow returns w.Taps if a window with the register c has the same taps as w.Window, in
// the same order in the weight streams, and 0 otherwise. The padding of c may differ.
func (w WindowTaps) countInWindow(c ConvCfg) int {
	v := w.Window
	if c.Kh() != v.Kh() || c.Kw() != v.Kw() || c.Sy() != v.Sy() || c.Sx() != v.Sx() || c.Oy() != v.Oy() || c.Ox() != v.Ox() {
		return 0
	}
	return w.Taps
}

// writesRing reports whether a task's result is a ring of rows in L2.
func (g *Groups) writesRing() bool {
	return g.L2.ResultCfg.Type() == typeCircular && !g.DestinationOn()
}

// readsRing reports whether a task's source 1 is a ring of rows in L2.
func (g *Groups) readsRing() bool {
	return g.L2.SourceCfg.Type() == typeCircular && !g.Source1On()
}
