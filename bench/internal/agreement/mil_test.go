package agreement

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
	"anesim/loader/network"
)

// TestMILForms computes operations of Core ML whose meaning differs from that of the most similar
// operator of ONNX, with values from Core ML's definition.
func TestMILForms(t *testing.T) {
	row := []float64{-3.5, -2, -1, 0, 0.5, 1, 1.5, 7}
	each := func(f func(v float64) float64) []float64 {
		out := slices.Clone(row)
		for i, v := range out {
			out[i] = f(v)
		}
		return out
	}
	for _, tc := range []struct {
		name, call string
		dims       string // of the result
		want       []float64
	}{
		{"mod has the sign of the divisor", "mod(x = x, y = fp16(2))", "1, 1, 1, 8", each(func(v float64) float64 { return v - 2*math.Floor(v/2) })},
		{"floor_div rounds down", "floor_div(x = x, y = fp16(2))", "1, 1, 1, 8", each(func(v float64) float64 { return math.Floor(v / 2) })},
		{"thresholded_relu keeps the threshold", "thresholded_relu(x = x, alpha = fp16(0.5))", "1, 1, 1, 8", []float64{0, 0, 0, 0, 0.5, 1, 1.5, 7}},
		{"resize_bilinear of one element takes the center", `resize_bilinear(x = x, target_size_height = int32(1), target_size_width = int32(1), sampling_mode = string("ALIGN_CORNERS"))`, "1, 1, 1, 1", []float64{0.25}},
		{"resize_bilinear of one element takes the first", `resize_bilinear(x = x, target_size_height = int32(1), target_size_width = int32(1), sampling_mode = string("STRICT_ALIGN_CORNERS"))`, "1, 1, 1, 1", []float64{-3.5}},
		{"slice_by_size counts from the end", "slice_by_size(x = x, begin = tensor<int32, [4]>([0, 0, 0, -2]), size = tensor<int32, [4]>([1, 1, 1, 2]))", "1, 1, 1, 2", []float64{1.5, 7}},
		{"clamped_relu scales before it clamps", "clamped_relu(x = x, alpha = fp16(-2), beta = fp16(3))", "1, 1, 1, 8", []float64{3, 3, 2, 0, 0.5, 1, 1.5, 3}},
		{"layer_norm of axes that are not the last", "layer_norm(x = x, axes = tensor<int32, [2]>([3, 0]), epsilon = fp16(0.5))", "1, 1, 1, 8", each(func(v float64) float64 { return (v - 0.4375) / math.Sqrt(8.52734375+0.5) })},
		{"gather in each batch", "gather(x = x, indices = tensor<int32, [1, 1, 1, 2]>([6, -1]), axis = int32(3), batch_dims = int32(2))", "1, 1, 1, 1, 2", []float64{1.5, 7}},
		{"concat interleaves", "concat(values = (x, x), axis = int32(-1), interleave = bool(true))", "1, 1, 1, 16", []float64{-3.5, -3.5, -2, -2, -1, -1, 0, 0, 0.5, 0.5, 1, 1, 1.5, 1.5, 7, 7}},
		{"resize_bilinear half a step inside", `resize_bilinear(x = x, target_size_height = int32(1), target_size_width = int32(2), sampling_mode = string("OFFSET_CORNERS"))`, "1, 1, 1, 2", []float64{-1.25, 1.125}},
		{"resize of one axis", "resize(x = x, shape = tensor<int32, [1]>([4]), resized_dims = uint32(1))", "1, 1, 1, 4", []float64{-3.5, -1, 0.5, 1.5}},
		{"upsample_bilinear from the first element", "upsample_bilinear(x = x, scale_factor_width = int32(2), align_corners = bool(false), half_pixel_centers = bool(false))", "1, 1, 1, 16",
			[]float64{-3.5, -2.75, -2, -1.5, -1, -0.5, 0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 4.25, 7, 7}},
		{"conv_transpose to an odd extent", `conv_transpose(x = x, weight = tensor<fp16, [1, 1, 1, 2]>([1, 2]), strides = tensor<int32, [2]>([1, 2]), pad_type = string("same"), output_shape = tensor<int32, [4]>([1, 1, 1, 15]))`, "1, 1, 1, 15",
			[]float64{-3.5, -7, -2, -4, -1, -2, 0, 0, 0.5, 1, 1, 2, 1.5, 3, 7}},
		{"conv with the default of pad", `conv(x = x, weight = tensor<fp16, [1, 1, 1, 1]>([2]), pad_type = string("custom"))`, "1, 1, 1, 8", each(func(v float64) float64 { return 2 * v })},
		{"slice_by_index of one element ignores the stride", "slice_by_index(x = x, begin = tensor<int32, [4]>([0, 0, 0, 5]), end = tensor<int32, [4]>([1, 1, 1, 8]), stride = tensor<int32, [4]>([1, 1, 1, -1]), begin_mask = tensor<bool, [4]>([false, false, false, true]), squeeze_mask = tensor<bool, [4]>([false, false, false, true]))", "1, 1, 1", []float64{-3.5}},
		{"quantize and dequantize", "dequantize(input = quantize_x, scale = fp16(0x1p-2))", "1, 1, 1, 8", []float64{-3.5, -2, -1, 0, 0.5, 1, 1.5, 2}},
		{"softplus_parametric", "softplus_parametric(x = x, alpha = tensor<fp16, [1]>([2]), beta = tensor<fp16, [1]>([0.5]))", "1, 1, 1, 8", each(func(v float64) float64 { return 2 * math.Log1p(math.Exp(v/2)) })},
		{"gather_along_axis", "gather_along_axis(x = x, indices = tensor<int32, [1, 1, 1, 3]>([7, 0, -2]), axis = int32(-1))", "1, 1, 1, 3", []float64{7, -3.5, 1.5}},
		{"gather_nd", "gather_nd(x = x, indices = tensor<int32, [2, 4]>([[0, 0, 0, 7], [0, 0, 0, 1]]))", "2", []float64{7, -2}},
		{"slice_update in the middle", "slice_update(x = x, update = tensor<fp16, [1, 1, 1, 2]>([10, 20]), begin = tensor<int32, [4]>([0, 0, 0, 3]), end = tensor<int32, [4]>([1, 1, 1, 5]))", "1, 1, 1, 8", []float64{-3.5, -2, -1, 10, 20, 1, 1.5, 7}},
		{"slice_update of the end, counted from there", "slice_update(x = x, update = tensor<fp16, [1, 1, 1, 2]>([10, 20]), begin = tensor<int32, [4]>([0, 0, 0, -2]), end = tensor<int32, [4]>([0, 0, 0, 0]), end_mask = tensor<bool, [4]>([true, true, true, true]))", "1, 1, 1, 8", []float64{-3.5, -2, -1, 0, 0.5, 1, 10, 20}},
		{"a palette of vectors", "add(x = vectors, y = x)", "1, 1, 1, 8", []float64{-3.5 + 3, -2 + 4, -1 + 1, 2, 0.5 + 5, 1 + 6, 1.5 + 1, 7 + 2}},
		{"one_hot", "mul(x = x, y = hot)", "1, 1, 1, 8", []float64{0, 0, 0, 0, 0, 1, 0, 0}},
		{"scatter_along_axis", `scatter_along_axis(data = x, indices = tensor<int32, [1, 1, 1, 2]>([6, 0]), updates = tensor<fp16, [1, 1, 1, 2]>([10, 20]), axis = int32(3), mode = string("add"))`, "1, 1, 1, 8", []float64{16.5, -2, -1, 0, 0.5, 1, 11.5, 7}},
		{"scatter_nd", `scatter_nd(data = x, indices = tensor<int32, [2, 4]>([[0, 0, 0, 7], [0, 0, 0, 1]]), updates = tensor<fp16, [2]>([10, 20]), mode = string("update"))`, "1, 1, 1, 8", []float64{-3.5, 20, -1, 0, 0.5, 1, 1.5, 10}},
		{"fill_like", "fill_like(ref_tensor = x, value = fp16(1.5))", "1, 1, 1, 8", each(func(float64) float64 { return 1.5 })},
		{"argsort puts the largest first", "argsort(x = x)", "1, 1, 1, 8", []float64{7, 6, 5, 4, 3, 2, 1, 0}},
		{"argsort ascending", "argsort(x = x, axis = int32(3), ascending = bool(true))", "1, 1, 1, 8", []float64{0, 1, 2, 3, 4, 5, 6, 7}},
		{"scatter of slices adds", "scatter(data = x, indices = tensor<int32, [2]>([6, 0]), updates = tensor<fp16, [1, 1, 1, 2]>([10, 20]), axis = int32(-1))", "1, 1, 1, 8", []float64{16.5, -2, -1, 0, 0.5, 1, 11.5, 7}},
		{"scatter at a table of indices", `scatter(data = x, indices = tensor<int32, [2, 2]>([[1, 7], [0, 3]]), updates = tensor<fp16, [1, 1, 1, 2, 2]>([10, 20, 30, 40]), axis = int32(3), mode = string("update"))`, "1, 1, 1, 8", []float64{30, 10, -1, 40, 0.5, 1, 1.5, 20}},
		{"scatter along the first axis", `scatter(data = x, indices = tensor<int32, [1]>([0]), updates = tensor<fp16, [1, 1, 1, 8]>([1, 2, 3, 4, 5, 6, 7, 8]), mode = string("max"), validate_indices = bool(true))`, "1, 1, 1, 8", []float64{1, 2, 3, 4, 5, 6, 7, 8}},
		{"reverse_sequence reverses the beginning", "reverse_sequence(x = x, lengths = tensor<int32, [1]>([3]), seq_axis = int32(-1), batch_axis = int32(0))", "1, 1, 1, 8", []float64{-1, -2, -3.5, 0, 0.5, 1, 1.5, 7}},
		{"sliding_windows overlap", "sliding_windows(x = x, axis = int32(-1), size = int32(4), stride = int32(2))", "1, 1, 1, 3, 4", []float64{-3.5, -2, -1, 0, -1, 0, 0.5, 1, 0.5, 1, 1.5, 7}},
		{"sliding_windows at each element", "sliding_windows(x = x, axis = int32(3), size = int32(7))", "1, 1, 1, 2, 7", []float64{-3.5, -2, -1, 0, 0.5, 1, 1.5, -2, -1, 0, 0.5, 1, 1.5, 7}},
		{"space_to_batch pads first", "space_to_batch(x = x, block_shape = tensor<int32, [2]>([2, 3]), paddings = tensor<int32, [2, 2]>([[1, 0], [0, 1]]))", "6, 1, 1, 3",
			[]float64{0, 0, 0, 0, 0, 0, 0, 0, 0, -3.5, 0, 1.5, -2, 0.5, 7, -1, 1, 0}},
		{"batch_to_space crops last", "batch_to_space(x = blocks, block_shape = tensor<int32, [2]>([1, 4]), crops = tensor<int32, [2, 2]>([[0, 0], [1, 2]]))", "1, 1, 1, 5",
			[]float64{-1, 0.5, 1.5, -2, 0}},
		{"resample between pixels", `resample(x = x, coordinates = tensor<fp16, [1, 1, 2, 2]>([-1, 0, 0, 0]), sampling_mode = string("bilinear"), padding_mode = string("border"), padding_value = fp16(0), coordinates_mode = string("normalized_minus_one_to_one"), align_corners = bool(true))`, "1, 1, 1, 2", []float64{-3.5, 0.25}},
		{"resample beyond the edge", `resample(x = x, coordinates = tensor<fp16, [1, 1, 2, 2]>([-1, 0, 0.125, 0]), sampling_mode = string("bilinear"), padding_mode = string("constant"), padding_value = fp16(0), coordinates_mode = string("normalized_minus_one_to_one"), align_corners = bool(false))`, "1, 1, 1, 2", []float64{-1.75, 0.5}},
		{"gelu by tanh", `gelu(x = x, mode = string("TANH_APPROXIMATION"))`, "1, 1, 1, 8", each(func(v float64) float64 {
			return v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
		})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := ""
			if strings.Contains(tc.call, "quantize_x") { // of at most 2
				before = "tensor<int8, [1, 1, 1, 8]> quantize_x = quantize(input = four, output_dtype = string(\"int8\"), scale = fp16(0x1p-2));\n"
				before = "tensor<fp16, [1, 1, 1, 8]> four = minimum(x = x, y = fp16(2));\n" + before
			}
			if strings.Contains(tc.call, "hot)") {
				before = "tensor<fp16, [8]> hot = one_hot(indices = int32(5), one_hot_vector_size = int32(8), on_value = fp16(1), off_value = fp16(0));\n"
			}
			if strings.Contains(tc.call, "blocks") {
				before = "tensor<fp16, [4, 1, 1, 2]> blocks = reshape(x = x, shape = tensor<int32, [4]>([4, 1, 1, 2]));\n"
			}
			if strings.Contains(tc.call, "vectors") { // indices 1, 0, 2, 0 of the vectors (1, 2), (3, 4) and (5, 6)
				before = "tensor<fp16, [1, 1, 1, 8]> vectors = constexpr_lut_to_dense(indices = tensor<uint2, [1, 1, 1, 4]>([1, 0, 2, 0]), lut = tensor<fp16, [1, 1, 1, 1, 4, 2]>([1, 2, 3, 4, 5, 6, 7, 8]), vector_axis = int32(-1));\n"
			}
			text := fmt.Sprintf("program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 1, 1, 8]> x) {\n        %stensor<fp16, [%s]> y = %s[name = string(\"y\")];\n    } -> (y);\n}\n", before, tc.dims, tc.call)
			n, err := network.ReadMIL([]byte(text), network.Options{})
			if err != nil {
				t.Fatal(err)
			}
			results, _, err := runNetwork(n, map[string]*tensor.Tensor{"x": {Type: onnx.Float16, Dims: []int{1, 1, 1, 8}, Data: row}})
			if err != nil {
				t.Fatal(err)
			}
			got := results["y"]
			if got == nil || len(got.Data) != len(tc.want) {
				t.Fatalf("result is %+v; want %v; notes %s", got, tc.want, strings.Join(n.Notes, "; "))
			}
			for i, w := range tc.want {
				if math.Abs(got.Data[i]-w) > 0.01 {
					t.Errorf("element %d is %g; want %g", i, got.Data[i], w)
				}
			}
		})
	}
}

