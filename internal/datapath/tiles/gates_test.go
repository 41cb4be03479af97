package tiles

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

func TestEnables(t *testing.T) {
	e := Enables(0b11_01_00_10)
	var got []int
	for i := range 5 {
		got = append(got, e.Engine(i))
	}
	if d := cmp.Diff([]int{1, 0, 1, 2, 0}, got); d != "" {
		t.Errorf("engines (-want +got):\n%s", d)
	}
	if e.Tiles() != 4 || AllTiles.Tiles() != 32 {
		t.Errorf("%d tiles of %b and %d of all", e.Tiles(), e, AllTiles.Tiles())
	}
}

// fullAndHalf opens both tiles of some engines and one of others.
func fullAndHalf(full, half int) (e Enables) {
	for i := range full {
		e |= 3 << (2 * i)
	}
	for i := full; i < full+half; i++ {
		e |= 1 << (2*i + i%2) // now one half, now the other
	}
	return e
}

func TestAssign(t *testing.T) {
	for _, tc := range []struct {
		full, half, want, groups int
		crew                     Crew // engines, tiles, rounds, slow ones, own, short
	}{
		{16, 0, 16, 1, Crew{16, 32, 1, 0, 1, 0}},
		{16, 0, 1, 1, Crew{1, 2, 1, 0, 1, 0}},
		{4, 12, 4, 1, Crew{4, 8, 1, 0, 1, 0}},    // full engines are taken first
		{0, 16, 16, 1, Crew{16, 16, 1, 1, 1, 0}}, // half the MACs, half the rate
		{8, 0, 16, 1, Crew{8, 16, 2, 0, 1, 0}},   // the others' groups in a second round
		{8, 8, 16, 1, Crew{8, 16, 2, 0, 1, 0}},   // no quicker with the half ones
		{7, 9, 16, 1, Crew{16, 23, 1, 1, 1, 0}},  // three rounds of the full ones are slower
		{15, 0, 16, 1, Crew{15, 30, 2, 0, 1, 0}}, // one group more is a round more
		{15, 1, 16, 1, Crew{15, 30, 2, 0, 1, 0}},
		{15, 0, 16, 4, Crew{15, 30, 5, 0, 4, 0}}, // and of four rounds it is one more
		{15, 1, 16, 15, Crew{15, 30, 16, 0, 15, 0}},
		{7, 9, 16, 4, Crew{16, 23, 4, 4, 4, 0}}, // 64 groups: 8 rounds' time, 10 of the full ones
		{7, 8, 16, 2, Crew{7, 14, 5, 0, 2, 0}},  // 30 at half rate and 2 at full are no quicker
		{1, 0, 16, 1, Crew{1, 2, 16, 0, 1, 0}},
		{0, 1, 16, 1, Crew{1, 1, 16, 16, 1, 0}},
		{0, 5, 16, 1, Crew{5, 5, 4, 4, 1, 0}},
		{1, 3, 4, 1, Crew{4, 5, 1, 1, 1, 0}},
		{0, 0, 16, 1, Crew{}},
		{0, 0, 1, 3, Crew{}},
	} {
		if d := cmp.Diff(tc.crew, fullAndHalf(tc.full, tc.half).assign(tc.want, tc.groups, 1, 1)); d != "" {
			t.Errorf("%d full and %d half engines for %d of %d groups (-want +got):\n%s", tc.full, tc.half, tc.want, tc.groups, d)
		}
	}
	if h := fullAndHalf(3, 2).Half(); h != 3 || AllTiles.Half() != -1 {
		t.Errorf("engine %d has one tile", h)
	}
}

// TestShortRounds checks in which rounds engines compute only last groups, which have fewer channels.
func TestShortRounds(t *testing.T) {
	for _, tc := range []struct{ full, half, want, groups, rounds, slow, short int }{
		{16, 0, 16, 3, 3, 0, 1},
		{8, 0, 16, 2, 4, 0, 2},  // two rounds of 16 whole groups, two of 16 last ones
		{15, 0, 16, 2, 3, 0, 1}, // 15 whole groups, one whole and 14 last ones, two last ones
		{0, 16, 16, 2, 2, 2, 2}, // a slow round counts twice
		{7, 9, 16, 2, 2, 2, 2},  // whole groups in a slow round, last ones in the other
	} {
		c := fullAndHalf(tc.full, tc.half).assign(tc.want, tc.groups, 16, 1)
		if c.Rounds != tc.rounds || c.Slow != tc.slow || c.Short != tc.short {
			t.Errorf("%+v: %+v", tc, c)
		}
	}
}

