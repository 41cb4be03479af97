package anesim_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/firmware/engine"
)

// A definition is what a layer means, in float64 over flat tensors in the order of the
// text's inputs.
type definition struct {
	within float64 // worst error allowed, relative to the largest result
	span   float64 // of the inputs, 1 where it is 0
	low    float64 // added to them
	want   func(in [][]float64) []float64
}

// each returns a function that applies f to every element of a tensor.
func each(f func(float64) float64) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		out := make([]float64, len(in[0]))
		for i, x := range in[0] {
			out[i] = f(x)
		}
		return out
	}
}

// pairwise returns a function that applies f to the elements of two tensors. The second tensor is
// repeated if it is shorter.
func pairwise(f func(a, b float64) float64) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		out := make([]float64, len(in[0]))
		for i, x := range in[0] {
			out[i] = f(x, in[1][i%len(in[1])])
		}
		return out
	}
}

// overRows returns a function that applies f to every row of n elements.
func overRows(n int, f func(row []float64) []float64) func([][]float64) []float64 {
	return func(in [][]float64) (out []float64) {
		for row := range slices.Chunk(in[0], n) {
			out = append(out, f(row)...)
		}
		return out
	}
}

func sumOf(row []float64) (s float64) {
	for _, x := range row {
		s += x
	}
	return s
}

func sumRow(row []float64) []float64  { return []float64{sumOf(row)} }
func meanRow(row []float64) []float64 { return []float64{sumOf(row) / float64(len(row))} }
func maxRow(row []float64) []float64  { return []float64{slices.Max(row)} }

func softmaxRow(row []float64) []float64 {
	out, most := make([]float64, len(row)), slices.Max(row)
	for i, x := range row {
		out[i] = math.Exp(x - most)
	}
	total := sumOf(out)
	for i := range out {
		out[i] /= total
	}
	return out
}

// unitRow returns the row divided by its Euclidean norm.
func unitRow(row []float64) []float64 {
	squares := 0.0
	for _, x := range row {
		squares += x * x
	}
	out := make([]float64, len(row))
	for i, x := range row {
		out[i] = x / math.Sqrt(squares)
	}
	return out
}

func normRow(row []float64) []float64 {
	mean, spread := sumOf(row)/float64(len(row)), 0.0
	for _, x := range row {
		spread += (x - mean) * (x - mean)
	}
	out := make([]float64, len(row))
	for i, x := range row {
		out[i] = (x - mean) / math.Sqrt(spread/float64(len(row))+1e-5)
	}
	return out
}

// transposed returns a function that transposes a matrix of n columns.
func transposed(n int) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		rows := len(in[0]) / n
		out := make([]float64, len(in[0]))
		for i, x := range in[0] {
			out[i%n*rows+i/n] = x
		}
		return out
	}
}

// overChannels returns a function that applies f to the c channels of every pixel.
func overChannels(c int, f func([]float64) []float64) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		pixels := len(in[0]) / c
		return overRows(c, f)([][]float64{transposed(pixels)(in)})
	}
}

