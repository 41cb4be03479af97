package anesim_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"anesim"
	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/loader"
)

// pipeline loads a convolution and a second program that reads its output from the same buffer.
func pipeline(t *testing.T, s *anesim.Session) (first, second *anesim.Loaded) {
	t.Helper()
	first = loadLayer(t, s, "conv", "cin=16", "h=8", "w=32", "cout=16", "k=3", "pad=same")
	second = loadLayer(t, s, "sigmoid", "c=16", "h=8", "w=32")
	if err := second.Connect("x", first, "y"); err != nil {
		t.Fatal(err)
	}
	return first, second
}

// inOrder runs the two programs of pipeline one after the other, copies the output of the first to
// the input of the second, and returns the result.
func inOrder(t *testing.T, input []half) []half {
	t.Helper()
	s := values(t)
	a := loadLayer(t, s, "conv", "cin=16", "h=8", "w=32", "cout=16", "k=3", "pad=same")
	b := loadLayer(t, s, "sigmoid", "c=16", "h=8", "w=32")
	if err := a.Set("x", input); err != nil {
		t.Fatal(err)
	}
	if err := b.Set("x", call(t, a).Outputs[0].Data); err != nil {
		t.Fatal(err)
	}
	return call(t, b).Outputs[0].Data
}

func frame(n int) []half {
	data := make([]half, 16*8*32)
	for i := range data {
		data[i] = fp16(float32((i*7+n*13)%29)/16 - 1)[0]
	}
	return data
}

// One program's output is the next one's input without a copy, with the values of a copy.
func TestPipeline(t *testing.T) {
	host, err := engine.HostByName("macos-air")
	if err != nil {
		t.Fatal(err)
	}
	s, err := anesim.NewSession(anesim.Options{Values: true, Host: host})
	if err != nil {
		t.Fatal(err)
	}
	first, second := pipeline(t, s)
	for n := range 3 {
		if err := first.Set("x", frame(n)); err != nil {
			t.Fatal(err)
		}
		call(t, first)
		got := call(t, second)
		if want := inOrder(t, frame(n)); !slices.Equal(got.Outputs[0].Data, want) {
			t.Fatalf("frame %d: other values than with a copy", n)
		}
		if len(got.Synthetic) != 0 {
			t.Errorf("inputs %q are made up", got.Synthetic)
		}
	}
	const tensor = 2 * 16 * 8 * 32
	if saved := s.Saved(); saved.HostCopyBytes != 3*2*tensor || saved.DRAMBytes != 2*saved.HostCopyBytes {
		t.Errorf("saved %+v, want %d", saved, 3*2*tensor)
	}
	joined := call(t, second).Host()
	// Its own buffer again: the copy is back.
	if err := second.BindBuffer("x", loader.Input, 0); err != nil {
		t.Fatal(err)
	}
	if apart := call(t, second).Host(); apart <= joined {
		t.Errorf("a call costs the host %v, without a copy %v", apart, joined)
	}
}

// The device's accesses are the same: only where the values stand changes.
func TestPipelineCostsTheEngineTheSame(t *testing.T) {
	s := values(t)
	_, second := pipeline(t, s)
	joined := call(t, second)
	if err := second.BindBuffer("x", loader.Input, 0); err != nil {
		t.Fatal(err)
	}
	if apart := call(t, second); apart.Report.Cycles != joined.Report.Cycles || apart.Report.DMA != joined.Report.DMA {
		t.Errorf("%d cycles and %+v, apart %d and %+v", joined.Report.Cycles, joined.Report.DMA, apart.Report.Cycles, apart.Report.DMA)
	}
}

