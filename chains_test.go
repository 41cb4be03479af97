package anesim_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
	"anesim/internal/material"
	"anesim/loader"
)

// These tests run whole chains of Apple's compiler and hold the outputs against
// what the layer that was compiled means.

type half = float16.Float16

// text reads the descriptor text of a real program, given by its file name without the suffix. It
// skips the test if the file is missing.
func text(t testing.TB, name string) *loader.Program {
	t.Helper()
	return open(t, name+".text.bin")
}

// run runs p with values and returns its only output.
func run(t *testing.T, p *loader.Program, inputs map[string][]half) []half {
	t.Helper()
	return output(t, p, anesim.Options{Inputs: inputs})
}

// uniform returns n random multiples of 1/256 in [-1, 1).
func uniform(r *rand.Rand, n int) []half {
	h := make([]half, n)
	for i := range h {
		h[i] = float16.Fromfloat32(float32(r.IntN(512)-256) / 256)
	}
	return h
}

// table returns the lookup table of a real activation function as fp16 values.
func table(t *testing.T, name string) []half {
	t.Helper()
	return fromBytes(material.Read(t, "luts/"+name+".lut.bin"))
}

func fitted(a mac.Activation) []half {
	t := mac.TableOf(a)
	b := t.Encode()
	return fromBytes(b[:])
}

func fromBytes(b []byte) []half {
	h := make([]half, len(b)/2)
	for i := range h {
		h[i] = half(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return h
}

func toBytes(h []half) []byte {
	var b []byte
	for _, v := range h {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return b
}

func floats(h []half) []float64 {
	f := make([]float64, len(h))
	for i, v := range h {
		f[i] = float64(v.Float32())
	}
	return f
}

// near fails the test if an element of got differs from want by more than tolerance. It returns the
// largest difference.
func near(t *testing.T, what string, want []float64, got []half, tolerance float64) float64 {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return 0
	}
	worst, at := 0.0, 0
	for i, g := range got {
		if d := math.Abs(float64(g.Float32()) - want[i]); !(d <= worst) {
			worst, at = d, i
		}
	}
	if !(worst <= tolerance) {
		t.Errorf("%s: element %d is %v, want %v within %v", what, at, got[at], want[at], tolerance)
	}
	return worst
}

// same fails the test if the bits of got differ from those of want.
func same(t *testing.T, what string, want, got []half) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if want[i] != got[i] {
			t.Errorf("%s: element %d is %v (%#04x), want %v (%#04x)", what, i, got[i], uint16(got[i]), want[i], uint16(want[i]))
			return
		}
	}
}

