package tiles

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
)

func macCfg(op uint32) regs.MACCfg { return regs.MACCfg{}.WithOpMode(regs.MACOp(op)) }

// A tensor is a source and a sink. As a sink it counts the writes of each element.
type tensor struct {
	c, h, w int
	data    []half

	mu     sync.Mutex
	writes []int
}

func newTensor(c, h, w int) *tensor {
	return &tensor{c: c, h: h, w: w, data: make([]half, c*h*w), writes: make([]int, c*h*w)}
}

func (t *tensor) at(c, y, x int) int {
	if c < 0 || c >= t.c || y < 0 || y >= t.h || x < 0 || x > t.w {
		panic(fmt.Sprintf("element (%d, %d, %d) of %dx%dx%d", c, y, x, t.c, t.h, t.w))
	}
	return (c*t.h+y)*t.w + x
}

func (t *tensor) Row(dst []half, c, y int) {
	at := t.at(c, y, 0)
	copy(dst, t.data[at:at+len(dst)])
}

func (t *tensor) SetRow(src []half, c, y, x int) {
	t.at(c, y, x+len(src))
	at := t.at(c, y, x)
	t.mu.Lock()
	defer t.mu.Unlock()
	copy(t.data[at:], src)
	for i := range src {
		t.writes[at+i]++
	}
}

// once reports an element that was not written exactly once.
func (t *tensor) once() error {
	for i, n := range t.writes {
		if n != 1 {
			return fmt.Errorf("element (%d, %d, %d) was written %d times", i/(t.h*t.w), i/t.w%t.h, i%t.w, n)
		}
	}
	return nil
}

// reference is one output: the operands by the definition of a convolution, in the order
// of the stream, through the arithmetic of mac.
func (l *layer) reference(order []place, src *tensor, group, channel, y, x int, rule mac.Arithmetic, post mac.Post) half {
	step, pixel := x/l.ox, x%l.ox
	operands := make([]half, len(order))
	for i, p := range order {
		c, iy, ix := p.channel, y*l.sy+p.y-l.py, step*l.sx*l.ox+p.x-l.px
		if l.unicast {
			c = channel
		}
		if iy >= 0 && iy < l.hin && ix >= 0 && ix < l.win {
			operands[i] = src.data[src.at(c, iy, ix)]
		}
	}
	n := group*l.cout + channel
	if l.biases != nil {
		post.Bias += l.biases[n].Float32()
	}
	start, post := post.Start()
	acc := make([]float32, 1)
	wide, taps := make([]float32, len(order)), make([]float32, len(order))
	rule.Widen(wide, operands)
	rule.Widen(taps, l.kernels[n][pixel])
	rule.Reduce(acc, wide, 1, mac.TapsOf(len(order), taps), mac.Start{PerVector: []float32{start}})
	var out [1]half
	post.Apply(out[:], acc)
	return out[0]
}

// randomHalf is mostly a small number and now and then something special.
func randomHalf(r *rand.Rand) half {
	switch r.IntN(40) {
	case 0:
		return half(r.Uint32()) // any bits: NaN, infinities, denormals
	case 1:
		return 0x8000
	case 2:
		return half(r.IntN(0x400)) // denormal
	case 3:
		return float16.Fromfloat32(float32(r.NormFloat64() * 3000))
	}
	return float16.Fromfloat32(float32(r.NormFloat64()))
}

func randomLayer(r *rand.Rand) *layer {
	for {
		l := &layer{
			groups: 1 + r.IntN(3)*r.IntN(2),
			cin:    1 + r.IntN(70), cout: 1 + r.IntN(70),
			hin: 1 + r.IntN(9), win: 1 + r.IntN(40),
			kh: 1 + r.IntN(5), kw: 1 + r.IntN(5),
			sy: 1 + r.IntN(3), sx: 1 + r.IntN(3),
			py: r.IntN(4), px: r.IntN(4),
			ox:       1,
			unicast:  r.IntN(5) == 0,
			ocg:      r.IntN(6),
			tileRows: r.IntN(6),
		}
		if r.IntN(3) == 0 {
			l.cin = 1 + r.IntN(5)
		}
		if l.unicast {
			l.cin = l.cout
		}
		// What comes behind the source is implied: up to three rows and columns more.
		l.hout = max(1, (l.hin+l.py+r.IntN(4)-l.kh)/l.sy+1)
		l.wout = max(1, (l.win+l.px+r.IntN(4)-l.kw)/l.sx+1)
		switch r.IntN(6) {
		case 0: // one pixel
			l.hout, l.wout = 1, 1
		case 1: // several pixels a step, which share a stride register of two bits
			if l.sx == 1 {
				l.ox = 2 + r.IntN(2)
				l.wout += (l.ox - l.wout%l.ox) % l.ox
			}
		}
		if l.taps()*l.cout*l.groups*l.hout*l.wout <= 400_000 {
			return l
		}
	}
}

