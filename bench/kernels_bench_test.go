package bench

import (
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"anesim/hw/dma"
	"anesim/hw/l2"
	"anesim/hw/regs"
	"anesim/internal/datapath/lanes"
	"anesim/internal/datapath/mac"
	"anesim/internal/datapath/planar"
	"anesim/internal/datapath/tiles"
)

// A kernel is a loop of the datapath. One run does count units of work, moves bytes (operands read
// and results written, each once) and is compared with peers that do work of the same kind.
type kernel struct {
	name  string
	unit  string // MAC, elem, or call of what only counts
	count int
	bytes int // 0 where operands stay in registers or caches by design
	run   func()
	peers []peer
}

// A peer is a loop that a Go programmer has without this module: one run does count units of the kernel's
// work, or moves bytes.
type peer struct {
	name         string
	count, bytes int
	run          func()
}

// kernelElements is the elements of the kernels without a reduction: operands of 128 KiB, which fit
// in a second-level cache.
const kernelElements = 1 << 16

// BenchmarkKernels measures every kernel of the datapath on one worker, and right after each its
// peers, so that other work on the machine disturbs both. A line has GMAC/s or Gelem/s, GB/s, and for
// each peer how many times as fast the kernel is. These are of the fastest run of each, while ns/op is
// the mean. Inputs are normal with a deviation of 1, so that sums stay below the engine's limit;
// careful is the one whose sums do not.
func BenchmarkKernels(b *testing.B) {
	for _, k := range kernels(b) {
		b.Run(k.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				k.run()
			}
			own := fastest(k.run).Seconds()
			b.ReportMetric(float64(k.count)/own/1e9, "G"+k.unit+"/s")
			if k.bytes > 0 {
				b.ReportMetric(float64(k.bytes)/own/1e9, "GB/s")
			}
			for _, p := range k.peers {
				work, theirs := k.count, p.count
				if theirs == 0 {
					work, theirs = k.bytes, p.bytes
				}
				b.ReportMetric(float64(work)/own/(float64(theirs)/fastest(p.run).Seconds()), "x-"+p.name)
			}
		})
	}
}

// kernels returns every kernel that computes or moves values, by package.
func kernels(tb testing.TB) []kernel {
	return slices.Concat(sumKernels(), layerKernels(tb), elementKernels(tb), unpackKernels(tb), memoryKernels(tb))
}

// sumKernels are sums of products in package mac, over one panel of a 3x3 convolution of 256 channels.
func sumKernels() []kernel {
	const m, n, k = 64, 256, 2304
	rng := rand.New(rand.NewPCG(1, 2))
	x, w := make([]half, k*m), make([]half, n*k)
	normal(x, rng, 1)
	normal(w, rng, 1./48)
	panel, wide, acc := make([]float32, len(x)), make([]float32, len(w)), make([]float32, n*m)
	mac.Widen(panel, x)
	mac.Widen(wide, w)
	taps := mac.TapsOf(k, wide)
	positive, large := slices.Clone(panel), slices.Clone(panel)
	for i, v := range panel {
		positive[i], large[i] = max(v, 0), v*(1<<15)
	}
	few := mac.TapsOf(k, wide[:8*k])
	peers := []peer{
		{"gonum", n * m * k, 0, func() {
			blas32.Gemm(blas.NoTrans, blas.NoTrans, 1,
				blas32.General{Rows: n, Cols: k, Stride: k, Data: wide},
				blas32.General{Rows: k, Cols: m, Stride: m, Data: panel}, 0,
				blas32.General{Rows: n, Cols: m, Stride: m, Data: acc})
		}},
		{"float32", 8 * m * k, 0, func() { multiplyAdd(acc, wide[:8*k], panel, m, k) }},
		{"float16", m * k, 0, func() {
			for l := range m {
				var sum float16.Float16
				for i, f := range w[:k] {
					sum = float16.Fromfloat32(sum.Float32() + x[i*m+l].Float32()*f.Float32())
				}
				acc[l] = sum.Float32()
			}
		}},
	}
	bytes := 4 * (m*k + n*k + n*m)
	column := make([]half, k)
	for i := range column {
		column[i] = x[i*m]
	}
	return []kernel{
		{"mac.Reduce/normal", "MAC", n * m * k, bytes, func() { mac.H13.Reduce(acc, panel, m, taps, mac.Start{}) }, peers},
		{"mac.Reduce/relu", "MAC", n * m * k, bytes, func() { mac.H13.Reduce(acc, positive, m, taps, mac.Start{}) }, peers},
		{"mac.Reduce/careful", "MAC", 8 * m * k, 4 * (m*k + 8*k + 8*m), func() { mac.H13.Reduce(acc[:8*m], large, m, few, mac.Start{}) }, peers},
		{"mac.Dot", "MAC", k, 4 * k, func() { mac.Dot(column, w[:k]) }, peers[1:]},
	}
}