// TestGatedMIL computes a GRU by the definition of Core ML's documentation: the gates are reset, output and
// update, and the reset gate multiplies the state or, with reset_after, its product and bias.
func TestGatedMIL(t *testing.T) {
	const in, hidden, steps = 3, 2, 4
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	ih, hh := someNumbers(3*hidden*in, 1), someNumbers(3*hidden*hidden, 4)
	bias, inputBias, xs, h0 := someNumbers(3*hidden, 6), someNumbers(3*hidden, 7), someNumbers(steps*in, 3), someNumbers(hidden, 8)
	for _, tc := range []struct {
		what                               string
		reverse, after, input, biased, all bool
	}{
		{"plain", false, false, false, false, true}, {"biased", false, false, false, true, true}, {"last state", false, false, false, true, false},
		{"reverse", true, false, false, true, false}, {"two biases", false, false, true, true, true},
		{"reset_after", false, true, false, true, true}, {"reset_after with two biases", false, true, true, true, true},
	} {
		product := func(w []float64, gate, i, n int, v []float64) (sum float64) {
			for j := range n {
				sum += w[(gate*hidden+i)*n+j] * v[j]
			}
			return sum
		}
		biasOf := func(list []float64, given bool, gate, i int) float64 {
			if !given {
				return 0
			}
			return list[gate*hidden+i]
		}
		h := h0
		var sequence []float64
		for k := range steps {
			if tc.reverse {
				k = steps - 1 - k
			}
			v := xs[k*in : (k+1)*in]
			var r, z, next [hidden]float64
			for i := range hidden {
				r[i] = sigmoid(product(ih, 0, i, in, v) + product(hh, 0, i, hidden, h) + biasOf(bias, tc.biased, 0, i) + biasOf(inputBias, tc.input, 0, i))
				z[i] = sigmoid(product(ih, 2, i, in, v) + product(hh, 2, i, hidden, h) + biasOf(bias, tc.biased, 2, i) + biasOf(inputBias, tc.input, 2, i))
			}
			for i := range hidden {
				o := product(ih, 1, i, in, v) + biasOf(inputBias, tc.input, 1, i)
				if tc.after {
					o += r[i] * (product(hh, 1, i, hidden, h) + biasOf(bias, tc.biased, 1, i))
				} else {
					o += product(hh, 1, i, hidden, []float64{r[0] * h[0], r[1] * h[1]}) + biasOf(bias, tc.biased, 1, i)
				}
				next[i] = (1-z[i])*math.Tanh(o) + z[i]*h[i]
			}
			h = slices.Clone(next[:])
			sequence = append(sequence, h...)
		}
		args := fmt.Sprintf("x = x, weight_ih = %s, weight_hh = %s, initial_h = %s, output_sequence = bool(%v)", halfLiteral(ih, 3*hidden, in), halfLiteral(hh, 3*hidden, hidden), halfLiteral(h0, 1, hidden), tc.all)
		if tc.biased {
			args += ", bias = " + halfLiteral(bias, 3*hidden)
		}
		if tc.input {
			args += ", input_bias = " + halfLiteral(inputBias, 3*hidden)
		}
		if tc.after {
			args += ", reset_after = bool(true)"
		}
		if tc.reverse {
			args += `, direction = string("reverse")`
		}
		length, want := steps, sequence
		if !tc.all {
			length, want = 1, h
		}
		text := fmt.Sprintf("program(1.3)\n{\n func main<ios18>(tensor<fp16, [%d, 1, %d]> x) {\n tensor<fp16, [%d, 1, %d]> y, tensor<fp16, [1, %[4]d]> h = gru(%s)[name = string(\"y\")];\n } -> (y, h);\n}\n", steps, in, length, hidden, args)
		n, err := network.ReadMIL([]byte(text), network.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(n.Notes, func(s string) bool { return strings.Contains(s, "no model with known values confirms it") }) {
			t.Errorf("%s: no note says that the order of gates is unconfirmed: %q", tc.what, n.Notes)
		}
		got, _, err := runNetwork(n, map[string]*tensor.Tensor{"x": {Type: onnx.Float16, Dims: []int{steps, 1, in}, Data: xs}})
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range map[string][]float64{"y": want, "h": h} {
			r := got[name]
			if r == nil || len(r.Data) != len(w) {
				t.Errorf("%s: %s is %+v; want %d elements; %+v", tc.what, name, r, len(w), n.Layers)
				continue
			}
			for i := range w {
				if math.Abs(r.Data[i]-w[i]) > 0.006 {
					t.Errorf("%s: element %d of %s is %g; want %g", tc.what, i, name, r.Data[i], w[i])
				}
			}
		}
	}
}

// halfLiteral returns a constant of MIL.
func halfLiteral(v []float64, dims ...int) string {
	list := func(v any) string { return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(v)), ", "), "[]") }
	return fmt.Sprintf("tensor<fp16, [%s]>([%s])", list(dims), list(v))
}

