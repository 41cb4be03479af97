package anesim_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim"
	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/internal/firmware/traffic"
	"anesim/internal/material"
	"anesim/internal/samples"
)

// checksums returns the checksum of each output of r as text, with the names of the ports.
func checksums(r *anesim.Result) string {
	var b strings.Builder
	for _, o := range r.Outputs {
		fmt.Fprintf(&b, "%s %s\n", o.Port.Name, engine.Checksum(o.Data))
	}
	return b.String()
}

// A shared is a program with what it does with the engine to itself.
type shared struct {
	*anesim.Loaded
	model   *anesim.Model
	alone   string
	cycles  uint64
	longest clock.Nanoseconds // run of descriptors
	runs    int
}

// loadShared loads the models into the session s, runs each of them alone, and returns them with
// their results.
func loadShared(t *testing.T, s *anesim.Session, models []*anesim.Model) []shared {
	t.Helper()
	var list []shared
	for _, m := range models {
		l, err := s.Load(t.Context(), m)
		if err != nil {
			t.Fatalf("%s: %v", m.Name(), err)
		}
		res, err := l.Call(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", m.Name(), err)
		}
		x := shared{Loaded: l, model: m, alone: checksums(res), cycles: uint64(res.Report.Cycles)}
		if x.alone == "" {
			t.Fatalf("%s left nothing", m.Name())
		}
		c, err := l.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for more := true; more; x.runs++ {
			var took clock.Nanoseconds
			took, more = c.Run()
			x.longest = max(x.longest, took)
		}
		stepped, err := c.Result()
		if err != nil {
			t.Fatal(err)
		}
		if checksums(stepped) != x.alone || uint64(stepped.Report.Cycles) != x.cycles || stepped.Report.Energy != res.Report.Energy {
			t.Errorf("%s: run by run it is another program: %d cycles, %d at once", m.Name(), stepped.Report.Cycles, x.cycles)
		}
		list = append(list, x)
	}
	return list
}

// Networks with a tensor in L2 that several descriptors write, a batch part by part and
// heads one by one, or that is read behind a product whose source is described in the scratch
// buffer.
var held = []string{`
inputs: {x: {n: 2, c: 8, h: 8, w: 8}}
layers:
  - {name: a, op: conv, cout: 8, k: 3, pad: same, from: x}
  - {name: b, op: tanh, from: a}
  - {name: y, op: reduce, kind: mean, axis: hw, from: b}
`, `
inputs: {x: {h: 16, w: 32}, z: {h: 16, w: 64}}
layers:
  - {name: r, op: sigmoid, from: x}
  - {name: p, op: linear, n: 32, from: z}
  - {name: y, op: add, from: [r, p]}
`, `
inputs: {x: {n: 3, c: 8, h: 5, w: 2}}
layers:
  - {name: s, op: softmax, axis: w, from: [x]}
  - {name: r, op: reshape, n: 8, c: 3, h: 5, w: 2, from: [x]}
  - {name: t, op: softmax, axis: w, from: [r]}
outputs: [s, t]
`}

// Wherever a run of descriptors ends, what L2 holds may be overwritten: the values stay.
func TestNothingIsLiveWhereRunsEnd(t *testing.T) {
	models := samples.Shared(t)
	for _, text := range held {
		models = append(models, samples.Read(t, text))
	}
	decoder, err := anesim.Open(filepath.Join("tools", "anesim", "examples", "decoder-step.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	models = append(models, decoder)
	for _, file := range material.More(t, "programs/*.hwx", "programs/text/*.bin") {
		m, err := anesim.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	ends := 0
	for _, m := range models {
		s, err := anesim.NewSession(anesim.Options{Values: true, Budget: 1 << 24})
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Load(t.Context(), m)
		if err != nil {
			t.Fatalf("%s: %v", m.Name(), err)
		}
		res, err := l.Call(t.Context())
		if err != nil || len(res.Outputs) == 0 {
			continue // no values to compare
		}
		c, err := l.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, more := c.Run(); more; _, more = c.Run() {
			ends++
			c.SwitchOut()
		}
		again, err := c.Result()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := checksums(again), checksums(res); got != want {
			t.Errorf("%s: %s, without a switch %s", m.Name(), got, want)
		}
	}
	t.Logf("%d models, %d ends of runs within them", len(models), ends)
	if ends == 0 {
		t.Error("no run ends within a program")
	}
}

// Programs that share the engine at different priorities, preempted wherever a run of
// descriptors ends, leave the values that each leaves alone; what a call of the highest
// priority waits for is at most the longest run of the others.
func TestInterleavedProgramsKeepTheirValues(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3, 4, 5, 6, 7, 8} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if interleave(t, seed, samples.Shared(t), 40) == 0 {
				t.Error("nothing was preempted")
			}
		})
	}
}