// multiplyAdd is the plain product of vectors of taps with a panel of m columns.
func multiplyAdd(acc, vectors, panel []float32, m, k int) {
	for v := range len(vectors) / k {
		row := acc[v*m:][:m]
		clear(row)
		for i, f := range vectors[v*k:][:k] {
			for l, p := range panel[i*m:][:m] {
				row[l] += p * f
			}
		}
	}
}

// convolutions are the layers that layerKernels runs through tiles.Convolution.
var convolutions = []struct {
	name string
	Layer
}{
	{"tiles.Convolution/3x3", Conv3x3()},
	{"tiles.Convolution/1x1", Conv1x1()},
	{"tiles.Convolution/depthwise", Depthwise3x3()},
	{"tiles.Convolution/matmul", Matmul(512)},
}

// layerKernels are layers in package tiles, with the gathering of windows and the rounding of results. Their
// peer multiplies as many terms without gathering. Package tiles has no benchmark of them of its own, whose
// operands and rates could differ from these.
func layerKernels(tb testing.TB) []kernel {
	var list []kernel
	for _, l := range convolutions {
		w := build(tb, l.Layer)
		const m = 64
		k := l.Taps()
		panel, taps, acc := make([]float32, k*m), make([]float32, 8*k), make([]float32, 8*m)
		mac.Widen(panel, w.source[:min(len(w.source), len(panel))])
		mac.Widen(taps, w.weights[:len(taps)])
		list = append(list, kernel{l.name, "MAC", int(l.MACs()), 2 * (len(w.source) + len(w.weights) + len(w.result)), func() { w.Run(1) },
			[]peer{{"float32", 8 * m * k, 0, func() { multiplyAdd(acc, taps, panel, m, k) }}}})
	}
	shape := regs.Shape{Groups: 1, Channels: 64, Depth: 1, Height: 32, Width: 32}
	src, dst := &plane{make([]half, shape.Elements()), 32, 32}, &plane{make([]half, shape.Elements()), 32, 32}
	normal(src.data, rand.New(rand.NewPCG(1, 2)), 1)
	one, halved := shape, shape
	one.Channels, halved.Channels = 1, 32
	n := int(shape.Elements())
	post := mac.Post{Scale: 1}
	copied := []peer{copying(n)}
	return append(list,
		kernel{"tiles.PassThrough", "elem", n, 4 * n, func() { tiles.PassThrough(dst, src, shape, post, 1) }, copied},
		kernel{"tiles.ChannelMaximum", "elem", n, 2*n + 2*n/64, func() { tiles.ChannelMaximum(dst, src, one, 64, post) }, copied},
		kernel{"tiles.ChannelProduct", "elem", n / 2, 3 * n, func() { tiles.ChannelProduct(dst, src, halved, post) }, copied},
		kernel{"tiles.ChannelSum", "elem", n, 2*n + 2*n/64, func() { tiles.ChannelSum(dst, src, one, 64, mac.H13, post) }, copied})
}

// copying moves n fp16 values. Every kernel of one element at a time is held against it.
func copying(n int) peer {
	from, to := make([]half, n), make([]half, n)
	return peer{"copy", 0, 4 * n, func() { copy(to, from) }}
}