func (l *layer) randomize(r *rand.Rand) {
	l.weights = make([][]half, l.groups*l.cout)
	for c := range l.weights {
		l.weights[c] = make([]half, l.taps())
		for k := range l.weights[c] {
			l.weights[c][k] = randomHalf(r)
		}
	}
	l.kernels = make([][][]half, len(l.weights))
	for c := range l.kernels {
		for p := range l.ox {
			l.kernels[c] = append(l.kernels[c], l.streamed(c, p))
		}
	}
	if r.IntN(2) == 0 {
		l.biases = make([]half, len(l.weights))
		for c := range l.biases {
			l.biases[c] = float16.Fromfloat32(float32(r.NormFloat64()))
		}
	}
}

func (l *layer) source(r *rand.Rand) *tensor {
	src := newTensor(l.cin, l.hin, l.win)
	for i := range src.data {
		src.data[i] = randomHalf(r)
	}
	return src
}

// TestConvolutionAgainstDefinition compares every output of a few hundred random layers with
// the definition, for all tile heights and numbers of workers.
func TestConvolutionAgainstDefinition(t *testing.T) {
	cases := 300
	if testing.Short() {
		cases = 60
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range cases {
		l := randomLayer(r)
		l.randomize(r)
		post := mac.Post{Scale: 1, ReLU: r.IntN(3) == 0}
		rule := []mac.Arithmetic{mac.H13, mac.Later, {KeepsInfinity: true, FullRange: true}}[r.IntN(3)]
		if r.IntN(3) == 0 {
			post.Scale, post.Bias = 0.5, 0.25
		}
		g := l.registers()
		kernel, err := NewKernel(g, l.pack())
		if err != nil {
			t.Fatalf("case %d, %+v: %v", i, l, err)
		}
		order := l.stream()
		for group := range l.groups {
			src := l.source(r)
			c := NewConvolution(g)
			c.Kernel, c.Group, c.Arithmetic, c.Post = kernel, group, rule, post
			dst := newTensor(l.cout, l.hout, l.wout)
			c.Run(dst, src, 1)
			if err := dst.once(); err != nil {
				t.Fatalf("case %d: %v", i, err)
			}
			for at, got := range dst.data {
				ch, y, x := at/(l.hout*l.wout), at/l.wout%l.hout, at%l.wout
				if want := l.reference(order, src, group, ch, y, x, rule, post); got != want {
					l.weights, l.kernels, l.biases = nil, nil, nil
					t.Fatalf("case %d, group %d, output (%d, %d, %d): %#04x, want %#04x\n%+v", i, group, ch, y, x, uint16(got), uint16(want), l)
				}
			}
			c.TileRows = r.IntN(2 * l.hout)
			again := newTensor(l.cout, l.hout, l.wout)
			c.Run(again, src, 3)
			if d := cmp.Diff(dst.data, again.data); d != "" {
				t.Fatalf("case %d: %d rows a tile and three workers (-one worker +three):\n%s", i, c.TileRows, d)
			}
		}
	}
}

func TestNewConvolution(t *testing.T) {
	l := &layer{
		groups: 2, cin: 3, cout: 5, hin: 7, win: 11, hout: 6, wout: 8, kh: 4, kw: 2, sy: 2, sx: 1,
		py: 1, px: 2, ox: 2, tileRows: 3,
	}
	want := Convolution{
		Cin: 3, Hin: 7, Win: 11, Cout: 5, Hout: 6, Wout: 4, Kh: 4, Kw: 3, Sy: 2, Sx: 2, Py: 1, Px: 2, Pixels: 2, TileRows: 3,
	}
	if d := cmp.Diff(want, NewConvolution(l.registers())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// An output without elements is no work and no panic.
func TestEmptyConvolution(t *testing.T) {
	c := Convolution{Cin: 1, Hin: 1, Win: 1, Cout: 4, Hout: 1, Kh: 1, Kw: 1, Sy: 1, Sx: 1}
	c.Run(nil, nil, 1)
}

// TestWindowBesideTheSource checks that a window entirely outside of the source reads zeros,
// so that only the bias remains.
func TestWindowBesideTheSource(t *testing.T) {
	l := inner(2, 3, 0)
	l.py, l.px, l.hout, l.wout, l.sy, l.sx = 20, 20, 30, 21, 2, 2
	l.fill(true)
	l.weights[0], l.weights[1] = []half{0x3c00, 0x3c00, 0x3c00}, []half{0x4000, 0x4000, 0x4000}
	l.biases = []half{0x3c00, 0x4200}
	src := newTensor(3, 1, 1)
	copy(src.data, []half{0x4000, 0x4000, 0x4000})
	c := l.convolution(t)
	dst := newTensor(2, l.hout, l.wout)
	c.Run(dst, src, 2)
	for i, h := range dst.data {
		want := []half{0x3c00, 0x4200}[i/(30*21)]
		if i%(30*21) == 10*21+10 { // the only window over the source: 6+1 and 12+3
			want = []half{0x4700, 0x4b80}[i/(30*21)]
		}
		if h != want {
			t.Errorf("output %d: %#04x, want %#04x", i, uint16(h), uint16(want))
		}
	}
}

// A reduction longer than any buffer of the model. The fixed-point sum counts ones exactly and becomes
// infinite at 32768; just below, the result rounds to it.
func TestHugeReduction(t *testing.T) {
	const taps = 1<<17 - 1
	for _, pixels := range []int{1, 20} {
		l := inner(2, taps, 0)
		l.win, l.wout = pixels, pixels
		l.weights = [][]half{make([]half, taps), make([]half, taps)}
		for k := range taps {
			l.weights[0][k] = 0x3c00
			l.weights[1][k] = float16.Fromfloat32(1. / 4)
		}
		src := newTensor(taps, 1, pixels)
		for i := range src.data {
			src.data[i] = 0x3c00
		}
		g := l.registers()
		kernel, err := NewKernel(g, l.pack())
		if err != nil {
			t.Fatal(err)
		}
		c := NewConvolution(g)
		c.Kernel, c.Arithmetic, c.Post = kernel, mac.H13, mac.Post{Scale: 1}
		dst := newTensor(2, 1, pixels)
		c.Run(dst, src, 2)
		for i, got := range dst.data {
			want := half(0x7c00) // 131071
			if i >= pixels {
				want = half(0x7800) // 32767.75 rounds to 32768
			}
			if got != want {
				t.Errorf("%d pixels, output %d: %#04x, want %#04x", pixels, i, uint16(got), uint16(want))
			}
		}
	}
}

// TestTallSourceIsStagedInParts checks a source that is larger than the part that is staged
// at a time.
func TestTallSourceIsStagedInParts(t *testing.T) {
	l := inner(1, 64, 0)
	l.hin, l.win, l.hout, l.wout, l.tileRows = 1200, 64, 1200, 64, 1200
	l.weights = [][]half{make([]half, 64)}
	l.weights[0][63] = 0x4000
	src := newTensor(64, l.hin, l.win)
	for i := range src.data[63*l.hin*l.win:] {
		src.data[63*l.hin*l.win+i] = float16.Fromfloat32(float32(i % 1000))
	}
	c := l.convolution(t)
	dst := newTensor(1, l.hout, l.wout)
	c.Run(dst, src, 2)
	if err := dst.once(); err != nil {
		t.Fatal(err)
	}
	for i, got := range dst.data {
		if want := float16.Fromfloat32(float32(2 * (i % 1000))); got != want {
			t.Fatalf("output %d: %v, want %v", i, got, want)
		}
	}
}
