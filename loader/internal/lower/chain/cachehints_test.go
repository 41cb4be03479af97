package chain

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// decodeText returns a program with the registers of a text's tasks.
func decodeText(t *testing.T, text []byte, first int) *program {
	t.Helper()
	p := new(program)
	for s, err := range regs.States(text, first) {
		if err != nil {
			t.Fatal(err)
		}
		p.steps = append(p.steps, step{Task: task.New(), h: s.Header, g: s.Groups})
	}
	return p
}

// The DMA configurations of every real text are what reuse makes of its addresses.
func TestReuse(t *testing.T) {
	count, tasks := map[string]int{}, 0
	for _, e := range realTexts(t) {
		want, got := decodeText(t, e.text, e.firstWords), decodeText(t, e.text, e.firstWords)
		for i := range got.steps {
			clearReuse(&got.steps[i])
		}
		got.setReuseFields()
		for i := range want.steps {
			tasks++
			w := &want.steps[i]
			if got, want := dmaConfigs(&got.steps[i]), dmaConfigs(w); got != want {
				t.Errorf("%s: task %d: %#x, the compiler's %#x", e.name, i, got, want)
			}
			d, b := &w.g.TileDMASrc, w.h.Bases
			for k, config := range [...]regs.SrcDMAConfig{d.Src1DMAConfig, d.Src2DMAConfig} {
				if bar := [...]uint32{b.RBase0(), b.RBase1()}[k]; config.DepMode() != 0 {
					count[fmt.Sprintf("source in scratch %t hint %x%x%x ends %t", bar == place.BarScratch,
						config.CHNoReuse(), config.CHReuse(), config.CacheHint(), config.DepMode() == sourceEnds)]++
				}
			}
			if config := w.g.TileDMADst.DstDMAConfig; w.g.DestinationOn() {
				count[fmt.Sprintf("destination in scratch %t over %t", b.WBase() == place.BarScratch, config.OverKind() != 0 || config.OverDistance() != 0)]++
			}
			if d.Src1DMAConfig.FromPrevious() {
				count["from the task before"]++
			}
		}
	}
	want := map[string]int{
		"source in scratch false hint 388 ends false": 163,
		"source in scratch false hint bb8 ends false": 6,
		"source in scratch false hint 3b0 ends false": 6,
		"source in scratch true hint bb8 ends false":  1,
		"source in scratch true hint 390 ends true":   9,
		"source in scratch true hint 388 ends false":  1, // both sources of one task
		"source in scratch true hint 3b0 ends false":  1,
		"from the task before":                        24,
		"destination in scratch false over false":     156,
		"destination in scratch true over false":      9,
		"destination in scratch true over true":       2,
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("words of the real texts (-want +got):\n%s", diff)
	}
	if tasks != 239 {
		t.Errorf("%d tasks, want 239", tasks)
	}
}

// newLineSurface returns the surface and the shape of rows of one 64-byte line.
func newLineSurface(bar uint32, base, rows int) (place.Memory, regs.Shape) {
	const row = 64
	return place.Memory{Bar: bar, Base: base * row, Row: row, Plane: rows * row, Depth: rows * row, Group: rows * row},
		regs.Shape{Groups: 1, Channels: 1, Height: rows, Width: row / layer.ElementBytes}
}

// A run of lines is where a test's operand stands.
type run struct {
	bar        uint32
	base, rows int
}

// newCopyTask returns a task that reads and writes runs of lines: on the MAC engines, or on the
// planar engine if there are two sources.
func newCopyTask(to *run, from ...run) *task.Task {
	m, s := newLineSurface(from[0].bar, from[0].base, from[0].rows)
	t := task.NewCopy(s)
	if len(from) > 1 {
		t = task.Planar{Form: regs.FormTwoSources, In: s}.Task()
	}
	t.LoadSource1(m, place.Packed(s), false)
	if len(from) > 1 {
		m, _ := newLineSurface(from[1].bar, from[1].base, from[1].rows)
		t.LoadSource2(m, place.Packed(s))
	}
	if to != nil {
		m, _ := newLineSurface(to.bar, to.base, to.rows)
		t.WriteResult(m, 0)
	}
	return t
}