// elementKernels work on each element: package planar, and the two ends of the MAC array in package mac.
func elementKernels(tb testing.TB) []kernel {
	const n = kernelElements
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, dst, acc := make([]half, n), make([]half, n), make([]half, n), make([]float32, n)
	normal(x, rng, 1)
	normal(y, rng, 1)
	mac.Widen(acc, x)
	copied := copying(n)
	add := []peer{copied, {"float16", n / 64, 0, func() {
		for i := range n / 64 {
			dst[i] = float16.Fromfloat32(x[i].Float32() + y[i].Float32())
		}
	}}}
	var list []kernel
	element := func(name string, bytes int, run func()) {
		list = append(list, kernel{name, "elem", n, bytes * n, run, add})
	}
	for op := planar.Add; op <= planar.SumSquare; op++ {
		c := planar.Neutral(op)
		element("planar.Apply/"+op.String(), 6, func() { c.Apply(dst, x, y) })
	}
	scaled, one := planar.Neutral(planar.Add), planar.Neutral(planar.Mul)
	scaled.Scale, scaled.ReLU = 0x3800, true
	element("planar.Apply/add-scale-relu", 6, func() { scaled.Apply(dst, x, y) })
	element("planar.ApplyConst", 4, func() { one.ApplyConst(dst, x, 0x4200) })
	element("planar.ApplyOne/scale-relu", 4, func() { scaled.ApplyOne(dst, x) })

	source := planar.Source{Data: x, Shape: planar.Shape{C: 64, H: 32, W: 32}}
	mean, largest, squares := planar.Neutral(planar.Add), planar.Neutral(planar.Add), planar.Neutral(planar.SumSquare)
	mean.FinalScale, largest.Kind = 1./1024, planar.ReduceMax
	for _, r := range []struct {
		name string
		c    planar.Config
		axes planar.Axes
	}{
		{"mean-HW", mean, planar.AxisH | planar.AxisW},
		{"sum-C", planar.Neutral(planar.Add), planar.AxisC},
		{"max-W", largest, planar.AxisW},
		{"squares-W", squares, planar.AxisW},
	} {
		element("planar.Reduce/"+r.name, 2, func() {
			if err := r.c.Reduce(dst, r.axes, source); err != nil {
				tb.Fatal(err)
			}
		})
	}

	element("mac.Widen", 6, func() { mac.Widen(acc, x) })
	post := mac.Post{Scale: 1.5, Bias: 0.25, ReLU: true}
	element("mac.Post/scale-relu", 6, func() { post.Apply(dst, acc) })
	for _, a := range []mac.Activation{mac.Sigmoid, mac.Exp, mac.Rsqrt} {
		looked := mac.Post{Scale: a.Prescale().Float32(), Table: mac.TableOf(a)}
		from := acc
		if a == mac.Rsqrt {
			from = slices.Clone(acc)
			magnitudes(from)
		}
		element("mac.Post/"+a.String(), 6, func() { looked.Apply(dst, from) })
	}
	return list
}

// unpackKernels expand packed weights to fp16.
func unpackKernels(tb testing.TB) []kernel {
	const n = kernelElements
	rng := rand.New(rand.NewPCG(1, 2))
	packed, dst, codebook := make([]byte, n), make([]half, n), make([]half, 256)
	for i := range packed {
		packed[i] = byte(rng.Uint32())
	}
	normal(codebook, rng, 1)
	scale := codebook[:64]
	sparse := make([]byte, n/8+2*n) // a mask with every bit at even odds, then values
	copy(sparse, packed[:n/8])
	check := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
	}
	read, err := mac.UnpackSparse(dst, sparse)
	check(err)
	copied := []peer{copying(n)}
	return []kernel{
		{"mac.UnpackPalette/4", "elem", n, n/2 + 2*n, func() { check(mac.UnpackPalette(dst, codebook[:16], packed, 4)) }, copied},
		{"mac.UnpackPalette/8", "elem", n, n + 2*n, func() { check(mac.UnpackPalette(dst, codebook, packed, 8)) }, copied},
		{"mac.UnpackInt8", "elem", n, n + 2*n, func() { check(mac.UnpackInt8(dst, packed, scale)) }, copied},
		{"mac.UnpackSparse", "elem", n, read + 2*n, func() {
			_, err := mac.UnpackSparse(dst, sparse)
			check(err)
		}, copied},
	}
}

