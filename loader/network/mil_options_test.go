package network

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"anesim/internal/network/graph"
	"anesim/loader/network/list"
)

// milOptions has plain calls of MIL operations, and the optional arguments that the operations have,
// with values other than their defaults.
var milOptions = []struct {
	call    string
	options []string
}{
	{"relu(x = x", nil},
	{"softmax(x = x", []string{"axis = int32(1)"}},
	{"leaky_relu(x = x", []string{"alpha = fp16(0.5)"}},
	{"elu(x = x", []string{"alpha = fp16(0.5)"}},
	{"gelu(x = x", []string{`mode = string("SIGMOID_APPROXIMATION")`}},
	{"sigmoid_hard(x = x", []string{"alpha = fp16(0.5)", "beta = fp16(0.25)"}},
	{"clip(x = x, alpha = fp16(0), beta = fp16(1)", nil},
	{"rsqrt(x = x", []string{"epsilon = fp16(0.5)"}},
	{"inverse(x = x", []string{"epsilon = fp16(0.5)"}},
	{"log(x = x", []string{"epsilon = fp16(0.5)"}},
	{"conv(x = x, weight = tensor<fp16, [4, 4, 2, 2]>([" + ones(64) + "])", []string{
		"strides = tensor<int32, [2]>([2, 2])", "dilations = tensor<int32, [2]>([2, 2])", `pad_type = string("same")`,
		`pad_type = string("custom"), pad = tensor<int32, [4]>([1, 1, 1, 1])`, "bias = tensor<fp16, [4]>([1, 2, 3, 4])",
	}},
	{"conv(x = x, weight = tensor<fp16, [4, 2, 2, 2]>([" + ones(32) + "]), groups = int32(2)", nil},
	{"conv_transpose(x = x, weight = tensor<fp16, [4, 4, 2, 2]>([" + ones(64) + "])", []string{
		"strides = tensor<int32, [2]>([2, 2])", "dilations = tensor<int32, [2]>([2, 2])", "bias = tensor<fp16, [4]>([1, 2, 3, 4])",
		"output_shape = tensor<int32, [4]>([1, 4, 8, 10])",
	}},
	{"max_pool(x = x, kernel_sizes = tensor<int32, [2]>([3, 3])", []string{
		"strides = tensor<int32, [2]>([2, 2])", `pad_type = string("same")`, "strides = tensor<int32, [2]>([2, 2]), ceil_mode = bool(true)",
	}},
	{`avg_pool(x = x, kernel_sizes = tensor<int32, [2]>([3, 3]), pad_type = string("same")`, []string{
		"strides = tensor<int32, [2]>([2, 2])", "exclude_padding_from_average = bool(true)",
	}},
	{"linear(x = x, weight = tensor<fp16, [2, 8]>([" + ones(16) + "])", []string{"bias = tensor<fp16, [2]>([1, 2])"}},
	{"matmul(x = x, y = x, transpose_y = bool(true)", []string{"transpose_x = bool(true), transpose_y = bool(false)"}},
	{"batch_norm(x = x, mean = tensor<fp16, [4]>([1, 2, 3, 4]), variance = tensor<fp16, [4]>([1, 2, 3, 4])", []string{
		"gamma = tensor<fp16, [4]>([1, 2, 3, 4])", "beta = tensor<fp16, [4]>([1, 2, 3, 4])", "epsilon = fp16(0.5)",
	}},
	{"instance_norm(x = x", []string{"gamma = tensor<fp16, [4]>([1, 2, 3, 4])", "beta = tensor<fp16, [4]>([1, 2, 3, 4])", "epsilon = fp16(0.5)"}},
	{"layer_norm(x = x, axes = tensor<int32, [1]>([3])", []string{"gamma = tensor<fp16, [8]>([1, 2, 3, 4, 5, 6, 7, 8])", "beta = tensor<fp16, [8]>([1, 2, 3, 4, 5, 6, 7, 8])", "epsilon = fp16(0.5)"}},
	{"l2_norm(x = x", []string{"epsilon = fp16(0.5)"}},
	{"local_response_norm(x = x, size = int32(3)", []string{"alpha = fp16(0.5)", "beta = fp16(0.5)", "k = fp16(2)"}},
	{"reduce_mean(x = x, axes = tensor<int32, [1]>([3])", []string{"keep_dims = bool(true)"}},
	{"concat(values = (x, x), axis = int32(1)", []string{"interleave = bool(true)"}},
	{"pad(x = x, pad = tensor<int32, [4]>([1, 1, 1, 1])", []string{`mode = string("reflect")`, "constant_val = fp16(1)"}},
	{"cumsum(x = x, axis = int32(1)", []string{"axis = int32(2)", "exclusive = bool(true)", "reverse = bool(true)"}},
	{"gather(x = x, indices = tensor<int32, [2]>([1, 0]), axis = int32(1)", []string{"axis = int32(2)"}},
	{"upsample_bilinear(x = x, scale_factor_height = fp32(2), scale_factor_width = fp32(2)", []string{"align_corners = bool(false)"}},
	{"resize_bilinear(x = x, target_size_height = int32(12), target_size_width = int32(16)", []string{`sampling_mode = string("UNALIGN_CORNERS")`}},
	{"slice_by_index(x = x, begin = tensor<int32, [4]>([0, 1, 0, 0]), end = tensor<int32, [4]>([1, 3, 6, 8])", []string{
		"stride = tensor<int32, [4]>([1, 1, 2, 1])", "begin_mask = tensor<bool, [4]>([true, true, true, true])",
		"end_mask = tensor<bool, [4]>([true, true, true, true])", "squeeze_mask = tensor<bool, [4]>([true, false, false, false])",
	}},
	{"argsort(x = x", []string{"axis = int32(1)", "ascending = bool(true)"}},
	{"non_zero(x = x", nil},
	{"scatter(data = x, indices = tensor<int32, [1]>([0]), updates = tensor<fp16, [1, 4, 6, 8]>([" + ones(192) + "])", []string{
		"axis = int32(1), updates = tensor<fp16, [1, 1, 6, 8]>([" + ones(48) + "])", `mode = string("update")`,
	}},
	{"reverse_sequence(x = x, lengths = tensor<int32, [4]>([1, 2, 3, 4]), seq_axis = int32(3), batch_axis = int32(1)", []string{
		"seq_axis = int32(2)", "batch_axis = int32(2), lengths = tensor<int32, [6]>([1, 2, 3, 4, 5, 6])",
	}},
	{"sliding_windows(x = x, axis = int32(3), size = int32(4)", []string{"stride = int32(2)", "axis = int32(2)"}},
	{"space_to_batch(x = x, block_shape = tensor<int32, [2]>([2, 2]), paddings = tensor<int32, [2, 2]>([[0, 0], [0, 0]])", []string{
		"paddings = tensor<int32, [2, 2]>([[1, 1], [0, 0]])", "block_shape = tensor<int32, [2]>([3, 2])", "block_shape = tensor<int32, [2]>([4, 2])",
	}},
	{"batch_to_space(x = x, block_shape = tensor<int32, [2]>([1, 1]), crops = tensor<int32, [2, 2]>([[0, 0], [0, 0]])", []string{
		"crops = tensor<int32, [2, 2]>([[1, 1], [0, 0]])", "block_shape = tensor<int32, [2]>([2, 1])",
	}},
	{`resample(x = x, coordinates = tensor<fp16, [1, 1, 2, 2]>([-1.5, 0.3, 0.4, 0.2]), sampling_mode = string("bilinear"), padding_mode = string("border"), padding_value = fp16(0), coordinates_mode = string("normalized_minus_one_to_one"), align_corners = bool(true)`, []string{
		`sampling_mode = string("nearest")`, `padding_mode = string("constant")`, `padding_mode = string("reflection")`, "padding_value = fp16(1)",
		`coordinates_mode = string("unnormalized")`, "align_corners = bool(false)",
	}},
	{"scaled_dot_product_attention(query = x, key = x, value = x", []string{"attn_mask = tensor<fp16, [6, 6]>([" + ones(36) + "])"}},
}

