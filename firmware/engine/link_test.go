package engine

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

// dilated returns the program of a convolution with a window of 3x5 rows and columns, of which 2x3
// have weights. If row is not negative, the weights of that row are zero.
func dilated(t *testing.T, row int) *loader.Program {
	t.Helper()
	l := layer.Conv(layer.Shape{N: 1, C: 4, H: 8, W: 9}, 20, layer.Window{Kh: 3, Kw: 5, Sy: 1, Sx: 1})
	l.Dilation = 2
	w := layer.Weights{}
	for i := range 20 * 4 * 2 * 3 {
		v := float16.Float16(0x3c00 + i)
		if i/3%2 == row {
			v = 0
		}
		w.Filter = append(w.Filter, v)
	}
	p, err := lower.Lower(l, w)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Linking counts the taps that tasks need, unless their weights come at run time or are unknown.
func TestLinkCountsTaps(t *testing.T) {
	window := func(p *loader.Program) regs.ConvCfg {
		for s, err := range p.States() {
			if err != nil {
				t.Fatal(err)
			}
			return s.Groups.Common.ConvCfg
		}
		panic("no descriptors")
	}
	p := dilated(t, -1)
	constants := func(p *loader.Program) *loader.Segment {
		p.Segments = slices.Clone(p.Segments)
		s, ok := p.Segment("__TEXT", "__const")
		if !ok {
			t.Fatal("no constants")
		}
		return s
	}
	for name, tc := range map[string]struct {
		change func(p *loader.Program)
		want   int
	}{
		"as made":    {func(*loader.Program) {}, 6},
		"of zeros":   {func(p *loader.Program) { s := constants(p); s.Data = make([]byte, len(s.Data)) }, 1},
		"cut short":  {func(p *loader.Program) { constants(p).Data = make([]byte, 1) }, 1},
		"not given":  {func(p *loader.Program) { constants(p).Data = nil }, 0},
		"writable":   {func(p *loader.Program) { constants(p).Prot |= loader.ProtWrite }, 0},
		"only sized": {func(p *loader.Program) { constants(p).Unmade = true }, 0},
		"sized, with a count": {func(p *loader.Program) {
			constants(p).Unmade = true
			p.WindowTaps = map[int]regs.WindowTaps{0: {Window: window(p), Taps: 4}}
		}, 4},
		"a port ends after their start": {func(p *loader.Program) {
			s := constants(p)
			p.Ports = append(slices.Clip(p.Ports), loader.Port{Address: s.Addr - 8, Bytes: 9})
		}, 0},
		"a port ends at their start": {func(p *loader.Program) {
			s := constants(p)
			p.Ports = append(slices.Clip(p.Ports), loader.Port{Address: s.Addr - 8, Bytes: 8})
		}, 6},
	} {
		q := *p
		tc.change(&q)
		k, err := Link(&q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for task, err := range k.Stream.Tasks(new(regs.File)) {
			if err != nil {
				t.Fatal(err)
			}
			if task.WindowTaps != tc.want {
				t.Errorf("constants %s: %d taps, want %d", name, task.WindowTaps, tc.want)
			}
		}
	}
	k, err := Link(dilated(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[int]regs.WindowTaps{0: {Window: window(p), Taps: 3}}, k.Stream.WindowTaps, cmpopts.EquateComparable(regs.ConvCfg{})); d != "" {
		t.Errorf("a row of zeros (-want +got):\n%s", d)
	}
	// A program that needs all taps has no counts, so that walks look up nothing.
	if p, err = lower.Lower(layer.Conv(layer.Shape{N: 1, C: 1, H: 3, W: 3}, 1, layer.Valid(3, 1)), layer.Weights{Filter: slices.Repeat([]float16.Float16{0x3c00}, 9)}); err != nil {
		t.Fatal(err)
	}
	if k, err = Link(p); err != nil || k.Stream.WindowTaps != nil {
		t.Errorf("a dense window: %v, %v", k.Stream.WindowTaps, err)
	}
}

// Each form of a program counts the same taps.
func TestLinkCountsTapsOfEveryForm(t *testing.T) {
	p := dilated(t, -1)
	anec, err := p.ANEC()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range [][]byte{p.Bytes(), anec} {
		q, err := loader.Read("program", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		k, err := Link(q)
		if err != nil {
			t.Fatal(err)
		}
		if n := k.Stream.WindowTaps[0].Taps; n != 6 {
			t.Errorf("%s: %d taps, want 6", q.Form, n)
		}
	}
}

// Weights that tasks have in common are read once. Tasks that read them at many overlapping places
// do not make linking read more than a few times the program.
func TestTapCounterReadsInProportion(t *testing.T) {
	p := dilated(t, 0)
	for i := range p.Segments {
		if s := &p.Segments[i]; s.Section == "__const" {
			s.Data = make([]byte, len(s.Data)) // zeros are read to their end
		}
	}
	k, err := p.Link()
	if err != nil {
		t.Fatal(err)
	}
	c := newTapCounter(p)
	all := c.left
	first := c.countTaps(k, k.Tasks[0])
	once := all - c.left
	if again := c.countTaps(k, k.Tasks[0]); first != 1 || again != first || all-c.left != once || once == 0 {
		t.Errorf("counted %d and %d taps in %d and %d bytes; want 1 tap both times, and no byte read again", first, again, once, all-c.left)
	}
	task := *k.Tasks[0]
	stopped := false
	for i := range int(all/once) + 2 {
		g := &task.Groups
		g.Common.Cfg = regs.FromRaw[regs.CommonCfg](uint32(i + 1)) // another key, and the same weights
		stopped = c.countTaps(k, &task) == 0
	}
	if !stopped || c.left > all {
		t.Errorf("%d of %d bytes are left, want the counter to stop reading", c.left, all)
	}
}