// newMatmulTask is like newCopyTask for a task with weights in the scratch buffer.
func newMatmulTask(base int, to *run, from run) *task.Task {
	t := newCopyTask(to, from)
	t.SetKernelInBuffer(place.BarScratch, []coeff.Lane{{Base: base * 64, Size: 64}})
	return t
}

// Chains of our own: who reads what again, what ends in the scratch buffer and what is
// written over.
func TestReuseOfOwnChains(t *testing.T) {
	const rows = 8
	at := func(bar uint32, n int) run { return run{bar, n * rows, rows} }
	x, z, y := at(place.Bar5, 0), at(place.Bar6, 0), at(place.Bar4, 0)
	a, b := at(place.BarScratch, 0), at(place.BarScratch, 1)
	half := run{place.BarScratch, 0, rows / 2}
	far := []*task.Task{newCopyTask(&a, x), newCopyTask(nil, a)}
	for range 20 {
		far = append(far, newCopyTask(nil, z))
	}
	far = append(far, newCopyTask(&a, x))
	for _, test := range []struct {
		name  string
		tasks []*task.Task
		want  map[int][3]uint32
	}{
		{"two steps and the input again", []*task.Task{newCopyTask(&a, x), newCopyTask(&b, a), newCopyTask(&a, x), newCopyTask(&y, a, b)}, map[int][3]uint32{
			0: {0x3bb81, 0x8880, 0x40003c1},
			1: {0x53901, 0x8880, 0x40003c1},
			2: {0x33b01, 0x8880, 0x40403c1},
			3: {0x53901, 0x13900, 0x40000c1},
		}},
		{"both sources are one in scratch", []*task.Task{newCopyTask(&a, x, x), newCopyTask(&y, a, a)}, map[int][3]uint32{
			0: {0x33881, 0x33880, 0x40003c1},
			1: {0x73881, 0x33b00, 0x40000c1},
		}},
		{"a source of a task further back", []*task.Task{newCopyTask(&a, x), newCopyTask(&b, z), newCopyTask(&y, x, a)}, map[int][3]uint32{
			0: {0x3bb81, 0x8880, 0x40003c1},
			1: {0x33881, 0x8880, 0x40003c1},
			2: {0x33b01, 0x13900, 0x40000c1},
		}},
		{"half of it is read again", []*task.Task{newCopyTask(&a, x), newCopyTask(&b, a), newCopyTask(&y, half)}, map[int][3]uint32{
			1: {0x7bb81, 0x8880, 0x40003c1},
			2: {0x13901, 0x8880, 0x40000c1},
		}},
		{"written over, then read: another tensor", []*task.Task{newCopyTask(&a, x), newCopyTask(nil, a), newCopyTask(&a, z), newCopyTask(&y, a)}, map[int][3]uint32{
			1: {0x53901, 0x8880, 0xc0},
			2: {0x33881, 0x8880, 0x40403c1},
			3: {0x53901, 0x8880, 0x40000c1},
		}},
		{"half written over: the rest is read again", []*task.Task{newCopyTask(&a, x), newCopyTask(nil, a), newCopyTask(&half, run{place.Bar6, 0, rows / 2}), newCopyTask(&y, a)}, map[int][3]uint32{
			1: {0x7bb81, 0x8880, 0xc0},
			2: {0x33881, 0x8880, 0x40403c1},
		}},
		{"coefficients", []*task.Task{newCopyTask(&a, x), newMatmulTask(0, nil, z), newCopyTask(nil, x), newCopyTask(&a, z)}, map[int][3]uint32{
			0: {0x3bb81, 0x8880, 0x40003c1},
			1: {0x3bb81, 0x8880, 0xc0},
			3: {0x33b01, 0x8880, 0x44803c1},
		}},
		{"further back than the distance goes", far, map[int][3]uint32{
			len(far) - 1: {0x33b01, 0x8880, 0x7c403c1},
		}},
	} {
		p := newProgram(test.tasks)
		p.setReuseFields()
		for i, want := range test.want {
			if got := dmaConfigs(&p.steps[i]); got != want {
				t.Errorf("%s: task %d: %#x, want %#x", test.name, i, got, want)
			}
		}
	}
}