func ones(n int) string { return strings.TrimSuffix(strings.Repeat("1, ", n), ", ") }

// describeMIL returns the layers that one operation becomes, with their weights, or the error. The
// reason is that of the first refused layer.
func describeMIL(call string) (layers, reason string) {
	text := parseMILLines([]string{"x = [1, 4, 6, 8]", "y = " + call, "output y"})
	n, err := ReadMIL(bytes.Replace(text, []byte("][name = "), []byte(", name = "), 1), Options{}) // one bracket each
	if err != nil {
		return "", err.Error()
	}
	for _, l := range n.Layers {
		if h := l.Host; h != nil { // what it computes says more than the address of a function
			layers += fmt.Sprintln(runStage(h))
			l.Host, l.Reason = nil, ""
		}
		layers += fmt.Sprintf("%+v\n", l)
		if l.Reason != "" && reason == "" {
			reason = l.Reason
		}
	}
	return layers + fmt.Sprint(n.Constants, n.Results), reason
}

// runStage returns the results of a stage of the host for inputs of different elements.
func runStage(h *list.Stage) string {
	var in []list.Array
	for _, d := range h.Inputs {
		a := list.Array{Dims: d, Numbers: make([]float64, graph.Elements(d))}
		for i := range a.Numbers {
			a.Numbers[i] = float64(i * 37 % 101)
		}
		in = append(in, a)
	}
	out, err := h.Run(in)
	return fmt.Sprint(out, err)
}

