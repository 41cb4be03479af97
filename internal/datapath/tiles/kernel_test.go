package tiles

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/internal/datapath/mac"
)

// kernelCases are layers of one pixel over many channel counts, reductions and widths.
func kernelCases(yield func(string, *layer) bool) {
	for _, cout := range []int{1, 2, 3, 15, 16, 17, 31, 32, 48, 64, 100, 224, 256, 512, 768, 1000} {
		for _, taps := range []int{1, 2, 9, 25} {
			for ocg := range 6 {
				for _, bias := range []bool{false, true} {
					for _, groups := range []int{1, 2, 5} {
						l := inner(cout, taps, ocg)
						l.groups = groups
						name := fmt.Sprintf("cout %d, taps %d, ocg %d, bias %v, groups %d", cout, taps, ocg, bias, groups)
						if cout*groups > 1024 && taps > 2 {
							continue
						}
						if !yield(name, l.fill(bias)) {
							return
						}
					}
				}
			}
		}
	}
}

// checkKernel makes sure that k holds the layer's weights and biases.
func checkKernel(t *testing.T, k *Kernel, l *layer) {
	t.Helper()
	var got []half
	for n := range l.groups * l.cout {
		group, c := n/l.cout, n%l.cout
		for pixel := range max(1, l.ox) {
			want := l.streamed(n, pixel)
			got = slices.Grow(got, len(want))[:len(want)]
			k.Taps(got, group, c, pixel)
			if !slices.Equal(want, got) {
				t.Errorf("group %d, channel %d, pixel %d (-want +got):\n%s", group, c, pixel, cmp.Diff(want, got))
			}
			bias := half(0)
			if l.biases != nil {
				bias = l.biases[n]
			}
			if got := k.Bias(group, c, pixel); got != bias {
				t.Errorf("group %d, channel %d, pixel %d: bias %#04x, want %#04x", group, c, pixel, uint16(got), uint16(bias))
			}
		}
	}
}