// TestGatingIsSpreadOverRounds checks that the cost of a closed tile falls with the number of
// groups of an engine, because it is spread over more rounds.
func TestGatingIsSpreadOverRounds(t *testing.T) {
	last := 3.0
	for groups := 1; groups <= 64; groups *= 2 {
		c := fullAndHalf(15, 1).assign(16, groups, 1, 1)
		cost := float64(c.Pace()) / float64(groups)
		if cost > last || cost < 16./15 {
			t.Errorf("%d groups: %v times as long, %v with half as many", groups, cost, last)
		}
		last = cost
	}
	if last > 1.09 {
		t.Errorf("64 groups still take %v times as long", last)
	}
}

var m1 = Params{Engines: 16, MACs: 256, PatchPixels: 256, MaxPack: 8}

// The cost dump of Apple's compiler for a 1x1 convolution of 3 to 2 channels with a
// bias over one pixel: one work unit of 4 and 1 cycles, 5 in a row and 4 overlapped.
func TestPlanOfTheCostDump(t *testing.T) {
	l := inner(2, 3, 0)
	l.biases = []half{1, 1}
	w := Plan(l.registers(), AllTiles, m1)
	want := Work{
		Crew: Crew{2, 4, 1, 0, 1, 0}, Patches: 1, WorkUnits: 1, MACCycles: 4, PostCycles: 1,
		MACs: 6, Pixels: 1, Channels: 1,
	}
	if d := cmp.Diff(want, w); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if w.Single() != 5 || w.Double() != 4 {
		t.Errorf("%d cycles in a row and %d overlapped, the dump has 5 and 4", w.Single(), w.Double())
	}
}