// TestMILOptions holds that no optional argument of an operation is ignored: it changes the layers
// or the operation is refused with its name. An argument or a bracket that the operation does not
// have, an argument given twice, and one whose value is not understood are refused.
func TestMILOptions(t *testing.T) {
	for _, c := range milOptions {
		name, _, _ := strings.Cut(c.call, "(")
		plain, reason := describeMIL(c.call + ")")
		if reason != "" {
			t.Errorf("%s): %s", c.call, reason)
			continue
		}
		for _, o := range c.options {
			call := c.call
			for _, part := range strings.Split(o, "), ") { // an argument replaces that of the plain call
				key, _, _ := strings.Cut(part, " = ")
				if before, after, ok := strings.Cut(call, ", "+key+" = "); ok {
					_, after, _ = strings.Cut(after, ")")
					call = before + after
				}
			}
			layers, reason := describeMIL(call + ", " + o + ")")
			if key, _, _ := strings.Cut(o, " = "); reason != "" && !strings.Contains(reason, key) {
				t.Errorf("%s, %s): the reason %q does not name it", name, o, reason)
			} else if reason == "" && layers == plain {
				t.Errorf("%s, %s): the same layers as without", name, o)
			}
		}
		for what, call := range map[string]string{
			`argument "made_up"`:  c.call + ", made_up = int32(1))",
			`attribute "made_up"`: c.call + ")[made_up = int32(1)]",
			"given twice":         c.call + ", x = x, x = x)",
		} {
			if _, reason := describeMIL(call); !strings.Contains(reason, what) {
				t.Errorf("%s with %s: %q", name, what, reason)
			}
		}
	}
	for call, want := range map[string]string{
		"softmax(x = x, axis = tensor<int32, [2]>([1, 2]))":                                      `argument "axis" has 2 elements`,
		"softmax(x = (x, x))":                                                                    `argument "x" has 2 values`,
		"max_pool(x = x, kernel_sizes = tensor<int32, [2]>([3, 3]), pad_type = x)":               `argument "pad_type"`,
		"constexpr_affine_dequantize(quantized_data = x, scale = fp16(1), axis = int32(0))":      `argument "quantized_data" is computed`,
		"constexpr_affine_dequantize(scale = fp16(1), axis = int32(0))":                          "computed or missing",
		"conv(x = x, weight = tensor<fp16, [4, 4, 1, 1]>(BLOBFILE(path = string(\"w.bin\"))))":   "offset",
		"conv(x = x, weight = tensor<fp16, [1]>(BLOBFILE(path = string(\"w\"), of = int32(6))))": `"of" in BLOBFILE`,
	} {
		if _, reason := describeMIL(call); !strings.Contains(reason, want) {
			t.Errorf("%s: %q, want %q", call, reason, want)
		}
	}
}
