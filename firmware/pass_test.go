package firmware

import (
	"slices"
	"testing"

	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/hw/regs"
)

// timed is a recorder whose tasks take ten nanoseconds each.
type timed struct{ recorder }

func (d *timed) Elapsed() clock.Nanoseconds { return clock.Nanoseconds(10 * len(d.cin)) }

// marked returns the descriptors of chain with the bits TSR and TSE set in those whose indices are
// in ends.
func marked(t *testing.T, ends ...int) *regs.Stream {
	t.Helper()
	var ds []*regs.Descriptor
	for d, err := range regs.Chain(chain().Text, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(ends, d.Index) {
			d.Header.Control = d.Header.Control.WithTSR(true).WithTSE(true)
		}
		ds = append(ds, d)
	}
	return &regs.Stream{Text: regs.EncodeChain(ds)}
}

// Two chains on two queues: the urgent one comes between the runs of the other, and each
// sees the registers that it wrote itself.
func TestPassesKeepTheirRegisters(t *testing.T) {
	s := queue.New()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	c := New(Known())
	submit := func(p queue.Priority, ends ...int) *timed {
		t.Helper()
		d := &timed{recorder{haltAt: -1}}
		x, err := c.Pass(marked(t, ends...), d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Submit(queue.Request{Priority: p, Network: 1, Work: x}); err != nil {
			t.Fatal(err)
		}
		return d
	}
	low := submit(6, 0, 2)
	if _, err := s.Step(); err != nil || len(low.cin) != 1 || s.Now() != 10 {
		t.Fatalf("the first run took %d tasks and %v (%v)", len(low.cin), s.Now(), err)
	}
	high := submit(1)
	if _, err := s.Step(); err != nil || len(high.cin) != 3 || len(low.cin) != 1 {
		t.Fatalf("the urgent chain ran %d tasks, the other %d (%v)", len(high.cin), len(low.cin), err)
	}
	if err := s.Drain(); err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]*timed{"low": low, "high": high} {
		if want := []uint32{64, 64, 32}; !slices.Equal(d.cin, want) {
			t.Errorf("%s: channels %d, want %d", name, d.cin, want)
		}
	}
}

// A descriptor that must not be aborted, or that switches contexts itself, ends no run.
func TestHoldingDescriptorsEndNoRun(t *testing.T) {
	for name, hold := range map[string]func(*regs.Task){
		"DisallowAbort":    func(t *regs.Task) { t.Header.Control = t.Header.Control.WithDisallowAbort(true) },
		"ContextSwitchIn":  func(t *regs.Task) { t.Groups.Common.Cfg = t.Groups.Common.Cfg.WithContextSwitchIn(true) },
		"ContextSwitchOut": func(t *regs.Task) { t.Groups.Common.Cfg = t.Groups.Common.Cfg.WithContextSwitchOut(true) },
		"DPC":              func(t *regs.Task) { t.Header.Control = t.Header.Control.WithDPC(true) },
		"TSE alone":        func(t *regs.Task) { t.Header.Control = t.Header.Control.WithTSR(false) },
	} {
		var task regs.Task
		task.Header.Control = task.Header.Control.WithTSR(true).WithTSE(true)
		if !EndsRun(&task) {
			t.Fatal("TSR and TSE end no run")
		}
		if hold(&task); EndsRun(&task) {
			t.Errorf("%s: the run ends", name)
		}
	}
}

func TestPassEnds(t *testing.T) {
	c := New(Known())
	d := &timed{recorder{haltAt: 1}}
	p, err := c.Pass(chain(), d)
	if err != nil {
		t.Fatal(err)
	}
	if took, more := p.Run(); took != 20 || more || !p.Halted || p.Tasks != 2 {
		t.Errorf("a halted pass: %v, more %t, %+v tasks", took, more, p.Tasks)
	}
	bad := chain()
	bad.Text = bad.Text[:0x108]
	d = &timed{recorder{haltAt: -1}}
	if p, err = c.Pass(bad, d); err != nil {
		t.Fatal(err)
	}
	if _, more := p.Run(); more || p.Err == nil || p.Tasks != 1 {
		t.Errorf("a cut chain: %d tasks, %v", p.Tasks, p.Err)
	}
}