// TestReuseByLines compares reuse with its definition, line by line, on random chains.
func TestReuseByLines(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 5))
	for n := range 400 {
		var tasks []*task.Task
		var to []*run
		var from [][]run
		kernels := []int{}
		for range 2 + r.IntN(24) {
			rows := 1 + r.IntN(6)
			somewhere := func() run {
				return run{[...]uint32{place.BarScratch, place.BarScratch, place.Bar5}[r.IntN(3)], r.IntN(12), rows}
			}
			source := []run{somewhere()}
			if r.IntN(3) == 0 {
				source = append(source, somewhere())
			}
			var result *run
			if r.IntN(4) > 0 {
				at := run{place.BarScratch, r.IntN(12), rows}
				result = &at
			}
			kernel := -1
			if len(source) == 1 && r.IntN(4) == 0 {
				kernel = r.IntN(12)
				tasks = append(tasks, newMatmulTask(kernel, result, source[0]))
			} else {
				tasks = append(tasks, newCopyTask(result, source...))
			}
			to, from, kernels = append(to, result), append(from, source), append(kernels, kernel)
		}
		p := newProgram(tasks)
		p.setReuseFields()
		for i := range p.steps {
			if got, want := dmaConfigs(&p.steps[i]), expectConfigs(i, to, from, kernels); got != want {
				t.Fatalf("chain %d, task %d of %d: %#x, want %#x", n, i, len(tasks), got, want)
			}
			if got, want := p.steps[i].g.Meanings, meaningsOf(&p.steps[i]); got != want {
				t.Fatalf("chain %d, task %d of %d: %+v, its words say %+v", n, i, len(tasks), got, want)
			}
		}
	}
}

// expectConfigs computes the configurations of task i by the definition, line by line. to and
// from are the runs of the tasks of a chain, and kernels the lines of weights in the scratch
// buffer, negative for none.
func expectConfigs(i int, to []*run, from [][]run, kernels []int) [3]uint32 {
	in := func(r run, bar uint32, line int) bool { return r.bar == bar && r.base <= line && line < r.base+r.rows }
	reads := func(k int, bar uint32, line int) (tile, kernel bool) {
		for _, r := range from[k] {
			tile = tile || in(r, bar, line)
		}
		return tile, bar == place.BarScratch && kernels[k] == line
	}
	meets := func(a, b run) bool { return a.bar == b.bar && a.base < b.base+b.rows && b.base < a.base+a.rows }
	want := [3]uint32{0x8880, 0x8880, 0xc0}
	for s, r := range from[i] {
		again, before := false, false
		for line := r.base; line < r.base+r.rows; line++ {
			written := func(k int) bool { return to[k] != nil && in(*to[k], r.bar, line) }
			for k := i; k+1 < len(to) && !again && !written(k); k++ {
				tile, kernel := reads(k+1, r.bar, line)
				again = tile || kernel
			}
			for k := range i {
				tile, _ := reads(k, r.bar, line)
				before = before || tile
			}
		}
		switch twice := len(from[i]) > 1 && meets(from[i][0], from[i][1]); {
		case again:
			want[s] = 0x3bb80
		case r.bar == place.BarScratch && twice:
			want[s] = [...]uint32{0x33880, 0x33b00}[s]
		case r.bar == place.BarScratch:
			want[s] = 0x13900
		case before:
			want[s] = 0x33b00
		default:
			want[s] = 0x33880
		}
		if i > 0 && to[i-1] != nil && meets(r, *to[i-1]) {
			want[0] |= 1 << 18
		}
	}
	want[0] |= 1
	if to[i] == nil {
		return want
	}
	want[2] = 0x40003c1
	last, kernelDMA := -1, false
	for line := to[i].base; line < to[i].base+to[i].rows; line++ {
		for k := i - 1; k >= 0; k-- {
			tile, kernel := reads(k, place.BarScratch, line)
			if (tile || kernel) && k >= last {
				kernelDMA = kernel || k == last && kernelDMA
				last = k
			}
			if tile || kernel || to[k] != nil && in(*to[k], place.BarScratch, line) {
				break
			}
		}
	}
	if last >= 0 {
		kind := uint32(1)
		if kernelDMA {
			kind = 2
		}
		want[2] |= kind<<18 | uint32(min(i-last-1, 15))<<22
	}
	return want
}