func sigmoidOf(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func geluOf(x float64) float64    { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }

// The texts whose constants are at hand compute the layer that was compiled. Tables
// interpolate: what is allowed is the worst error of the table.
var definitions = map[string]definition{
	"unary_abs_c64":                          {0, 1, 0, each(math.Abs)},
	"chain_add_relu_c512":                    {1e-3, 1, 0, pairwise(func(a, b float64) float64 { return max(0, a+b) })},
	"binary_add_c64_constant_scalar":         {1e-3, 1, 0, each(func(x float64) float64 { return x + 0.5 })},
	"binary_add_c512_constant_scalar":        {1e-3, 1, 0, each(func(x float64) float64 { return x + 0.5 })},
	"binary_sub_1x3x224x224":                 {1e-3, 1, 0, pairwise(func(a, b float64) float64 { return a - b })},
	"env_bcast_mul_1x96x8x8_runtime_1x1x8x8": {1e-3, 1, 0, pairwise(func(a, b float64) float64 { return a * b })},
	"norm_layer_norm_ax3_1x64x8x8":           {4e-3, 1, 0, overRows(8, normRow)},
	"reduce_max_axes_2_3":                    {0, 1, 0, overRows(64, maxRow)},
	"reduce_probe_max_ax1_1x512x1x1":         {0, 1, 0, overRows(512, maxRow)},
	"reduce_probe_max_ax1_1x2048x1x1":        {0, 1, 0, overRows(2048, maxRow)},
	"reduce_mean_axes_1":                     {1e-3, 1, 0, overChannels(64, meanRow)},
	"reduce_probe_mean_ax1_1x128x16x16":      {1e-3, 1, 0, overChannels(128, meanRow)},
	"reduce_probe_sum_ax1_1x512x1x1":         {1e-3, 1, 0, overRows(512, sumRow)},
	"reduce_probe_sum_ax1_1x1024x1x1":        {1e-3, 1, 0, overRows(1024, sumRow)},
	"reduce_probe_sum_ax1_1x4096x1x1":        {1e-3, 1, 0, overRows(4096, sumRow)},
	"reduce_probe_max_ax3_1x128x16x16":       {0, 1, 0, overRows(16, maxRow)},
	"reduce_probe_mean_ax3_1x128x16x16":      {1e-3, 1, 0, overRows(16, meanRow)},
	"reduce_probe_mean_ax1_2_3_1x128x16x16":  {1e-3, 1, 0.5, overRows(128*16*16, meanRow)},
	"encoder_slice_lastdim":                  {0, 1, 0, each(func(x float64) float64 { return x })},
	"encoder_transpose_r3_021":               {0, 1, 0, transposed(1024)},
	"encoder_transpose_r3_021_1x1024x375":    {0, 1, 0, transposed(375)},
	"tile_r_1x8x1x375_reps_113751": {0, 1, 0, func(in [][]float64) (out []float64) {
		for row := range slices.Chunk(in[0], 375) {
			for range 375 {
				for _, x := range row {
					out = append(out, max(0, x))
				}
			}
		}
		return out
	}},
	"eiln_add_1600x2560":      {1e-3, 1, 0, pairwise(func(a, b float64) float64 { return a + b })},
	"eiln_mul_1600x2560":      {1e-3, 1, 0, pairwise(func(a, b float64) float64 { return a * b })},
	"eiln_max_1600x2560":      {0, 1, 0, pairwise(func(a, b float64) float64 { return max(a, b) })},
	"eiln_abs_1600x2560":      {0, 1, 0, each(math.Abs)},
	"eiln_square_1600x2560":   {1e-3, 4, 0, each(func(x float64) float64 { return x * x })},
	"eiln_softmax_1600x2560":  {1e-2, 4, 0, overRows(1600, softmaxRow)},
	"eiln_norm_1600x2560":     {1e-2, 4, 1, overRows(1600, unitRow)},
	"eiln_relu6_1600x2560":    {1e-3, 8, 0, each(func(x float64) float64 { return min(max(x, 0), 6) })},
	"eiln_hardtanh_1600x2560": {1e-3, 8, 0, each(func(x float64) float64 { return min(max(x, -1), 1) })},
	"eiln_selu_1600x2560": {6e-3, 4, 0, each(func(x float64) float64 {
		if x < 0 {
			x = 1.6732632423543772 * math.Expm1(x)
		}
		return 1.0507009873554805 * x
	})},
	"eiln_sign_1600x2560": {0, 4, 0, each(func(x float64) float64 { return float64(cmp.Compare(x, 0)) })},
	"eiln_log_1600x2560":  {2e-3, 4, 5, each(math.Log)},
	"eiln_ceil_1600x2560": {0, 4, 0, each(math.Ceil)},
	"eiln_atan_1600x2560": {3e-2, 4, 0, each(math.Atan)},
	"eiln_gelu_1600x2560": {7e-3, 4, 0, each(geluOf)},
	"eiln_silu_1600x2560": {6e-3, 4, 0, each(func(x float64) float64 { return x * sigmoidOf(x) })},
	"eiln_exp_1600x2560":  {2e-3, 4, 0, each(math.Exp)},
	"eiln_sqrt_1600x2560": {2e-3, 4, 4, each(math.Sqrt)},
	"eiln_inv_1600x2560":  {2e-3, 4, 5, each(func(x float64) float64 { return 1 / x })},
}

// ramp returns n random values between low - span and low + span, as fp16 and as float64. The first
// 16,384 values repeat.
func ramp(r *rand.Rand, n int, span, low float64) ([]half, []float64) {
	h, f := make([]half, n), make([]float64, n)
	for i, x := range uniform(r, min(n, 1<<14)) {
		h[i] = float16.Fromfloat32(x.Float32()*float32(span) + float32(low))
		f[i] = float64(h[i].Float32())
	}
	for i := 1 << 14; i < n; i += 1 << 14 {
		copy(h[i:], h[:1<<14])
		copy(f[i:], f[:1<<14])
	}
	return h, f
}

func TestOraclesMeanTheirLayers(t *testing.T) {
	left := make(map[string]bool)
	for name := range definitions {
		left[name] = true
	}
	for _, o := range oracles(t, "oracles") {
		d, ok := definitions[o.name]
		if !ok {
			continue
		}
		delete(left, o.name)
		if testing.Short() && strings.HasPrefix(o.name, "eiln_") {
			continue
		}
		r := rand.New(rand.NewPCG(1, 2))
		inputs := make(map[string][]half)
		var in [][]float64
		for port := range o.program.Inputs() {
			if port.Name == "weights" {
				inputs[port.Name] = o.constants
				continue
			}
			h, f := ramp(r, engine.Elements(port), max(1, d.span), d.low)
			inputs[port.Name], in = h, append(in, f)
		}
		want := d.want(in)
		got := run(t, o.program, inputs)
		scale := max(slices.Max(want), -slices.Min(want))
		worst := near(t, o.name, want, got, d.within*scale)
		t.Logf("%s: worst error %.3g of results up to %.3g", o.name, worst, scale)
	}
	for name := range left {
		t.Errorf("%s is not among the texts", name)
	}
}