func TestPlan(t *testing.T) {
	conv := func(cin, cout, side, k, ocg int) *regs.Groups {
		l := inner(cout, cin, ocg)
		l.hin, l.win, l.hout, l.wout, l.kh, l.kw = side, side, side, side, k, k
		return l.registers()
	}
	pass := conv(64, 64, 16, 1, 0)
	pass.NE.MACCfg = macCfg(12).WithNonlinearMode(regs.ActivationTable)
	grouped := inner(16, 16, 0)
	grouped.groups, grouped.hout, grouped.wout, grouped.kh, grouped.kw = 4, 16, 16, 3, 3
	for _, tc := range []struct {
		name string
		g    *regs.Groups
		open Enables
		want Work
	}{
		{"3x3, 16 patches", conv(64, 64, 64, 3, 2), AllTiles,
			Work{Crew{16, 32, 1, 0, 1, 0}, 16, 16, 4 * 576, 4, 64 * 64 * 64 * 576, 0, 0, 0, 4096, 4, 0, 0, 0}},
		{"two rounds of channels", conv(64, 512, 16, 1, 4), AllTiles,
			Work{Crew{16, 32, 2, 0, 2, 0}, 1, 2, 16 * 64, 16, 512 * 256 * 64, 0, 0, 0, 256, 16, 0, 0, 0}},
		{"a quarter patch takes four channels a step", conv(64, 64, 8, 1, 2), AllTiles,
			Work{Crew{16, 32, 1, 0, 1, 0}, 1, 1, 64, 1, 64 * 64 * 64, 0, 0, 0, 64, 4, 0, 0, 0}},
		{"one pixel takes eight at most", conv(64, 256, 1, 1, 4), AllTiles,
			Work{Crew{16, 32, 1, 0, 1, 0}, 1, 1, 2 * 64, 2, 256 * 64, 0, 0, 0, 1, 16, 0, 0, 0}},
		{"one pixel more than a patch", conv(1, 16, 17, 1, 0), AllTiles,
			Work{Crew{16, 32, 1, 0, 1, 0}, 2, 2, 1, 1, 16 * 289, 0, 0, 0, 289, 1, 0, 0, 0}},
		{"a last group of one channel", conv(64, 272, 16, 1, 4), AllTiles,
			Work{Crew{16, 32, 2, 0, 2, 1}, 1, 2, 16 * 64, 16, 272 * 256 * 64, 0, 0, 0, 256, 16, 64, 1, 0}},
		{"half the engines", conv(64, 64, 64, 3, 2), fullAndHalf(8, 0),
			Work{Crew{8, 16, 2, 0, 1, 0}, 16, 32, 4 * 576, 4, 64 * 64 * 64 * 576, 0, 0, 0, 4096, 4, 0, 0, 0}},
		{"table", pass, AllTiles,
			Work{Crew{16, 32, 1, 0, 1, 0}, 1, 1, 4, 4, 0, 0, 0, 64 * 256, 256, 4, 0, 0, 0}},
		{"groups", grouped.registers(), AllTiles,
			Work{Crew{16, 32, 1, 0, 1, 0}, 4, 4, 144, 1, 64 * 256 * 144, 0, 0, 0, 256, 1, 0, 0, 0}},
	} {
		if d := cmp.Diff(tc.want, Plan(tc.g, tc.open, m1)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// A row runs in slices of half a patch: one of 375 columns takes as long as one of 384, and three quarters of
// the time of one of 512. A longer row never takes less.
func TestRowsRunInHalfPatches(t *testing.T) {
	row := func(width int) clock.Cycles {
		l := inner(64, 64, 2)
		l.hout, l.wout, l.hin, l.win = 1, width, 1, width
		w := Plan(l.registers(), AllTiles, m1)
		return w.Double()
	}
	if a, b, c := row(375), row(384), row(512); a != b || 4*a != 3*c {
		t.Errorf("375 columns %d cycles, 384 %d, 512 %d", a, b, c)
	}
	for width, before := 1, clock.Cycles(0); width < 1100; width++ {
		now := row(width)
		if now < before && width > 128 { // fewer pixels than a patch share steps
			t.Errorf("%d columns take %d cycles, one less %d", width, now, before)
		}
		before = now
	}
}

// Half engines work at half the rate.
func TestHalfEnginesTakeTwiceAsLong(t *testing.T) {
	l := inner(64, 64, 2)
	l.hout, l.wout = 32, 32
	g := l.registers()
	all, half := Plan(g, AllTiles, m1), Plan(g, fullAndHalf(0, 16), m1)
	if half.Double() != 2*all.Double() || half.Single() != 2*all.Single() {
		t.Errorf("%d and %d cycles with all tiles, %d and %d with half", all.Single(), all.Double(), half.Single(), half.Double())
	}
}

// An array that transforms rows takes two steps for each row of a window three columns wide, where an
// M6 was faster than its multipliers: windows of 3x3 on more than 8 rows and of 1x3 on any. It takes all
// steps for other windows, strides and depthwise convolutions.
func TestWinogradTakesTwoOfThreeSteps(t *testing.T) {
	later := m1
	later.Winograd = true
	for _, tc := range []struct {
		kh, kw, rows, stride int
		depthwise, faster    bool
	}{
		{3, 3, 64, 1, false, true},
		{3, 3, 8, 1, false, false},
		{1, 3, 4, 1, false, true},
		{3, 1, 64, 1, false, false},
		{5, 5, 64, 1, false, false},
		{3, 3, 64, 2, false, false},
		{3, 3, 64, 1, true, false},
	} {
		l := inner(64, 64, 2)
		l.hin, l.win, l.hout, l.wout, l.kh, l.kw = 64, 64, tc.rows, 64, tc.kh, tc.kw
		g := l.registers()
		g.Common.ConvCfg = g.Common.ConvCfg.WithSx(uint32(tc.stride)).WithSy(uint32(tc.stride))
		if tc.depthwise {
			g.Common.GroupConvCfg = g.Common.GroupConvCfg.WithUnicastEn(true).WithUnicastCin(1)
		}
		plain, w := Plan(g, AllTiles, m1), Plan(g, AllTiles, later)
		if got := 3*w.MACCycles == 2*plain.MACCycles; got != tc.faster || !got && w != plain {
			t.Errorf("%+v: %d steps, %d without the transform", tc, w.MACCycles, plain.MACCycles)
		}
		if w.MACs != plain.MACs {
			t.Errorf("%+v: %d products, the values need %d", tc, w.MACs, plain.MACs)
		}
	}
}

// On an M6 a window of 9 columns takes more than twice as long as one of 8, and one of 9 rows an eighth more.
func TestWideWindowsTakeTwoPasses(t *testing.T) {
	later := m1
	later.WindowColumns = 8
	cycles := func(kh, kw int) int {
		l := inner(64, 64, 2)
		l.hin, l.win, l.hout, l.wout, l.kh, l.kw = 4, 32, 4, 32, kh, kw
		w := Plan(l.registers(), AllTiles, later)
		return w.MACCycles
	}
	if eight, nine, tall := cycles(1, 8), cycles(1, 9), cycles(9, 1); 4*nine != 9*eight || 8*tall != 9*eight {
		t.Errorf("8 columns %d, 9 columns %d, 9 rows %d", eight, nine, tall)
	}
}

// Closing a tile never makes a task quicker, and as long as one is open it ends.
func TestClosingTilesNeverLowersCycles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		l := inner(1+r.IntN(300), 1+r.IntN(64), r.IntN(6))
		l.hout, l.wout = 1+r.IntN(40), 1+r.IntN(40)
		g := l.registers()
		open, before := AllTiles, clock.Cycles(0)
		for _, tile := range r.Perm(Tiles) {
			w := Plan(g, open, m1)
			if w.Double() < before || w.Engines == 0 || w.Tiles > open.Tiles() {
				t.Fatalf("%032b: %d cycles after %d; %+v", open, w.Double(), before, w)
			}
			before = w.Double()
			open &^= 1 << tile
		}
	}
}

func TestPlanAllocatesNothing(t *testing.T) {
	g := inner(64, 64, 2).registers()
	if n := testing.AllocsPerRun(100, func() { Plan(g, AllTiles, m1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Eight accumulators hold two units of up to eight channels an engine, else one.
func TestAccumulatorsBuffer(t *testing.T) {
	p := Params{Engines: 16, MACs: 256, PatchPixels: 256, MaxPack: 8}
	for post, double := range map[int]bool{1: true, 8: true, 9: false, 16: false} {
		w := Work{WorkUnits: 3, MACCycles: 100, PostCycles: post}
		want := w.Single()
		if double {
			want = w.Double()
		}
		if got := w.Buffered(p); got != want {
			t.Errorf("%d channels: %d cycles, want %d", post, got, want)
		}
	}
}

// Twice the engines take half the passes over the output channels, half the multipliers
// twice the cycles of a step, and eight engines the passes of an array with eight gated.
func TestOtherArrays(t *testing.T) {
	l := inner(256, 256, 3)
	l.hin, l.win, l.hout, l.wout = 32, 32, 32, 32
	g := l.registers()
	base := Plan(g, AllTiles, m1)
	with := func(change func(*Params)) Work {
		p := m1
		change(&p)
		return Plan(g, p.Present(), p)
	}
	if w := with(func(p *Params) { p.Engines = 32 }); 2*w.Buffered(m1) != base.Buffered(m1) || w.Engines != 32 || w.Tiles != 64 || w.MACs != base.MACs {
		t.Errorf("32 engines: %+v of %+v", w, base)
	}
	if w := with(func(p *Params) { p.MACs = 128 }); w.MACCycles != 2*base.MACCycles {
		t.Errorf("128 multipliers: %+v of %+v", w, base)
	}
	if w := with(func(p *Params) { p.MACs = 512 }); 2*w.MACCycles != base.MACCycles || 2*w.PostCycles != base.PostCycles {
		t.Errorf("512 multipliers: %+v of %+v", w, base)
	}
	if w, gated := with(func(p *Params) { p.Engines = 8 }), Plan(g, 1<<16-1, m1); w != gated || w.Rounds != 2*base.Rounds {
		t.Errorf("8 engines: %+v, gated %+v", w, gated)
	}
}
