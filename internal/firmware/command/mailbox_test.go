package command_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/internal/firmware/command"
)

// TestMailbox checks that a completion comes back once, on the channel of its command, after
// a store that notifies the host. Nothing is read before its doorbell.
func TestMailbox(t *testing.T) {
	c, e := rig(t)
	b := command.NewMailbox(4)
	b.Attach(c)
	m := command.Message{Header: command.Header{ID: command.ProcedureCall, Program: 4, Process: 1}, Body: checkOne().Append(nil)}
	if err := b.Submit(command.Execution, &m); err != nil {
		t.Fatal(err)
	}
	if got := b.Serve(c); len(got) != 0 || e.calls != 0 {
		t.Errorf("before the doorbell: %d replies, %d calls", len(got), e.calls)
	}
	if err := b.Ring(32); err == nil {
		t.Error("doorbell 32")
	}
	if err := b.Ring(uint32(command.Execution)); err != nil {
		t.Fatal(err)
	}
	if got := b.Serve(c); len(got) != 1 || got[0].Status != command.OK {
		t.Fatalf("%+v", got)
	}
	if w := b.Window(); w.Host != 1<<command.Execution || w.Stores != 1 || !w.AtRest() {
		t.Errorf("%+v", w)
	}
	if _, ok := b.Take(command.Control); ok {
		t.Error("a completion on the other channel")
	}
	r, ok := b.Take(command.Execution)
	if !ok || r.Status != command.OK || r.ID != command.ProcedureCall || r.Program != 4 {
		t.Errorf("%t %+v", ok, r)
	}
	if _, ok := b.Take(command.Execution); ok || b.Window().Host != 0 {
		t.Error("a second completion, or a doorbell that stays")
	}
}

// A full ring of completions holds commands back; none is lost.
func TestCompletionsAreNotLost(t *testing.T) {
	c, _ := rig(t)
	b := command.NewMailbox(2)
	ping := command.Message{Header: command.Header{ID: command.Ping, Program: -1, Process: -1}}
	sent, taken := 0, 0
	for range 50 {
		for b.Submit(command.Control, &ping) == nil {
			sent++
		}
		if err := b.Ring(0); err != nil {
			t.Fatal(err)
		}
		b.Serve(c)
		if _, ok := b.Take(command.Control); ok {
			taken++
		}
	}
	for {
		if _, ok := b.Take(command.Control); ok {
			taken++
		} else if b.Serve(c); true {
			if _, up, _ := b.Waiting(); up == 0 {
				break
			}
		}
	}
	if sent != taken || sent < 50 {
		t.Errorf("%d sent, %d answered", sent, taken)
	}
	if err := b.Submit(command.Control, &ping); err != nil {
		t.Error(err)
	}
}

// The store happens inside the window, step by step, and bits 1 and 7 say that it did not.
func TestWindow(t *testing.T) {
	for _, fault := range []uint64{0, 1 << 1, 1 << 7, 1<<1 | 1<<7} {
		w := command.NewWindow()
		var steps []command.Step
		w.Trace = func(s command.Step, register uint64) {
			steps = append(steps, s)
			if i := len(steps); (register>>39&1 == 0) != (i >= 2 && i <= 5) {
				t.Errorf("after %q bit 39 of %#x", s, register)
			}
			if w.AtRest() && len(steps) < 7 {
				t.Errorf("after %q the window is at rest", s)
			}
			if !w.AtRest() && w.Store(1) {
				t.Error("a store inside the window")
			}
		}
		w.Fault = func() uint64 { return fault }
		if got := w.Store(1 << 5); got != (fault == 0) || !w.AtRest() {
			t.Errorf("status %#x: committed %t, at rest %t", fault, got, w.AtRest())
		}
		if diff := cmp.Diff(command.CompletionStore(), steps); diff != "" {
			t.Error(diff)
		}
		if (w.Host == 1<<5) != (fault == 0) || w.Stores+w.Rejected != 1 || (w.Rejected == 1) != (fault != 0) {
			t.Errorf("status %#x: %+v", fault, w)
		}
	}
}

// TestReplies checks that completions decode to the answers, and that a malformed one is an
// error with its place.
func TestReplies(t *testing.T) {
	r := command.Reply{Header: command.Header{ID: command.CHPropertyRead, Program: 2, Process: -1}, Status: command.NoRoom, Body: []byte{1, 2, 3}}
	m := r.Message()
	data := m.Append(nil)
	got, err := command.ReadReply(data)
	if err != nil || got.ID != r.ID || got.Program != 2 || got.Status != r.Status || string(got.Body) != string(r.Body) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range len(data) - 1 {
		var f *command.FormatError
		if _, err := command.ReadReply(data[:n]); !errors.As(err, &f) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	long := append(data, 0, 0, 0, 0)
	if _, err := command.ReadReply(long); err == nil {
		t.Error("words behind the answer")
	}
}

// FuzzReadReply checks that reading arbitrary bytes gives an error, or a reply that encodes
// to the same bytes.
func FuzzReadReply(f *testing.F) {
	r := command.Reply{Header: command.Header{ID: command.CHPropertyRead}, Status: command.NoRoom, Body: []byte{1, 2, 3}}
	m := r.Message()
	f.Add(m.Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := command.ReadReply(data)
		var e *command.FormatError
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			return
		}
		m := r.Message()
		again, err := command.ReadReply(m.Append(nil))
		r.Size, again.Size = 0, 0
		if err != nil || again.Header != r.Header || again.Status != r.Status || string(again.Body) != string(r.Body) {
			t.Errorf("%+v reads back as %+v, %v", r, again, err)
		}
	})
}