// memoryKernels move rows of L2 and of device memory, and count the cycles of rows and the planes
// of weights, which a descriptor asks for once per patch.
func memoryKernels(tb testing.TB) []kernel {
	shape := regs.Shape{Groups: 1, Channels: 64, Depth: 1, Height: 32, Width: 32}
	n := int(shape.Elements())
	row := make([]half, shape.Width)
	copied := []peer{copying(n)}
	var list []kernel
	rows := func(name string, each func(c, y int)) {
		list = append(list, kernel{name, "elem", n, 4 * n, func() {
			for c := range shape.Channels {
				for y := range shape.Height {
					each(c, y)
				}
			}
		}, copied})
	}
	memory := l2.New(2 << 20)
	for _, t := range []struct {
		name string
		regs.Tile
	}{
		// Rows a multiple of banks times granules apart share one bank; 16 bytes of skew spread them.
		{"skewed", regs.Tile{Row: 0x50, Channel: 32 * 0x50}},
		{"conflicts", regs.Tile{Row: 0x400, Channel: 32 * 0x400}},
		{"transposed", regs.Tile{Row: 32 * 0x80, Channel: 0x80, Transposed: true}},
	} {
		v, err := memory.View(t.Tile, shape, 0, 0)
		if err != nil {
			tb.Fatal(err)
		}
		if v, err = memory.View(t.Tile, shape, 0, 0); err != nil { // memory has grown now
			tb.Fatal(err)
		}
		rows("l2.Row/"+t.name, func(c, y int) { v.Row(row, c, y) })
		rows("l2.SetRow/"+t.name, func(c, y int) { v.SetRow(row, c, y, 0) })
	}

	surface := regs.Surface{Shape: shape, Row: 0x40, Plane: 0x800, Group: 0x20000}
	device, err := dma.NewMemory([]dma.Segment{{Name: "s", Addr: 0, Size: surface.Span()}})
	if err != nil {
		tb.Fatal(err)
	}
	view, err := device.View(0, &surface, 0, 0)
	if err != nil {
		tb.Fatal(err)
	}
	rows("dma.Row", func(c, y int) { view.Row(row, c, y) })

	const calls = 1000
	geometry := l2.Params{Bytes: 2 << 20, Banks: 64, Granule: 16}
	for _, c := range []struct {
		name   string
		stride uint32
	}{{"skewed", 0x50}, {"conflicts", 0x400}} {
		window := l2.Window{Patch: l2.Patch{Rows: 10, Width: 18, Stride: c.stride}, Columns: 16, Step: 1}
		list = append(list, kernel{"l2.Cycles/" + c.name, "call", calls, 0, func() {
			for range calls {
				counted += geometry.Cycles(window, false)
			}
		}, nil})
	}
	return append(list, kernel{"lanes.Planes", "call", calls, 0, func() {
		for channels := range calls {
			width, planes := lanes.Planes(channels, 8)
			counted += width * planes
		}
	}, nil})
}

// counted keeps the compiler from dropping the calls whose results nobody reads.
var counted int

// fastest returns the shortest of several times that run takes, which other work on the machine
// disturbs least: of ten runs, and of as many as take 0.1 s.
func fastest(run func()) time.Duration {
	least, begin := time.Duration(1<<62), time.Now()
	for n := 0; n < 10 || time.Since(begin) < time.Second/10; n++ {
		start := time.Now()
		run()
		least = min(least, time.Since(start))
	}
	return least
}

// TestConvolutionsBelowTheLimit holds the operands of the convolutions to what BenchmarkKernels says of
// them: no sum of any output, in any order and part, comes near the limit of 32768, beyond which the slow path of
// mac.Reduce/careful begins.
func TestConvolutionsBelowTheLimit(t *testing.T) {
	const limit = 4096
	for _, l := range convolutions {
		w, largest := build(t, l.Layer), 0.0
		for _, x := range w.source {
			largest = max(largest, math.Abs(float64(x.Float32())))
		}
		for n := range l.Cout {
			sum := 0.0
			for _, f := range w.weights[n*l.Taps():][:l.Taps()] {
				sum += largest * math.Abs(float64(f.Float32()))
			}
			if sum == 0 || sum >= limit {
				t.Fatalf("%s: output channel %d: sums may reach %g; want more than 0 and less than %d", l.name, n, sum, limit)
			}
		}
	}
}

// TestKernelsInTheDocs holds the table of docs/speed.md, which is one run of BenchmarkKernels, to the
// kernels that there are, in their order.
func TestKernelsInTheDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/speed.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, k := range kernels(t) {
		want = append(want, k.name)
	}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9]+\\.[^`]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kernels and rows of the table differ (-kernels +rows):\n%s", diff)
	}
}