// TestRecurrentMIL computes an LSTM and an RNN by their definition: the gates are input, forget, output and cell,
// and the second direction reads the sequence from its end.
func TestRecurrentMIL(t *testing.T) {
	const in, hidden, steps = 3, 2, 4
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	// run returns the state after each step, in the order of the steps, and the last state and cell.
	run := func(gates int, ih, hh, bias, xs, h, c []float64, back bool) (all [][]float64, lastH, lastC []float64) {
		all = make([][]float64, steps)
		for k := range steps {
			s := k
			if back {
				s = steps - 1 - k
			}
			z := make([]float64, gates*hidden)
			for i := range z {
				z[i] = bias[i]
				for j := range in {
					z[i] += ih[i*in+j] * xs[s*in+j]
				}
				for j := range hidden {
					z[i] += hh[i*hidden+j] * h[j]
				}
			}
			h, c = slices.Clone(h), slices.Clone(c)
			for i := range hidden {
				if gates == 1 {
					h[i] = math.Tanh(z[i])
					continue
				}
				c[i] = sigmoid(z[hidden+i])*c[i] + sigmoid(z[i])*math.Tanh(z[3*hidden+i])
				h[i] = sigmoid(z[2*hidden+i]) * math.Tanh(c[i])
			}
			all[s] = h
		}
		return all, h, c
	}
	literal := halfLiteral
	xs := someNumbers(steps*in, 3)
	for _, tc := range []struct {
		name     string
		gates    int
		back     bool // with a second direction
		sequence bool
	}{{"lstm", 4, false, true}, {"lstm", 4, false, false}, {"lstm", 4, true, true}, {"lstm", 4, true, false}, {"rnn", 1, false, true}, {"rnn", 1, false, false}} {
		rows := tc.gates * hidden
		dirs := 1
		args := "x = x"
		var all [2][][]float64
		var lastH, lastC, h0, c0 []float64
		for d, end := range []string{"", "_back"} {
			if d == 1 && !tc.back {
				break
			}
			dirs = d + 1
			ih, hh, bias := someNumbers(rows*in, 1+d), someNumbers(rows*hidden, 4+d), someNumbers(rows, 6+d)
			h, c := someNumbers(hidden, 8+d), someNumbers(hidden, 10+d)
			args += fmt.Sprintf(", weight_ih%s = %s, weight_hh%[1]s = %[3]s, bias%[1]s = %[4]s", end, literal(ih, rows, in), literal(hh, rows, hidden), literal(bias, rows))
			var hd, cd []float64
			all[d], hd, cd = run(tc.gates, ih, hh, bias, xs, h, c, d == 1)
			lastH, lastC, h0, c0 = append(lastH, hd...), append(lastC, cd...), append(h0, h...), append(c0, c...)
		}
		want := map[string][]float64{"h": lastH}
		for s := range steps {
			for d := range dirs {
				want["y"] = append(want["y"], all[d][s]...)
			}
		}
		length := steps
		if !tc.sequence {
			length, want["y"] = 1, lastH
		}
		args += fmt.Sprintf(", initial_h = %s, output_sequence = bool(%v)", literal(h0, 1, dirs*hidden), tc.sequence)
		if tc.back {
			args += `, direction = string("bidirectional")`
		}
		cell := ""
		if tc.name == "lstm" {
			args += fmt.Sprintf(", initial_c = %s", literal(c0, 1, dirs*hidden))
			cell, want["c"] = fmt.Sprintf(", tensor<fp16, [1, %d]> c", dirs*hidden), lastC
		}
		results := "y, h"
		if cell != "" {
			results += ", c"
		}
		text := fmt.Sprintf("program(1.3)\n{\n func main<ios18>(tensor<fp16, [%d, 1, %d]> x) {\n tensor<fp16, [%d, 1, %d]> y, tensor<fp16, [1, %[4]d]> h%s = %s(%s)[name = string(\"y\")];\n } -> (%s);\n}\n",
			steps, in, length, dirs*hidden, cell, tc.name, args, results)
		n, err := network.ReadMIL([]byte(text), network.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := runNetwork(n, map[string]*tensor.Tensor{"x": {Type: onnx.Float16, Dims: []int{steps, 1, in}, Data: xs}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n.Layers {
			if n.Layers[i].Reason != "" {
				t.Errorf("%s: %s: %s", tc.name, n.Layers[i].Name, n.Layers[i].Reason)
			}
		}
		for name, w := range want {
			if r := got[name]; r == nil || len(r.Data) != len(w) {
				t.Errorf("%s %+v: result %s is %+v; want %v; notes %q", tc.name, tc, name, r, w, n.Notes)
			} else {
				for i := range w {
					if math.Abs(r.Data[i]-w[i]) > 0.02 {
						t.Errorf("%s %+v: element %d of %s is %g; want %g", tc.name, tc, i, name, r.Data[i], w[i])
					}
				}
			}
		}
	}
}