func TestKernelReadsWhatWasPacked(t *testing.T) {
	for name, l := range kernelCases {
		k, err := NewKernel(l.registers(), l.pack())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkKernel(t, k, l)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// The packed forms unpack to the weights they were made from.
func TestPackedKernelReadsWhatWasPacked(t *testing.T) {
	for _, tc := range []struct {
		packing Packing
		palette int
		stride  int
	}{
		{packing: ZeroSkipping, stride: 2},
		{packing: Masked, stride: 1},
		{packing: Palette, palette: 4, stride: 1},
		{packing: Palette, palette: 8, stride: 1},
		{packing: Int8, stride: 1},
	} {
		for _, cout := range []int{1, 7, 16, 20, 100, 513} {
			for _, cin := range []int{1, 9} {
				for _, bias := range []bool{false, true} {
					for _, groups := range []int{1, 3} {
						name := fmt.Sprintf("%v/%d/cin=%d,cout=%d,bias=%v,groups=%d", tc.packing, tc.palette, cin, cout, bias, groups)
						t.Run(name, func(t *testing.T) {
							l := inner(cout, cin, 5)
							l.packing, l.palette, l.groups = tc.packing, tc.palette, groups
							l.sx, l.sy = tc.stride, tc.stride
							if tc.packing != ZeroSkipping {
								l.kh, l.kw = 2, 3
							}
							l.fill(bias)
							g := l.registers()
							if p, note := PackingOf(g); p != tc.packing || note != "" {
								t.Fatalf("PackingOf = %v, %q", p, note)
							}
							k, err := NewKernel(g, l.pack())
							if err != nil {
								t.Fatal(err)
							}
							checkKernel(t, k, l)
						})
					}
				}
			}
		}
	}
}

// TestTwoPixelsAStep checks the layout with two pixels per step next to each other, shifted
// against each other, even columns first. It gives the depthwise 1x9 example its hash.
func TestTwoPixelsAStep(t *testing.T) {
	l := inner(16, 1, 0)
	l.kw, l.ox, l.win, l.wout, l.unicast = 3, 2, 8, 8, true
	l.cin = 16
	l.fill(true)
	lanes := l.pack()
	a, b, c := l.weights[0][0], l.weights[0][1], l.weights[0][2]
	want := []half{0x8000, 0x8000, a, 0, c, b, b, a, 0, c}
	var raw []byte
	for _, h := range want {
		raw = put(raw, h)
	}
	if d := cmp.Diff(pad64(raw), lanes[0]); d != "" {
		t.Errorf("packed (-want +got):\n%s", d)
	}
	k, err := NewKernel(l.registers(), lanes)
	if err != nil {
		t.Fatal(err)
	}
	checkKernel(t, k, l)
}

// The formula of the programs' reference for a matrix W[N][K] whose rows fill the planes:
// g rows interleave, and half q*K*g + k*g + n mod g of the section is W[n][k].
func TestPlaceFollowsTheInnerProductFormula(t *testing.T) {
	for _, n := range []int{16, 32, 64, 128, 256, 512, 1024} {
		for _, taps := range []int{1, 3, 64} {
			l := inner(n, taps, 4)
			k, err := NewKernel(l.registers(), l.fill(false).pack())
			if err != nil {
				t.Fatal(err)
			}
			g := min(16, n/16)
			planes := n / g
			laneBytes := 2 * taps * n / 16
			for row := range n {
				p := row / g
				q := p%16*(planes/16) + p/16
				lane, at, step := k.locateWeights(0, row, 0)
				got := (lane*laneBytes + at) / 2
				if want := q*taps*g + row%g; got != want || step != 2*g {
					t.Fatalf("N %d, K %d: row %d starts at half %d with step %d, want %d and %d", n, taps, row, got, step/2, want, g)
				}
			}
		}
	}
}

// 768 channels over a small input are 512 in planes of 32 and 256 in planes of 16.
func TestPlaceTakesSmallerPlanesForTheRest(t *testing.T) {
	const taps = 5
	for _, tc := range []struct {
		cout, ocg      int
		channel        int
		lane, at, step int // at and step in halves
	}{
		{768, 5, 0, 0, 0, 32},
		{768, 5, 31, 0, 31, 32},
		{768, 5, 32, 1, 0, 32},
		{768, 5, 511, 15, 31, 32},
		{768, 5, 512, 0, 32 * taps, 16},
		{768, 5, 528, 1, 32 * taps, 16},
		{768, 5, 767, 15, 32*taps + 15, 16},
		{768, 4, 256, 0, 16 * taps, 16}, // two and then one more plane of 16 in every lane
		{768, 4, 512, 0, 32 * taps, 16},
		{224, 4, 223, 15, 13, 14}, // not a power of two
		{224, 3, 127, 15, 7, 8},
		{224, 3, 128, 0, 8 * taps, 6},
		{100, 4, 95, 15, 5, 6},
		{100, 4, 99, 3, 6 * taps, 1},
		{17, 4, 15, 15, 0, 1},
		{17, 4, 16, 0, taps, 1},
		{15, 4, 14, 14, 0, 1}, // below sixteen: a lane each
		{1, 0, 0, 0, 0, 1},
		{64, 0, 63, 15, 3 * taps, 1}, // depthwise: four channels back to back
	} {
		l := inner(tc.cout, taps, tc.ocg)
		k, err := NewKernel(l.registers(), l.fill(false).pack())
		if err != nil {
			t.Fatal(err)
		}
		lane, at, step := k.locateWeights(0, tc.channel, 0)
		if lane != tc.lane || at != 2*tc.at || step != 2*tc.step {
			t.Errorf("channel %d of %d at OCGSize %d: lane %d, half %d, step %d, want %d, %d, %d",
				tc.channel, tc.cout, tc.ocg, lane, at/2, step/2, tc.lane, tc.at, tc.step)
		}
	}
}

// A bias is a row of its own ahead of each plane.
func TestBiasStandsAheadOfItsPlane(t *testing.T) {
	l := inner(64, 3, 1).fill(true) // planes of 2, two in each lane
	k, err := NewKernel(l.registers(), l.pack())
	if err != nil {
		t.Fatal(err)
	}
	for channel, want := range map[int]int{0: 0, 1: 1, 32: 8, 33: 9} { // a plane is (3+1)*2 halves
		if lane, at, _ := k.locateWeights(0, channel, 0); lane != 0 || at != 2*want {
			t.Errorf("channel %d: lane %d, half %d, want lane 0, half %d", channel, lane, at/2, want)
		}
	}
}

// A matrix multiply over more than 128 rows keeps a plane within 32768 halves.
func TestTallMatrixMultiplyTakesNarrowerPlanes(t *testing.T) {
	for _, tc := range []struct{ rows, k, step int }{
		{128, 4096, 16}, {129, 2048, 16}, {129, 4096, 8}, {512, 8192, 4},
	} {
		l := inner(256, tc.k, 4)
		l.win, l.wout = tc.rows, tc.rows
		g := l.registers()
		g.Common.Cfg = g.Common.Cfg.WithTranspose(true)
		var lanes [Engines][]byte
		for i := range lanes {
			lanes[i] = make([]byte, 2*16*tc.k)
		}
		k, err := NewKernel(g, lanes)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, step := k.locateWeights(0, 0, 0); step != 2*tc.step {
			t.Errorf("%d rows of %d: planes of %d, want %d", tc.rows, tc.k, step/2, tc.step)
		}
	}
}

// The groups of a grouped convolution follow each other at multiples of 64 bytes.
func TestGroupsArePaddedTo64Bytes(t *testing.T) {
	l := inner(16, 9, 0)
	l.groups = 4
	k, err := NewKernel(l.registers(), l.fill(false).pack())
	if err != nil {
		t.Fatal(err)
	}
	for group := range 4 {
		for c := range 16 {
			if lane, at, step := k.locateWeights(group, c, 0); lane != c || at != 64*group || step != 2 {
				t.Errorf("group %d, channel %d: lane %d, byte %d, step %d, want %d, %d, 2", group, c, lane, at, step, c, 64*group)
			}
		}
	}
}

// TestShortLanes checks that every lane that lacks bytes of its last group is named, in every
// weight format.
func TestShortLanes(t *testing.T) {
	for _, packing := range []Packing{Dense, ZeroSkipping, Masked, Palette, Int8} {
		for _, cout := range []int{5, 16, 100} {
			for _, groups := range []int{1, 2} {
				l := inner(cout, 12, 4)
				l.packing, l.palette, l.groups = packing, 4, groups
				if packing == ZeroSkipping {
					l.sx, l.sy = 2, 2
				}
				g := l.fill(true).registers()
				full := l.pack()
				for lane := range min(Engines, cout) {
					lanes := full
					have := len(full[lane]) - 64
					lanes[lane] = lanes[lane][:have:have]
					_, err := NewKernel(g, lanes)
					if err == nil {
						t.Errorf("%v, %d channels, %d groups: lane %d without its last 64 bytes is taken", packing, cout, groups, lane)
					}
					var short *KernelError
					var halves *mac.FormatError // a mask that calls for more halves
					switch {
					case errors.As(err, &short):
						if short.Lane != lane || short.Have != have || short.Need <= have {
							t.Errorf("%v, lane %d of %d bytes: %+v", packing, lane, have, short)
						}
					case packing == Masked && errors.As(err, &halves):
					default:
						t.Errorf("%v, lane %d: %v", packing, lane, err)
					}
				}
			}
		}
	}
}

// A lane that is off is a short one too.
func TestMissingLane(t *testing.T) {
	l := inner(32, 4, 4).fill(false)
	lanes := l.pack()
	lanes[7] = nil
	_, err := NewKernel(l.registers(), lanes)
	want := &KernelError{Lane: 7, Need: 16, Have: 0}
	if d := cmp.Diff(error(want), err); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got, want := want.Error(), "weight lane 7 holds 0x0 bytes; its planes need 0x10"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A kernel that says it is packed and far larger than its lanes is refused before
// anything of its size is allocated.
func TestHugePackedKernelIsRefused(t *testing.T) {
	for _, packing := range []Packing{ZeroSkipping, Masked, Palette, Int8} {
		l := inner(4096, 1<<17-1, 5)
		l.packing, l.palette = packing, 8
		if packing == ZeroSkipping {
			l.sx, l.sy = 2, 2
		} else {
			l.kh, l.kw = 31, 31
		}
		var lanes [Engines][]byte
		for i := range lanes {
			lanes[i] = make([]byte, 1<<10)
		}
		g := l.registers()
		n := testing.AllocsPerRun(1, func() {
			var short *KernelError
			if _, err := NewKernel(g, lanes); !errors.As(err, &short) {
				t.Errorf("%v: %v", packing, err)
			}
		})
		if n > 100 {
			t.Errorf("%v: %v allocations", packing, n)
		}
	}
}

func TestPackingOf(t *testing.T) {
	base := inner(16, 1, 0)
	for _, tc := range []struct {
		name string
		set  func(*layer)
		want Packing
		note bool
	}{
		{"dense", func(*layer) {}, Dense, false},
		{"stride 2 dense", func(l *layer) { l.sx, l.sy = 2, 2 }, Dense, false},
		{"stride 2", func(l *layer) { l.sx, l.sy, l.packing = 2, 2, ZeroSkipping }, ZeroSkipping, false},
		{"stride 2 in y alone", func(l *layer) { l.sy, l.packing = 2, ZeroSkipping }, ZeroSkipping, false},
		{"masked", func(l *layer) { l.packing = Masked }, Masked, false},
		{"palette 4", func(l *layer) { l.packing, l.palette = Palette, 4 }, Palette, false},
		{"palette 8", func(l *layer) { l.packing, l.palette = Palette, 8 }, Palette, false},
		{"palette 6", func(l *layer) { l.packing, l.palette = Palette, 6 }, Dense, true},
		{"int8", func(l *layer) { l.packing = Int8 }, Int8, false},
	} {
		l := *base
		tc.set(&l)
		got, note := PackingOf(l.registers())
		if got != tc.want || (note != "") != tc.note {
			t.Errorf("%s: %v, %q", tc.name, got, note)
		}
	}

	g := base.registers()
	g.NE.KernelCfg = g.NE.KernelCfg.WithSparse(true).WithPalEn(true).WithPalBits(4)
	if _, note := PackingOf(g); note == "" {
		t.Error("a masked palette is taken as one of the two")
	}
}

// A 3x3 kernel of stride 2 comes back from its four phases.
func TestZeroSkippingOfSeveralTaps(t *testing.T) {
	for _, channels := range []int{3, 16, 64, 256} {
		l := inner(channels, 5, 4)
		l.kh, l.kw, l.sx, l.sy, l.packing = 3, 3, 2, 2, ZeroSkipping
		l.fill(true)
		k, err := NewKernel(l.registers(), l.pack())
		if err != nil {
			t.Fatal(err)
		}
		checkKernel(t, k, l)
	}
}

// Two pixels a step need more columns than one kernel has, and zero-skipping weights have
// them all.
func TestZeroSkippingOfTwoPixels(t *testing.T) {
	for _, kw := range []int{1, 2, 3} {
		l := inner(16, 3, 0)
		l.kw, l.ox, l.win, l.wout, l.packing = kw, 2, 8, 8, ZeroSkipping
		l.fill(true)
		k, err := NewKernel(l.registers(), l.pack())
		if err != nil {
			t.Fatal(err)
		}
		checkKernel(t, k, l)
	}
}

func TestPackingString(t *testing.T) {
	var got []string
	for p := Dense; p <= Int8+1; p++ {
		got = append(got, p.String())
	}
	want := []string{"dense", "zero-skipping", "masked", "palette", "int8", "Packing(5)"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A zero-skipping body that ends inside a step, or that says more than it holds.
func TestBrokenZeroSkippingBody(t *testing.T) {
	l := inner(3, 2, 0)
	l.packing, l.sx, l.sy = ZeroSkipping, 2, 2
	for _, tc := range []struct {
		name string
		body []byte
	}{
		{"no count", []byte{8}},
		{"count beyond the lane", []byte{9, 0, 0, 1, 1, 0, 0, 1, 1, 0}},
		{"one step", []byte{4, 0, 0, 1, 1, 0, 0, 1, 1, 0}},
		{"inside a mask", []byte{5, 0, 0, 1, 1, 0, 0, 1, 1, 0}},
		{"inside a half", []byte{7, 0, 0, 1, 1, 0, 0, 1, 1, 0}},
	} {
		var lanes [Engines][]byte
		for i := range lanes {
			lanes[i] = tc.body
		}
		if _, err := NewKernel(l.registers(), lanes); err == nil {
			t.Errorf("%s: taken", tc.name)
		}
	}
}

func TestTaps(t *testing.T) {
	l := inner(16, 40, 0)
	l.kh, l.kw = 3, 2
	g := l.registers()
	for _, tc := range []struct {
		unicast bool
		op      uint32
		want    int
	}{
		{false, 0, 240}, {true, 0, 6}, // a multiply-accumulate has its kernel's taps
		{false, 8, 40}, {true, 8, 1}, // the others only channels
		{false, 12, 1}, {true, 12, 1},
	} {
		g.Common.GroupConvCfg = g.Common.GroupConvCfg.WithUnicastEn(tc.unicast)
		g.NE.MACCfg = g.NE.MACCfg.WithOpMode(macCfg(tc.op).OpMode())
		if got := Taps(g); got != tc.want {
			t.Errorf("unicast %v, operation %d: %d taps, want %d", tc.unicast, tc.op, got, tc.want)
		}
	}
	if n := bits.OnesCount32(uint32(AllTiles)); n != Tiles {
		t.Errorf("%d tiles", n)
	}
}
