package engine_test

import (
	"errors"
	"testing"

	"anesim/firmware/engine"
	"anesim/loader"
	"anesim/loader/lower"
)

// TestFreedBuffers: a port that is bound to memory that is freed has its own buffer again,
// even if a call of its program is in progress. That call is aborted.
func TestFreedBuffers(t *testing.T) {
	p, err := lower.ExampleProgram("identity")
	if err != nil {
		t.Fatal(err)
	}
	var in, out *loader.Port
	for in = range p.Inputs() {
	}
	for out = range p.Outputs() {
	}
	for _, name := range []string{"program", "buffer"} {
		s, err := engine.New(engine.Options{Values: true})
		if err != nil {
			t.Fatal(err)
		}
		add := func() *engine.Loaded {
			l, err := s.Load(p)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		second := add()
		home, size, err := second.Buffer(in.Name, loader.Input)
		if err != nil {
			t.Fatal(err)
		}
		var free func()
		var address uint64
		if name == "program" {
			first := add()
			if _, err := first.Call(t.Context()); err != nil {
				t.Fatal(err)
			}
			if address, _, err = first.Buffer(out.Name, loader.Output); err != nil {
				t.Fatal(err)
			}
			free = first.Unload
		} else {
			if address, err = s.Reserve("shared", size); err != nil {
				t.Fatal(err)
			}
			free = func() { s.Release(address) }
		}
		if err := second.BindBuffer(in.Name, loader.Input, address); err != nil {
			t.Fatal(err)
		}
		c, err := second.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		free()
		if _, err := c.Finish(); !errors.Is(err, engine.ErrAborted) {
			t.Errorf("%s: the call ends with %v, want %v", name, err, engine.ErrAborted)
		}
		if now, _, err := second.Buffer(in.Name, loader.Input); err != nil || now != home {
			t.Errorf("%s: the port is at %#x, want its own buffer at %#x: %v", name, now, home, err)
		}
		if res, err := second.Call(t.Context()); err != nil || len(res.Synthetic) != 1 {
			t.Errorf("%s: a call after that: %v", name, err)
		}
	}
}