// The same of pairs of real programs.
func TestInterleavedRealPrograms(t *testing.T) {
	files := programs(t)
	rounds := 12
	if testing.Short() {
		rounds = 2
	}
	r := rand.New(rand.NewPCG(77, 1))
	preempted := 0
	for done := range rounds {
		var pair []*anesim.Model
		for len(pair) < 2 {
			m, err := anesim.Open(files[r.IntN(len(files))])
			if err != nil {
				t.Fatal(err)
			}
			res, err := m.Run(t.Context(), anesim.Options{Values: true, Budget: 1 << 24})
			if err != nil || len(res.Outputs) == 0 || len(res.Report.Faults) > 0 {
				continue
			}
			if runs, err := traffic.RunTimes(&res.Programs[0].Result); err != nil || len(pair) == 0 && len(runs) < 2 {
				continue // the one that is preempted has several runs
			}
			pair = append(pair, m)
		}
		slices.Reverse(pair)
		preempted += interleave(t, uint64(100+done), pair, 12)
	}
	if preempted == 0 {
		t.Error("nothing was preempted")
	}
}

func interleave(t *testing.T, seed uint64, models []*anesim.Model, calls int) (preempted int) {
	r := rand.New(rand.NewPCG(seed, 9))
	s, err := anesim.NewSession(anesim.Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	list := loadShared(t, s, models)
	sched := queue.New()
	if err := sched.Start(); err != nil {
		t.Fatal(err)
	}
	type asked struct {
		call *anesim.Call
		who  *shared
		at   clock.Nanoseconds
		top  bool
	}
	open := map[queue.ID]*asked{}
	longest := clock.Nanoseconds(0)
	for _, x := range list {
		longest = max(longest, x.longest)
	}
	switched := 0
	sched.Observe = func(e queue.Event) {
		a := open[e.ID]
		switch e.Kind {
		case queue.Started:
			// A run that is preempted waits for its results to land, at most as long as it
			// would at the end of its chain: that is in the longest run's time.
			if wait := e.At - a.at; a.top && wait > longest {
				t.Errorf("seed %d: %s waited %v; the longest run takes %v", seed, a.who.model.Name(), wait, longest)
			}
		case queue.SwitchedIn:
			switched++
		}
	}
	finished := func() {
		for id, a := range open {
			if !a.call.Over() {
				continue
			}
			delete(open, id)
			res, err := a.call.Result()
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, a.who.model.Name(), err)
			}
			if got := checksums(res); got != a.who.alone {
				t.Errorf("seed %d: %s left\n%salone it leaves\n%s", seed, a.who.model.Name(), got, a.who.alone)
			}
		}
	}
	for n := 0; n < calls || sched.Waiting() > 0; {
		if n < calls && (sched.Waiting() == 0 || r.IntN(2) == 0) {
			k := r.IntN(len(list))
			if c, err := list[k].Start(t.Context()); err == nil {
				n++
				// The first program is the most urgent, the last ones have several runs.
				id, err := sched.Submit(queue.Request{Priority: queue.Priority(min(7, k)), Network: 1, Work: c})
				if err != nil {
					t.Fatal(err)
				}
				open[id] = &asked{c, &list[k], sched.Now(), k == 0}
				continue
			}
		}
		if _, err := sched.Step(); err != nil {
			t.Fatal(err)
		}
		finished()
	}
	if len(open) > 0 {
		t.Errorf("%d calls have not ended", len(open))
	}
	if st := sched.Stats(); st.Finished != uint64(calls) {
		t.Errorf("%+v", st)
	}
	t.Logf("seed %d: %d calls, preempted %d times", seed, calls, switched)
	return switched
}