// However urgent the reader is and whenever both are submitted, it reads what the writer's
// last call before it wrote, and the writer does not overwrite what is being read.
func TestPipelineHazards(t *testing.T) {
	passed := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := values(t)
		first, second := pipeline(t, s)
		other := loadLayer(t, s, "softmax", "c=48", "h=1", "w=40")
		sched := queue.New()
		if err := sched.Start(); err != nil {
			t.Fatal(err)
		}
		submit := func(l *anesim.Loaded, p queue.Priority) *anesim.Call {
			c, err := l.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := sched.Submit(queue.Request{Priority: p, Network: 1, Work: c}); err != nil {
				t.Fatal(err)
			}
			return c
		}
		steps := func() {
			for range r.IntN(4) {
				if _, err := sched.Step(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for n := range 4 {
			// The writer in the least urgent queue, the reader in the most urgent one.
			for first.UnderWay() != nil {
				if _, err := sched.Step(); err != nil {
					t.Fatal(err)
				}
			}
			if err := first.Set("x", frame(n)); err != nil {
				t.Fatal(err)
			}
			submit(first, 7)
			for second.UnderWay() != nil {
				if _, err := sched.Step(); err != nil {
					t.Fatal(err)
				}
			}
			c := submit(second, 0)
			if c.Waiting() {
				passed++
			}
			if other.UnderWay() == nil {
				submit(other, queue.Priority(r.IntN(8)))
			}
			// A frame behind it must not overwrite what it reads.
			if r.IntN(2) == 0 && first.UnderWay() == nil {
				if err := first.Set("x", frame(100)); err != nil {
					t.Fatal(err)
				}
				submit(first, 0)
			}
			steps()
			for !c.Over() {
				if _, err := sched.Step(); err != nil {
					t.Fatal(err)
				}
			}
			res, err := c.Result()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(res.Outputs[0].Data, inOrder(t, frame(n))) {
				t.Fatalf("seed %d, frame %d: other values", seed, n)
			}
		}
		if err := sched.Drain(); err != nil {
			t.Fatal(err)
		}
	}
	if passed == 0 {
		t.Error("no reader had to wait")
	}
}

// A reader of what was never written fails, one that runs too early is refused, and a
// request that waits for one behind it is a deadlock, not a hang.
func TestPipelineRefusals(t *testing.T) {
	s := values(t)
	first, second := pipeline(t, s)
	w, err := first.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Call(t.Context()); err != anesim.ErrWaiting {
		t.Errorf("a call at once: %v", err)
	}
	c, err := second.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !c.Waiting() {
		t.Fatal("the reader does not wait")
	}
	sched := queue.New()
	if err := sched.Start(); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*anesim.Call{c, w} { // the wrong way round, in one queue
		if _, err := sched.Submit(queue.Request{Priority: 3, Network: 1, Work: x}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sched.Step(); err != queue.ErrDeadlock {
		t.Errorf("the wrong way round: %v", err)
	}
	w.Abort()
	if _, more := c.Run(); more {
		t.Error("the reader runs on")
	}
	if _, err := c.Result(); !errors.Is(err, anesim.ErrAborted) {
		t.Errorf("the reader of an aborted call: %v", err)
	}
	var b *anesim.BufferError
	for what, err := range map[string]error{
		"no such input":  second.Connect("q", first, "y"),
		"no such output": second.Connect("x", first, "q"),
		"no buffer":      second.BindBuffer("x", loader.Input, 1<<40),
		"another shape":  loadLayer(t, s, "relu", "c=4").Connect("x", first, "y"),
		"two sessions":   loadLayer(t, values(t), "sigmoid", "c=16", "h=8", "w=32").Connect("x", first, "y"),
	} {
		if !errors.As(err, &b) {
			t.Errorf("%s: %v", what, err)
		}
	}
	at, err := s.Reserve("small", 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.BindBuffer("x", loader.Input, at); !errors.As(err, &b) {
		t.Errorf("a buffer that is too small: %v", err)
	}
	// The writer's memory goes: the reader has its own buffer again.
	first.Unload()
	in, _, err := second.Buffer("x", loader.Input)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.BindBuffer("x", loader.Input, 0); err != nil {
		t.Fatal(err)
	}
	if own, _, err := second.Buffer("x", loader.Input); err != nil || in != own {
		t.Errorf("at %#x: %v", in, err)
	}
	if res := call(t, second); len(res.Outputs) != 1 {
		t.Errorf("%v", res.Report.Faults)
	}
	add := loadLayer(t, s, "add", "c=4")
	if err := add.Alias("y", "z"); err != nil {
		t.Fatal(err)
	}
	if err := add.BindBuffer("z", loader.Input, at); !errors.As(err, &b) {
		t.Errorf("a buffer of state: %v", err)
	}
}

// Two programs take turns in a buffer of the host's.
func TestReservedBuffer(t *testing.T) {
	s := values(t)
	a := loadLayer(t, s, "relu", "c=16", "w=32")
	b := loadLayer(t, s, "relu", "c=16", "w=32")
	_, size, err := a.Buffer("y", loader.Output)
	if err != nil {
		t.Fatal(err)
	}
	at, err := s.Reserve("between", size)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.BindBuffer("y", loader.Output, at), b.BindBuffer("x", loader.Input, at)); err != nil {
		t.Fatal(err)
	}
	in := make([]half, 16*32)
	for i := range in {
		in[i] = fp16(float32(i) - 100)[0]
	}
	if err := a.Set("x", in); err != nil {
		t.Fatal(err)
	}
	out := call(t, a).Outputs[0].Data
	if got := call(t, b).Outputs[0].Data; !slices.Equal(got, out) {
		t.Error("the buffer holds something else")
	}
	if raw, err := s.Read(at, 2); err != nil || raw[0] != 0 || raw[1] != 0 {
		t.Errorf("%x: %v", raw, err)
	}
}