func softmax(x []half) []float64 {
	y := floats(x)
	most := slices.Max(y)
	sum := 0.0
	for i := range y {
		y[i] = math.Exp(y[i] - most)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

// The two tables are about 0.1 % off at worst, and the sum is one of 64 halves.
func TestSoftmaxChain(t *testing.T) {
	p := text(t, "norm_softmax_a1_1x64x1x1")
	tables := append(table(t, "exp"), fitted(mac.Reciprocal)...)
	r := rand.New(rand.NewPCG(1, 1))
	for _, scale := range []float32{0, 1, 4, 12} {
		in := uniform(r, 64)
		for i := range in {
			in[i] = float16.Fromfloat32(in[i].Float32() * scale)
		}
		for what, w := range map[string][]half{"real exp": tables, "fitted exp": append(fitted(mac.Exp), fitted(mac.Reciprocal)...)} {
			got := run(t, p, map[string][]half{"b4": in, "weights": w})
			near(t, fmt.Sprintf("%s, inputs up to %v", what, scale), softmax(in), got, 0.003)
			sum := 0.0
			for _, v := range floats(got) {
				sum += v
			}
			if math.Abs(sum-1) > 0.005 {
				t.Errorf("%s, inputs up to %v: the results sum to %v", what, scale, sum)
			}
		}
	}

	// The maximum is subtracted first (measured): one huge input takes everything.
	in, want := make([]half, 64), make([]half, 64)
	in[0], want[0] = float16.Fromfloat32(1000), 0x3c00
	for i := 1; i < 64; i++ {
		in[i] = float16.Fromfloat32(float32(i))
	}
	same(t, "softmax[1000, 1, 2, 3, ...]", want, run(t, p, map[string][]half{"b4": in, "weights": tables}))
}

func TestLayerNormChains(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, name := range []string{"norm_layer_norm_ax3_1x1x1x64", "norm_layer_norm_ax1_2_3_1x1x1x64", "norm_layer_norm_ax1_2_3_1x1x1x128"} {
		p := text(t, name)
		for port := range p.Inputs() {
			for _, offset := range []float32{0, 3} {
				in := uniform(r, engine.Elements(port))
				for i := range in {
					in[i] = float16.Fromfloat32(in[i].Float32()*2 + offset)
				}
				want := floats(in)
				mean, variance := 0.0, 0.0
				for _, v := range want {
					mean += v / float64(len(want))
				}
				for _, v := range want {
					variance += (v - mean) * (v - mean) / float64(len(want))
				}
				for i := range want {
					want[i] = (want[i] - mean) / math.Sqrt(variance+1e-5)
				}
				// The mean and the rsqrt are halves: 2^-11 of 3 and of the result.
				near(t, fmt.Sprintf("%s around %v", name, offset), want, run(t, p, map[string][]half{port.Name: in}), 0.004)
			}
		}
	}
}

func TestReductionChains(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	in := uniform(r, 64*8*8)
	f := floats(in)
	mean, sum, most := make([]float64, 64), make([]float64, 64), make([]float64, 64)
	for i := range most {
		most[i] = math.Inf(-1)
	}
	for i, v := range f {
		mean[i/64] += v / 64
		sum[i%64] += v
		most[i%64] = max(most[i%64], v)
	}
	for _, tc := range []struct {
		name      string
		want      []float64
		tolerance float64
	}{
		{"reduce_mean_axes_2_3", mean, 0.0005},
		{"reduce_sum_axes_1", sum, 0.02},
		{"reduce_max_axes_1", most, 0},
	} {
		near(t, tc.name, tc.want, run(t, text(t, tc.name), map[string][]half{"b4": in}), tc.tolerance)
	}
}

// Sums of two halves and products of halves of few bits are exact but for one rounding.
func TestElementwiseChains(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	add := func(a, b float32) float32 { return a + b }
	mul := func(a, b float32) float32 { return a * b }
	perChannel := func(i int) int { return i / 64 }
	itself := func(i int) int { return i }
	for _, tc := range []struct {
		name   string
		second string // port, empty for none
		of     func(i int) int
		op     func(a, b float32) float32
	}{
		{"env_bcast_add_1x64x8x8_runtime_1x64x1x1", "b6", perChannel, add},
		{"env_bcast_add_1x64x8x8_scalar", "", itself, func(a, _ float32) float32 { return a + 0.5 }},
		{"env_bcast_mul_1x64x8x8_blob_1x64x1x1", "weights", perChannel, mul},
		{"env_bcast_mul_8x64x8x8_runtime_8x64x8x8", "b6", itself, mul},
		{"env_chain_residual_relu_1x64x8x8", "", itself, func(a, _ float32) float32 { return a + max(0, a) }},
		{"binary_add_1x64x8x8", "b6", itself, add},
		{"binary_sub_1x64x8x8", "b6", itself, func(a, b float32) float32 { return a - b }},
		{"binary_maximum_1x128x16x16", "b6", itself, func(a, b float32) float32 { return max(a, b) }},
		{"binary_mul_1x1024x1x1", "b6", itself, mul},
		{"binary_add_1x3x224x224", "b6", itself, add},
	} {
		p := text(t, tc.name)
		inputs := make(map[string][]half)
		for port := range p.Inputs() {
			inputs[port.Name] = uniform(r, engine.Elements(port))
		}
		a, b := inputs["b4"], inputs[tc.second]
		if tc.second == "weights" {
			clear(b[:64]) // a row of biases and a row of factors
			b = b[64:]
		}
		want := make([]half, len(a))
		for i := range want {
			second := float32(0)
			if tc.second != "" {
				second = b[tc.of(i)].Float32()
			}
			want[i] = mac.Round(float64(tc.op(a[i].Float32(), second)+0), mac.NearestAway) // -0 leaves as +0
		}
		same(t, tc.name, want, run(t, p, inputs))
	}
}

// product multiplies the matrix x, m rows of k elements, by the transpose of w, n rows of k
// elements. Each element of the result is computed by one call of Dot.
func product(x, w []half, k int) (out []half) {
	for row := range slices.Chunk(x, k) {
		for column := range slices.Chunk(w, k) {
			out = append(out, mac.Dot(row, column))
		}
	}
	return out
}

// The runtime matrix multiply lists its result, then y, then x.
func TestRuntimeMatrixMultiplyChain(t *testing.T) {
	p := text(t, "env_mm_r3rr_m64_k64_n64_tx0_ty0_b1")
	r := rand.New(rand.NewPCG(5, 5))
	x, y := uniform(r, 64*64), uniform(r, 64*64)
	w := make([]half, 64*64)
	for i := range w {
		w[i] = y[i%64*64+i/64]
	}
	same(t, "x*y", product(x, w, 64), run(t, p, map[string][]half{"b5": y, "b6": x}))
}

func TestMatrixMultiplyChains(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, tc := range []struct{ m, k, n int }{
		{1, 256, 256}, {1, 256, 512}, {1, 256, 1024}, {1, 512, 256}, {8, 512, 512}, {64, 256, 256},
	} {
		name := fmt.Sprintf("matvec_m%d_k%d_n%d", tc.m, tc.k, tc.n)
		if tc.m > 1 {
			name = fmt.Sprintf("matmul_m%d_k%d_n%d_ty1", tc.m, tc.k, tc.n)
		}
		p := text(t, name)
		x, w := uniform(r, tc.m*tc.k), uniform(r, tc.n*tc.k)
		f := &filter{groups: 1, weights: slices.Collect(slices.Chunk(w, tc.k))}
		same(t, name, product(x, w, tc.k), run(t, p, map[string][]half{"b5": x, "weights": f.section(t, p)}))
	}
}

func TestUnaryChains(t *testing.T) {
	in := make([]half, 1<<16)
	for i := range in {
		in[i] = half(i)
	}
	for _, tc := range []struct {
		name, table string
		scale, bias half
	}{
		{"unary_exp_c64", "exp", 0x3dc5, 0},          // log2(e)
		{"unary_rsqrt_c64", "rsqrt", 0x3c00, 0x0011}, // epsilon 1e-6
		{"unary_sigmoid_c64", "sigmoid", 0x3c00, 0},
		{"unary_sqrt_c64", "sqrt", 0x3c00, 0},
		{"unary_tanh_c512", "tanh", 0x3c00, 0},
		{"env_act_gelu_1x256x32x32_exact", "gelu", 0x3c00, 0},
		{"env_act_silu_1x128x16x16", "silu", 0x3c00, 0},
	} {
		p := text(t, tc.name)
		lut := table(t, tc.table)
		look, err := mac.ParseTable(toBytes(lut))
		if err != nil {
			t.Fatal(err)
		}
		post := mac.Post{Scale: tc.scale.Float32(), Bias: mac.AccBias(tc.bias, 0), Table: look}
		port, _ := p.Port("b4", loader.Input)
		n := engine.Elements(port)
		for chunk := range slices.Chunk(in, n) {
			full := append(slices.Clone(chunk), make([]half, n-len(chunk))...)
			if n < 4096 && chunk[0]&0x3ff != 0 {
				continue // a part of every binade is enough
			}
			want, acc := make([]half, n), make([]float32, n)
			for i, h := range full {
				if acc[i] = h.Float32(); h.IsNaN() {
					acc[i] = float32(math.Inf(1))
				}
			}
			post.Apply(want, acc)
			same(t, tc.name, want, run(t, p, map[string][]half{"b4": full, "weights": lut}))
		}
	}

	want := halves(0, 0, 0.5, 2)
	got := run(t, text(t, "unary_relu_c64"), map[string][]half{"b4": append(halves(-1, 0, 0.5, 2), make([]half, 60)...)})
	same(t, "unary_relu_c64", want, got[:4])
}

// A filter is the weights of a layer over all its groups: a row of (input channel, y, x)
// for every output channel, and its bias.
type filter struct {
	groups  int
	weights [][]half
	biases  []half
}

// convolutions returns the tasks of p that use the multiply-accumulate units, each with the first
// output channel that it computes.
func convolutions(t *testing.T, p *loader.Program) map[*regs.Task]int {
	t.Helper()
	linked, err := p.Link()
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[*regs.Task]int)
	for _, task := range linked.Tasks {
		g := &task.Groups
		if g.Planar() || g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate {
			continue
		}
		m[task] = 0
		if plane := g.TileDMADst.DstPlaneStride.Bytes(); plane != 0 {
			m[task] = int(g.TileDMADst.DstBase.Bytes() / plane)
		}
	}
	return m
}

// A place is an operand of an output in its window.
type place struct{ channel, y, x int }

// stream returns the order in which the operands of an output are multiplied: input channels in the
// outer loop, then the taps by stride phase, then the pixels of a step.
func stream(g *regs.Groups) (order []place) {
	cc := g.Common.ConvCfg
	channels, ox := int(g.Common.Cin.Cin()), int(cc.Ox())
	if g.Common.GroupConvCfg.UnicastEn() {
		channels = 1
	}
	for c := range channels {
		for y := range int(cc.Kh()) {
			for x := range int(cc.Kw()) + (ox-1)*int(cc.Sx())/ox {
				order = append(order, place{c, y, x})
			}
		}
	}
	slices.SortStableFunc(order, func(a, b place) int {
		return cmp.Or(a.channel-b.channel, a.y%int(cc.Sy())-b.y%int(cc.Sy()), a.x%int(cc.Sx())-b.x%int(cc.Sx()))
	})
	return order
}

// kernel returns the weights of one output channel and one pixel of a step in the order that stream
// returns.
func (f *filter) kernel(g *regs.Groups, order []place, channel, pixel int) []half {
	cc := g.Common.ConvCfg
	w := make([]half, len(order))
	for i, p := range order {
		if x := p.x - pixel*int(cc.Sx()/cc.Ox()); x >= 0 && x < int(cc.Kw()) {
			w[i] = f.weights[channel][(p.channel*int(cc.Kh())+p.y)*int(cc.Kw())+x]
		}
	}
	return w
}

// section returns the bytes of the constants of p with the weights of f, in the layouts for which
// the hashes of the compiler's sections match.
func (f *filter) section(t *testing.T, p *loader.Program) []half {
	t.Helper()
	port, ok := p.Port("weights", loader.Input)
	if !ok {
		t.Fatal("no weights")
	}
	data := make([]byte, port.Bytes)
	for task, base := range convolutions(t, p) {
		g := &task.Groups
		order := stream(g)
		cout, pixels := int(g.Common.Cout.Cout()), int(g.Common.ConvCfg.Ox())
		var lanes [16]bytes.Buffer
		for group := range g.GroupCount() {
			next := base + group*cout
			for rest := cout; rest > 0; {
				width, planes := max(1, min(rest/16, 1<<g.Common.ConvCfg.OCGSize())), min(rest, 16)
				if rest >= 16 {
					planes = rest / (16 * width) * 16
				}
				for plane := range planes {
					lane := &lanes[plane%16]
					var kernels [][]half
					for c := next; c < next+width; c++ {
						for pixel := range pixels {
							kernels = append(kernels, f.kernel(g, order, c, pixel))
							if f.biases != nil {
								lane.Write(toBytes(f.biases[c : c+1]))
							}
						}
					}
					if g.NE.KernelCfg.Sparse() {
						lane.Write(zeroSkipping(kernels))
					} else {
						for k := range order {
							for _, kernel := range kernels {
								lane.Write(toBytes(kernel[k : k+1]))
							}
						}
					}
					next += width
				}
				rest -= planes * width
			}
			for i := range lanes {
				lanes[i].Write(make([]byte, -lanes[i].Len()&63))
			}
		}
		for i := range lanes {
			at, size := int(g.KernelDMASrc.CoeffBaseAddr[i].Bytes()), int(g.KernelDMASrc.CoeffBfrSize[i].Bytes())
			if lanes[i].Len() > size {
				t.Fatalf("lane %d takes %d bytes, the program has %d", i, lanes[i].Len(), size)
			}
			copy(data[at:], lanes[i].Bytes())
		}
	}
	return fromBytes(data)
}

// zeroSkipping encodes the weights of one plane in the zero-skipping form that stride 2 uses.
func zeroSkipping(kernels [][]half) []byte {
	var body []byte
	for k := range kernels[0] {
		mask, halves := byte(0), []half(nil)
		for i, kernel := range kernels { // eight at most in the programs
			if kernel[k] != 0 {
				mask |= 1 << i
				halves = append(halves, kernel[k])
			}
		}
		body = append(append(body, 0, mask), toBytes(halves)...)
	}
	return append(binary.LittleEndian.AppendUint16(nil, uint16(len(body))), body...)
}

// check computes some random outputs of each task of a convolution from the definition and fails
// the test if they differ from out, a tensor with rows of the given width.
func (f *filter) check(t *testing.T, r *rand.Rand, p *loader.Program, in, out []half, width int) {
	t.Helper()
	for task, base := range convolutions(t, p) {
		g := &task.Groups
		cc, is := g.Common.ConvCfg, g.InShape()
		order := stream(g)
		cout, height, pixels := int(g.Common.Cout.Cout()), int(g.Common.OutDim.Hout()), int(cc.Ox())
		for range 300 {
			group, c, y, x := r.IntN(is.Groups), r.IntN(cout), r.IntN(height), r.IntN(width)
			n := base + group*cout + c
			operands := make([]half, len(order))
			for i, o := range order {
				channel := group*is.Channels + o.channel
				if g.Common.GroupConvCfg.UnicastEn() {
					channel = n
				}
				iy, ix := y*int(cc.Sy())+o.y-int(cc.Py()), x/pixels*int(cc.Sx())+o.x-int(cc.Px())
				if iy >= 0 && iy < is.Height && ix >= 0 && ix < is.Width {
					operands[i] = in[(channel*is.Height+iy)*is.Width+ix]
				}
			}
			start := float32(0)
			if f.biases != nil {
				start = f.biases[n].Float32()
			}
			want := mac.H13.DotBias(start, operands, f.kernel(g, order, n, x%pixels))
			if got := out[(n*height+y)*width+x]; got != want {
				t.Errorf("channel %d, row %d, column %d: %v, want %v", n, y, x, got, want)
				return
			}
		}
	}
}

// Every convolution of the real texts whose weights' order is known, split ones, grouped
// and depthwise ones, with biases, at stride 2 and at two pixels a step.
func TestConvolutionChains(t *testing.T) {
	const wantChains = 37
	chains := 0
	for _, file := range programs(t) {
		name := filepath.Base(file)
		if !strings.HasSuffix(name, ".bin") || !strings.Contains(name, "conv_") || strings.Contains(name, "k3_c64_n64_s16_st2") || strings.Contains(name, "k3_c64_n64_s64_st2") {
			continue
		}
		chains++
		t.Run(strings.TrimSuffix(name, ".text.bin"), func(t *testing.T) {
			p, err := loader.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			f := new(filter)
			channels, taps, macs, bias, sparse := 0, 0, 0, false, false
			for task := range convolutions(t, p) {
				g := &task.Groups
				cc := g.Common.ConvCfg
				channels += g.GroupCount() * int(g.Common.Cout.Cout())
				taps = len(stream(g)) / (int(cc.Kw()) + (int(cc.Ox())-1)*int(cc.Sx()/cc.Ox())) * int(cc.Kw())
				macs += taps * g.OutShape().Elements()
				bias = g.NE.MACCfg.BiasMode()
				sparse = g.NE.KernelCfg.Sparse()
			}
			most := int(3e8)
			switch {
			case os.Getenv("LONG") != "":
				most = math.MaxInt
			case testing.Short():
				most = 1e8
			}
			if macs > most {
				t.Skipf("%d multiply-accumulates take long: LONG=1 has them", macs)
			}
			r := rand.New(rand.NewPCG(7, uint64(macs)))
			f.weights = slices.Collect(slices.Chunk(uniform(r, channels*taps), taps))
			if sparse {
				clear(f.weights[0]) // its lane has room for one channel less
			}
			if bias {
				f.biases = uniform(r, channels)
			}
			in, _ := p.Port("b4", loader.Input)
			x := uniform(r, engine.Elements(in))
			got := run(t, p, map[string][]half{"b4": x, "weights": f.section(t, p)})
			out, _ := p.Port("b5", loader.Output)
			f.check(t, r, p, x, got, out.Shape[3])
		})
	}
	if chains != wantChains {
		t.Errorf("%d chains, want %d", chains, wantChains)
	}
}