// Every descriptor has its start and its finish, in the order of the chain, with its ids and
// the time of the timebase, whoever has the engine in between; a context switch names the
// descriptor that goes next.
func TestEventsOfDescriptors(t *testing.T) {
	s := values(t)
	low, err := s.Load(t.Context(), samples.Read(t, samples.Observed))
	if err != nil {
		t.Fatal(err)
	}
	high := loadLayer(t, s, "softmax", "c=48", "h=1", "w=40")
	linked, err := low.Program().Link()
	if err != nil {
		t.Fatal(err)
	}
	sched := queue.New()
	if err := sched.Start(); err != nil {
		t.Fatal(err)
	}
	sched.Descriptors = true
	var events []queue.Event
	sched.Observe = func(e queue.Event) {
		if n := len(events); n > 0 && e.At < events[n-1].At {
			t.Errorf("%+v comes after %+v", e, events[n-1])
		}
		events = append(events, e)
	}
	submit := func(l *anesim.Loaded, p queue.Priority, program int32) {
		c, err := l.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sched.Submit(queue.Request{Priority: p, Network: uint8(program + 1), Program: program, Process: 7, Work: c}); err != nil {
			t.Fatal(err)
		}
	}
	submit(low, 6, 0)
	if _, err := sched.Step(); err != nil {
		t.Fatal(err)
	}
	submit(high, 0, 1)
	if err := sched.Drain(); err != nil {
		t.Fatal(err)
	}
	var ids []uint32
	open, switched := false, false
	for _, e := range events {
		switch {
		case e.Kind == queue.TaskStarted && open, e.Kind == queue.TaskFinished && !open:
			t.Errorf("%+v", e)
		case e.Kind == queue.TaskStarted:
			open = true
			if e.Program == 0 {
				want := linked.Tasks[len(ids)].Header.Task
				if e.TID != want.TID() || e.NID != want.NID() || e.Process != 7 || e.Network != 1 || e.Queue != queue.Priority(6).Queue() {
					t.Errorf("descriptor %d: %+v, want %d and %d", len(ids), e, want.TID(), want.NID())
				}
				ids = append(ids, e.TID)
			}
		case e.Kind == queue.TaskFinished:
			open = false
		case e.Kind == queue.SwitchedIn:
			switched = true
			if e.TID != linked.Tasks[len(ids)].Header.Task.TID() {
				t.Errorf("%+v: descriptor %d goes next", e, len(ids))
			}
		}
	}
	if len(ids) != len(linked.Tasks) || !switched || open {
		t.Errorf("%d of %d descriptors, switched %t", len(ids), len(linked.Tasks), switched)
	}
}

// A call ends once, is refused beside another, and leaves nothing behind once aborted.
func TestCallsUnderWay(t *testing.T) {
	s := values(t)
	l, err := s.Load(t.Context(), samples.Read(t, samples.Observed))
	if err != nil {
		t.Fatal(err)
	}
	want := checksums(call(t, l))
	c, err := l.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Result(); err != anesim.ErrOutstanding {
		t.Errorf("a result before the end: %v", err)
	}
	if _, err := l.Start(t.Context()); err != anesim.ErrOutstanding {
		t.Errorf("a second call: %v", err)
	}
	if _, err := l.Call(t.Context()); err != anesim.ErrOutstanding {
		t.Errorf("a call at once: %v", err)
	}
	if _, more := c.Run(); !more {
		t.Fatal("the program has one run")
	}
	c.Abort()
	if _, more := c.Run(); more {
		t.Error("an aborted call goes on")
	}
	if _, err := c.Result(); err != anesim.ErrAborted {
		t.Errorf("an aborted call's result: %v", err)
	}
	if got := checksums(call(t, l)); got != want {
		t.Errorf("after an abort:\n%s, before\n%s", got, want)
	}
	if c, err = l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Unload()
	if _, err := c.Result(); err != anesim.ErrAborted {
		t.Errorf("the call of an unloaded program: %v", err)
	}
	if s.Used() != 0 {
		t.Errorf("%d bytes of memory are taken", s.Used())
	}
}