// The tensors that real texts have in the scratch buffer stand where allocate puts them.
func TestScratchOfTexts(t *testing.T) {
	texts, tensors := 0, 0
	for _, e := range realTexts(t) {
		var list []*place.Extent
		var bases []int
		live := map[*place.Extent]byteRange{}
		for i, x := range decodeText(t, e.text, e.firstWords).steps {
			m := x.memoryRanges()
			for p, s := range live {
				for k := range m.source {
					if m.on[k] && m.source[k].overlaps(s) {
						p.Last = i
					}
				}
				if m.kernel.overlaps(s) {
					p.Last = i
				}
			}
			if m.writes && m.result.bar == place.BarScratch {
				for p, s := range live {
					if s.overlaps(m.result) {
						delete(live, p)
					}
				}
				p := &place.Extent{Bytes: layer.RoundUp(int(m.result.to-m.result.from), place.ScratchPage), First: i, Last: i}
				live[p] = m.result
				list, bases = append(list, p), append(bases, int(m.result.from))
			}
		}
		if len(list) == 0 {
			continue
		}
		texts++
		tensors += len(list)
		place.AllocateScratch(list)
		for n, p := range list {
			if p.Base != bases[n] {
				t.Errorf("%s: tensor %d, from task %d to %d, at %#x, the compiler's at %#x", e.name, n, p.First, p.Last, p.Base, bases[n])
			}
		}
	}
	if texts != 6 || tensors != 11 {
		t.Errorf("%d tensors in %d texts, want 11 in 6", tensors, texts)
	}
}

// clearReuse clears the fields that setReuseFields writes.
func clearReuse(t *step) {
	d := &t.g.TileDMASrc
	for _, s := range [...]*regs.SrcDMAConfig{&d.Src1DMAConfig, &d.Src2DMAConfig} {
		if s.DepMode() != 0 {
			*s = s.WithCacheHint(hintOnce.cache).WithCHReuse(hintOnce.reuse).WithCHNoReuse(hintOnce.noReuse).WithDepMode(sourceStays)
		}
	}
	d.Src1DMAConfig = d.Src1DMAConfig.WithFromPrevious(false)
	w := &t.g.TileDMADst.DstDMAConfig
	*w = w.WithScratchHint(0).WithOverKind(0).WithOverDistance(0)
}

// meaningsOf returns the meanings of a task's words, which must be those that the task was made with.
func meaningsOf(t *step) regs.Meanings {
	g := t.g
	g.ReadMeanings()
	return g.Meanings
}

// dmaConfigs returns the DMA configurations of a task.
func dmaConfigs(t *step) [3]uint32 {
	d := &t.g.TileDMASrc
	return [3]uint32{regs.Raw(d.Src1DMAConfig), regs.Raw(d.Src2DMAConfig), regs.Raw(t.g.TileDMADst.DstDMAConfig)}
}
