package reference

import (
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"testing"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// TestOperatorsDoNotPanic runs every operator on random tensors and attributes, most of which
// it must refuse. A computed tensor must have as many values as its shape.
func TestOperatorsDoNotPanic(t *testing.T) {
	trials := 100
	switch {
	case os.Getenv("LONG") != "":
		trials = 1000
	case testing.Short():
		trials = 40
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, op := range Operators() {
		done := 0
		for range trials {
			if t.Failed() {
				return
			}
			m, inputs := randomNode(r, op)
			done += runRandom(t, m, inputs)
		}
		t.Logf("%s: computed %d of %d", op, done, trials)
	}
}

// runRandom returns 1 if the model can be computed, and 0 otherwise.
func runRandom(t *testing.T, m *onnx.Model, inputs map[string]*tensor.Tensor) int {
	t.Helper()
	n := &m.Nodes[0]
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s of version %d: %v\n%s", n.Op, m.Opsets[""], p, debug.Stack())
		}
	}()
	results, err := Run(m, inputs, Options{Round: tensor.RoundHalf})
	if err != nil {
		return 0
	}
	for name, x := range results {
		if err := x.CheckLength(); err != nil {
			t.Errorf("%s: result %s: %v", n.Op, name, err)
		}
	}
	return 1
}

var (
	randomInts  = []string{"axis", "keepdims", "transA", "transB", "group", "ceil_mode", "num_heads", "kv_num_heads", "q_num_heads", "blocksize", "num_outputs", "batch_dims", "onesided", "inverse", "exclusive", "reverse", "k", "bits", "K", "N", "block_size", "size", "p", "num_groups", "groups", "output_height", "output_width", "linear_before_reset", "layout", "storage_order", "count_include_pad", "batch_axis", "time_axis", "is_causal", "unidirectional", "align_corners", "to", "channels_last", "interleaved", "do_rotary", "sorted", "largest", "fmod", "rotary_embedding_dim", "start", "end", "allowzero", "upper", "noop_with_empty_axes", "select_last_index", "broadcast", "sampling_ratio", "antialias"}
	randomLists = []string{"axes", "perm", "kernel_shape", "strides", "pads", "dilations", "output_padding", "output_shape", "starts", "ends", "split", "shape", "pooled_shape", "qkv_hidden_sizes"}
	randomTexts = [][]string{ // each a name and values
		{"mode", "linear", "nearest", "cubic", "reflect", "edge", "wrap", "constant", "DCR", "CRD", "max"},
		{"auto_pad", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"},
		{"direction", "LEFT", "RIGHT", "reverse", "bidirectional"},
		{"equation", "ij,jk->ik", "...i,...i", "ii->i", "ij->ji", "i,j->k", "...ij->..."},
		{"padding_mode", "border", "reflection"},
		{"coordinate_transformation_mode", "align_corners", "asymmetric", "tf_crop_and_resize", "half_pixel"},
		{"reduction", "add", "max"},
		{"approximate", "tanh"},
		{"keep_aspect_ratio_policy", "not_larger", "not_smaller"},
		{"activation", "Relu", "LeakyRelu"},
	}
	randomCounts = []int64{0, 1, 7, 10, 11, 13, 18, 21}
)

// randomNode returns a random model with one node, and inputs for it. The inputs often have equal
// shapes, so that some of the nodes can be computed.
func randomNode(r *rand.Rand, op string) (*onnx.Model, map[string]*tensor.Tensor) {
	m := &onnx.Model{Opsets: map[string]int64{"": randomCounts[r.IntN(len(randomCounts))]}}
	n := onnx.Node{Op: op, Name: op, Outputs: []string{"y0", "y1", "y2", "y3"}[:1+r.IntN(4)], Attributes: map[string]*onnx.Attribute{}}
	if r.IntN(2) == 0 {
		n.Outputs = n.Outputs[:1]
		n.Domain = []string{"", "com.microsoft"}[r.IntN(2)]
	}
	inputs := map[string]*tensor.Tensor{}
	shape := randomShape(r)
	for i := range 1 + r.IntN(9) {
		if r.IntN(8) == 0 {
			n.Inputs = append(n.Inputs, "")
			continue
		}
		dims := slices.Clone(shape)
		switch r.IntN(4) {
		case 0:
			dims = randomShape(r)
		case 1:
			dims = []int{r.IntN(5)}
		}
		x := &tensor.Tensor{Type: []onnx.DataType{onnx.Float, onnx.Int64, onnx.Uint8, onnx.Bool}[r.IntN(4)], Dims: dims}
		for range tensor.CountValidElements(dims) {
			x.Data = append(x.Data, float64(r.IntN(8)-2))
		}
		if len(x.Data) > 0 && r.IntN(10) == 0 {
			x.Data[0] = []float64{1e18, -1e18, 1 << 62}[r.IntN(3)]
		}
		name := string(rune('a' + i))
		n.Inputs, inputs[name] = append(n.Inputs, name), x
		m.Inputs = append(m.Inputs, onnx.Value{Name: name})
	}
	randomAttributes(r, &n)
	m.Nodes = []onnx.Node{n}
	for _, name := range n.Outputs {
		m.Outputs = append(m.Outputs, onnx.Value{Name: name})
	}
	return m, inputs
}

func randomAttributes(r *rand.Rand, n *onnx.Node) {
	for _, name := range randomInts {
		if r.IntN(3) == 0 {
			n.Attributes[name] = &onnx.Attribute{Int: int64(r.IntN(7) - 2)}
			if r.IntN(10) == 0 {
				n.Attributes[name].Int = []int64{1 << 62, -1 << 62, -1 << 63}[r.IntN(3)]
			}
		}
	}
	for _, name := range randomLists {
		if r.IntN(2) == 0 {
			a := new(onnx.Attribute)
			for range r.IntN(5) {
				a.Ints = append(a.Ints, int64(r.IntN(5)-1))
			}
			if len(a.Ints) > 0 && r.IntN(10) == 0 {
				a.Ints[0] = []int64{1 << 62, -1 << 62, -1 << 63}[r.IntN(3)]
			}
			n.Attributes[name] = a
		}
	}
	for _, list := range randomTexts {
		if r.IntN(2) == 0 {
			n.Attributes[list[0]] = &onnx.Attribute{Text: list[1+r.IntN(len(list)-1)]}
		}
	}
}

func randomShape(r *rand.Rand) []int {
	dims := make([]int, r.IntN(6))
	for i := range dims {
		dims[i] = 1 + r.IntN(4)
		if r.IntN(15) == 0 {
			dims[i] = 0
		}
	}
	return dims
}
