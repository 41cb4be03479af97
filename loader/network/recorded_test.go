package network

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	ox "anesim/loader/network/onnx/onnxtest"
)

const recordedFile = "testdata/recorded.txt"

// TestRecorded holds what networks are read as to what it was: the layers of every ONNX
// operator with operands and attributes of many kinds, refusals in their words among them,
// those of every operation of a text with random keys, and the files of the fuzz tests and
// the command's examples. A line is an operator, an item of it the digest of one network.
// Other tests say whether a network is right: this one, that none changes unseen. -update
// writes the file anew.
func TestRecorded(t *testing.T) {
	var lines []string
	var texts [][]string
	known := func(n *Network, err error) string { return recordedText(t, n, err, true) }
	record := func(name string, n int, one func(i int) string) {
		line, all := name, []string(nil)
		for i := range n {
			all = append(all, one(i))
			sum := sha256.Sum256([]byte(all[i]))
			line += fmt.Sprintf(" %x", sum[:3])
		}
		lines, texts = append(lines, line), append(texts, all)
	}
	for k, op := range recordedOperators() {
		record(op, 16, func(i int) string {
			n, err := ReadONNX(anOperator(rand.New(rand.NewPCG(uint64(i), uint64(k))), op), Options{})
			return recordedText(t, n, err, i%8 == 0)
		})
	}
	for _, o := range operations() {
		record("text."+o.Name, 16, func(i int) string {
			r := rand.New(rand.NewPCG(uint64(i), 18))
			keys := someKeys(r, &o)
			l, err := o.Single(keys)
			return fmt.Sprintf("%v %+v %v", keys, l, err)
		})
	}
	for _, target := range []string{"FuzzReadONNX", "FuzzReadYAML", "FuzzReadMIL"} {
		files := corpus(t, target)
		record(target, len(files), func(i int) string {
			switch target {
			case "FuzzReadONNX":
				return known(ReadONNX(files[i], Options{}))
			case "FuzzReadYAML":
				return known(ReadYAML(files[i]))
			}
			return known(ReadMIL(files[i], Options{}))
		})
	}
	var examples []string
	for _, pattern := range []string{"*.yaml", "*.mil", "*.onnx", "*.mlpackage"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "tools", "anesim", "examples", pattern))
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, found...)
	}
	record("examples", len(examples), func(i int) string { return known(Open(examples[i], Options{})) })

	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(recordedFile, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(recordedFile)
	if err != nil {
		t.Fatal(err)
	}
	before := strings.Split(strings.TrimSuffix(string(want), "\n"), "\n")
	if len(before) != len(lines) {
		t.Fatalf("%d lines, %s has %d; where they should be others, run with -update", len(lines), recordedFile, len(before))
	}
	differ := 0
	for i := range lines {
		now, then := strings.Fields(lines[i]), strings.Fields(before[i])
		for k := range now {
			if k >= len(then) || now[k] == then[k] {
				continue
			}
			if differ++; differ <= 5 && k > 0 {
				t.Errorf("%s, network %d, is now\n%s", now[0], k-1, texts[i][k-1])
			}
		}
		if len(now) != len(then) {
			differ++
		}
	}
	if differ > 0 {
		t.Errorf("%d networks are not those of %s; where they should be others, run with -update", differ, recordedFile)
	}
}

// recordedText is all that is known of a network, and its programs as they are timed.
func recordedText(t *testing.T, n *Network, err error, programmed bool) string {
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n%v\n%v\n%v\n%v\n", n.Inputs, n.Outputs, n.Results, n.Notes, n.Nodes)
	for i := range n.Layers {
		l := &n.Layers[i]
		w := &l.Weights
		fmt.Fprintf(&b, "%s %s %v %s %+v %v %v %q %d %v %d %d; %v %v %v %v %v\n", l.Name, l.Op, l.Inputs, l.Output, l.Lower, l.Out, l.Folded, l.Reason, l.Node,
			l.Others, l.MACs(), l.Bytes(), w.Filter, w.Bias, w.Second, w.Form, w.Scale)
		if l.Host != nil {
			fmt.Fprintf(&b, "\thost: %d elements, %d bytes, %v\n", l.Host.Elements, l.Host.Bytes, l.Host.Outputs)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Constants)) {
		fmt.Fprintf(&b, "%s: %v\n", name, n.Constants[name])
	}
	if !programmed {
		return b.String()
	}
	programs, reasons, err := n.LowerContext(t.Context(), Lowering{Seed: 1, SizesOnly: true})
	fmt.Fprintf(&b, "%q %v %+v\n", reasons, err, n.Coverage(reasons))
	for i := range programs {
		p := &programs[i]
		fmt.Fprintf(&b, "%d %v %q %v %x\n", p.First, p.Runs, p.Why, p.Ports, sha256.Sum256(p.Text))
	}
	return b.String()
}

// recordedOperators are ONNX's and those of runtimes, by name.
func recordedOperators() []string {
	list := slices.Collect(maps.Keys(operators))
	list = slices.AppendSeq(list, maps.Keys(refusals))
	list = slices.AppendSeq(list, maps.Keys(scalarFunctions))
	list = slices.AppendSeq(list, maps.Keys(pairFunctions))
	list = append(list, strings.Fields(`FusedMatMul TransposeMatMul FusedConv FusedGemm BiasGelu BiasAdd BiasSoftmax SkipLayerNormalization
		SkipSimplifiedLayerNormalization EmbedLayerNormalization GroupNorm Attention MultiHeadAttention GroupQueryAttention RotaryEmbedding
		MatMulNBits STFT DFT QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearConv QLinearMatMul QGemm ConvInteger MatMulInteger
		DynamicQuantizeMatMul MatMulIntegerToFloat QLinearAdd QLinearMul QLinearConcat QLinearSigmoid QLinearLeakyRelu QLinearSoftmax
		QLinearGlobalAveragePool QLinearAveragePool QLinearReduceMean Range ConstantOfShape GatherElements GatherND Scatter OneHot Hardmax
		ReverseSequence EyeLike Shape Size Constant Unknown Bernoulli MaxUnpool RoiAlign LpPool GlobalLpPool Col2Im CenterCropPad`)...)
	slices.Sort(list)
	return slices.Compact(list)
}

// anOperator is a file of one operator, with a rectifier on either side now and then. Its
// operands and attributes are of the kinds that operators have, whether or not this one does.
func anOperator(r *rand.Rand, op string) []byte {
	small := func() int { return []int{1, 2, 3, 4, 4, 6, 8, 8, 16, 32}[r.IntN(10)] }
	rank := []int{1, 2, 2, 3, 3, 4, 4, 4, 4, 5}[r.IntN(10)]
	dims := make([]int, rank)
	for i := range dims {
		dims[i] = small()
	}
	channels := dims[min(1, rank-1)]
	var parts []ox.Message
	values := func(shape []int) []float32 {
		n := 1
		for _, d := range shape {
			n *= d
		}
		v := make([]float32, n)
		for i := range v {
			v[i] = float32((i*7+3)%13-6) / 4
		}
		return v
	}
	constant := func(name string, shape ...int) string {
		parts = append(parts, ox.Constant(name, shape, values(shape)...))
		return name
	}
	ints := func(name string, list ...int) string {
		parts = append(parts, ox.Ints(name, list...))
		return name
	}
	some := func(n, low, high int) []int {
		list := make([]int, n)
		for i := range list {
			list[i] = low + r.IntN(high-low+1)
		}
		return list
	}
	inputs := []string{"x"}
	switch r.IntN(9) {
	case 0, 1:
		constant("x", dims...) // of constants alone: folded
	case 2:
		parts = append(parts, ox.Whole("x", []int{6, 2, 3}[r.IntN(3)], 1, []int{4}, 1, 2, 3, 4)) // of bytes, or too few of them
	default:
		parts = append(parts, ox.Input("x", dims...))
		if r.IntN(4) == 0 {
			parts = append(parts, ox.Node("Relu", "before", []string{"x"}))
			inputs[0] = "before"
		}
	}
	last := dims[rank-1]
	vectors := func(n, of int) {
		for i := range n {
			inputs = append(inputs, constant(fmt.Sprint("v", i), of))
		}
	}
	k := 1 + r.IntN(3)
	group := []int{1, 1, 1, 2, channels}[r.IntN(5)]
	kernel := append([]int{8, max(1, channels/group)}, slices.Repeat([]int{k}, max(0, rank-2))...)
	window := false
	switch {
	case strings.Contains(op, "Conv"):
		window = true
		if op == "ConvTranspose" {
			kernel[0], kernel[1] = channels, 4
		}
		inputs = append(inputs, constant("w", kernel...))
		if r.IntN(2) == 0 {
			vectors(1, 8)
		}
	case strings.Contains(op, "Pool"):
		window = true
	case strings.Contains(op, "MatMul"), strings.Contains(op, "Gemm"), op == "Linear":
		switch r.IntN(4) {
		case 0:
			turned := slices.Clone(dims)
			if rank > 1 {
				turned[rank-1], turned[rank-2] = turned[rank-2], turned[rank-1]
			}
			parts = append(parts, ox.Input("z", turned...))
			inputs = append(inputs, "z")
		case 1:
			inputs = append(inputs, constant("w", 5, last))
		default:
			inputs = append(inputs, constant("w", last, 5))
		}
		if r.IntN(2) == 0 {
			vectors(1, 5)
		}
	case strings.Contains(op, "BatchNorm"):
		vectors(4, channels)
	case strings.Contains(op, "InstanceNorm"), strings.Contains(op, "GroupNorm"):
		vectors(2, channels)
	case strings.Contains(op, "Norm"), strings.HasPrefix(op, "Bias"):
		if strings.HasPrefix(op, "Skip") {
			parts = append(parts, ox.Input("z", dims...))
			inputs = append(inputs, "z")
		}
		vectors(1+r.IntN(2), last)
	case op == "LSTM", op == "GRU", op == "RNN":
		gates := map[string]int{"LSTM": 4, "GRU": 3, "RNN": 1}[op]
		inputs = append(inputs, constant("w", 1, gates*4, last), constant("u", 1, gates*4, 4))
		if r.IntN(2) == 0 {
			inputs = append(inputs, constant("b", 1, gates*8))
		}
	case op == "Reshape", op == "Expand", op == "ConstantOfShape", op == "Tile", op == "CenterCropPad":
		inputs = append(inputs, ints("s", [][]int{{-1, last}, {0, -1}, slices.Repeat([]int{2}, rank), {1, -1}, some(rank, 1, 3), dims, slices.Concat(dims, []int{1})}[r.IntN(7)]...))
		if op == "ConstantOfShape" {
			inputs = inputs[1:]
		}
	case op == "Slice":
		inputs = append(inputs, ints("from", some(1, -3, 3)...), ints("to", some(1, -1, 9)...), ints("axes", r.IntN(rank)))
		if r.IntN(3) == 0 {
			inputs = append(inputs, ints("steps", some(1, -1, 2)...))
		}
	case op == "Pad":
		inputs = append(inputs, ints("pads", some(2*rank, 0, 2)...))
	case op == "Gather", op == "GatherND", op == "GatherElements", op == "ScatterND", op == "ScatterElements", op == "OneHot":
		inputs = append(inputs, ints("at", some(1+r.IntN(3), 0, 1)...))
		if strings.HasPrefix(op, "Scatter") || op == "OneHot" {
			vectors(1, 2)
		}
	case op == "Split", op == "Squeeze", op == "Unsqueeze", op == "TopK", op == "CumSum", strings.HasPrefix(op, "Reduce"), op == "Trilu":
		if r.IntN(2) == 0 {
			inputs = append(inputs, ints("s", some(1+r.IntN(2), -1, rank-1)...))
		}
	case op == "Resize", op == "Upsample":
		scales := slices.Repeat([]float32{1}, rank)
		for i := range rank {
			if i >= 2 {
				scales[i] = []float32{2, 2, 3, 0.5, 1.5}[r.IntN(5)]
			}
		}
		parts = append(parts, ox.Constant("scales", []int{rank}, scales...))
		if op == "Resize" {
			inputs = append(inputs, "")
		}
		inputs = append(inputs, "scales")
	case strings.Contains(op, "Quantize") || strings.HasPrefix(op, "QLinear"):
		parts = append(parts, ox.Constant("xs", nil, 1.0/16), ox.Whole("xz", 2, 1, nil, 128), ox.Node("QuantizeLinear", "q", []string{"x", "xs", "xz"}))
		inputs = [][]string{{"x", "xs", "xz"}, {"q", "xs", "xz"}, {"q", "xs", "xz", "xs", "xz"}, {"q", "xs", "xz", "q", "xs", "xz", "xs", "xz"}, {"xs", "xz", "q", "xs", "xz", "q", "xs", "xz"}}[r.IntN(5)]
	case op == "Range":
		inputs = []string{ints("from", 1), ints("to", 9), ints("by", 2)}
	case strings.Contains(op, "Attention"):
		for range r.IntN(3) {
			inputs = append(inputs, "x")
		}
	default:
		for i := range r.IntN(3) {
			name := fmt.Sprint("z", i)
			switch r.IntN(5) {
			case 0:
				name = constant(name, dims...)
			case 1:
				name = constant(name, last)
			case 2:
				name = constant(name)
			case 3:
				parts = append(parts, ox.Input(name, dims...))
			case 4:
				name = inputs[0]
			}
			inputs = append(inputs, name)
		}
	}
	var attributes []ox.Message
	now := func(of int) bool { return r.IntN(of) == 0 }
	switch { // an operand that is left out, or the last one
	case now(16):
		inputs[r.IntN(len(inputs))] = ""
	case now(16):
		inputs = inputs[:len(inputs)-1]
	}
	add := func(of int, m ox.Message) {
		if now(of) {
			attributes = append(attributes, m)
		}
	}
	if window {
		spatial := max(1, rank-2)
		if !now(8) {
			attributes = append(attributes, ox.List("kernel_shape", slices.Repeat([]int{k}, spatial)...))
		}
		add(2, ox.List("strides", some(spatial, 1, 3)...))
		add(3, ox.List("pads", some(2*spatial, 0, 2)...))
		add(4, ox.List("dilations", some(spatial, 1, 2)...))
		add(5, ox.Text("auto_pad", []string{"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"}[r.IntN(4)]))
		if group > 1 || now(3) {
			attributes = append(attributes, ox.Int("group", group))
		}
		add(4, ox.Int("ceil_mode", r.IntN(2)))
		add(4, ox.Int("count_include_pad", r.IntN(2)))
	}
	add(2, ox.Int("axis", r.IntN(2*rank+1)-rank))
	add(3, ox.List("axes", some(1+r.IntN(2), -1, rank-1)...))
	add(2, ox.Int("keepdims", r.IntN(2)))
	add(2, ox.List("perm", r.Perm(rank)...))
	add(3, ox.Float("alpha", []float32{0.25, 0.5, 1, 2}[r.IntN(4)]))
	add(4, ox.Float("beta", []float32{0.25, 0.5, 1}[r.IntN(3)]))
	add(3, ox.Float("epsilon", 1e-3))
	add(3, ox.Int("transA", r.IntN(2)))
	add(2, ox.Int("transB", r.IntN(2)))
	add(2, ox.Int("to", []int{1, 6, 7, 9, 10, 2}[r.IntN(6)]))
	add(3, ox.Text("mode", []string{"constant", "reflect", "edge", "nearest", "linear", "cubic", "DCR", "CRD"}[r.IntN(8)]))
	add(4, ox.Text("coordinate_transformation_mode", []string{"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"}[r.IntN(4)]))
	add(4, ox.Text("direction", []string{"forward", "reverse", "bidirectional", "LEFT"}[r.IntN(4)]))
	if op == "Einsum" {
		attributes = append(attributes, ox.Text("equation", []string{"ij,jk->ik", "bij,bjk->bik", "ij->ji", "bhid,bhjd->bhij", "i,i->", "ij,kj->ik"}[r.IntN(6)]))
	}
	if strings.Contains(op, "Space") {
		attributes = append(attributes, ox.Int("blocksize", 2))
	}
	if op == "LSTM" || op == "GRU" || op == "RNN" {
		attributes = append(attributes, ox.Int("hidden_size", 4))
		add(3, ox.Int("linear_before_reset", 1))
		add(4, ox.Int("layout", 1))
	}
	if strings.Contains(op, "Attention") || op == "RotaryEmbedding" {
		attributes = append(attributes, ox.Int("num_heads", 1+r.IntN(2)), ox.Int("kv_num_heads", 1+r.IntN(2)))
	}
	if strings.Contains(op, "Group") {
		attributes = append(attributes, ox.Int("num_groups", 2), ox.Int("groups", 2))
	}
	if op == "LRN" {
		attributes = append(attributes, ox.Int("size", 3))
	}
	if strings.HasPrefix(op, "Fused") {
		add(2, ox.Text("activation", []string{"Relu", "LeakyRelu", "Tanh", "Nothing"}[r.IntN(4)]))
	}
	if op == "Resize" {
		add(3, ox.Int("antialias", 1))
	}
	add(4, ox.Int("exclusive", 1))
	add(4, ox.Int("reverse", 1))
	add(4, ox.Int("upper", r.IntN(2)))
	add(5, ox.Int("p", 1+r.IntN(2)))
	add(5, ox.Float("scale", 0.5))
	domain := ""
	if operators[op] == nil && expansionOf(op) != nil && now(2) || strings.HasPrefix(op, "Skip") || strings.HasPrefix(op, "Fused") {
		domain = "com.microsoft"
	}
	parts = append(parts, ox.NodeOf(domain, op, "y", inputs, attributes...))
	if now(4) {
		parts = append(parts, ox.Node("Relu", "after", []string{"y"}), ox.Output("after"))
	}
	return ox.Model(append(parts, ox.Output("y"))...)
}

// someKeys are random keys of an operation, most of which it takes.
func someKeys(r *rand.Rand, o *Operation) map[string]string {
	size := func(most int) string { return strconv.Itoa(1 + r.IntN(most)) }
	values := map[string]string{}
	for _, k := range o.AllKeys() {
		switch k.Name {
		case "n":
			values["n"] = size(3)
		case "c", "cin", "cout", "m", "h", "w", "size":
			values[k.Name] = size([]int{8, 64, 300}[r.IntN(3)])
		case "k", "kh", "kw":
			if k.Name == "k" || r.IntN(5) == 0 {
				values[k.Name] = size(5)
			}
		case "stride", "sy", "sx", "dilation":
			if r.IntN(3) == 0 {
				values[k.Name] = size(3)
			}
		case "pad":
			values["pad"] = []string{"same", "valid", "1", "0", "1,2,0,1", "2"}[r.IntN(6)]
		case "groups":
			if r.IntN(3) == 0 {
				values["groups"] = []string{"cin", "1", "2"}[r.IntN(3)]
			}
		case "axis":
			values["axis"] = []string{"c", "h", "w", "hw", "ch", "cw", "chw", "-1", "2"}[r.IntN(9)]
		case "rhs":
			values["rhs"] = []string{"constant", "runtime"}[r.IntN(2)]
		case "second":
			values["second"] = []string{"runtime", "constant", "scalar", "itself"}[r.IntN(4)]
		case "tx", "ty", "bias":
			values[k.Name] = []string{"true", "false"}[r.IntN(2)]
		case "act":
			values["act"] = []string{"none", "relu", "sigmoid", "gelu", "softmax"}[r.IntN(5)]
		case "broadcast":
			if r.IntN(2) == 0 {
				values["broadcast"] = []string{"c", "h", "w", "hw", "chw"}[r.IntN(5)]
			}
		case "kind":
			values["kind"] = []string{"max", "avg", "sum", "mean", "min"}[r.IntN(5)]
		case "perm":
			values["perm"] = []string{"whc", "chw", "0,3,2,1", "hcw", "hwc", "wch", "cc"}[r.IntN(7)]
		case "reps":
			values["reps"] = strings.Join([]string{size(2), size(3), size(3), size(3)}, "x")
		case "parts":
			values["parts"] = strings.Repeat("8+", r.IntN(4)) + size(9)
		case "begin":
			values["begin"] = strconv.Itoa(r.IntN(9))
		case "fill":
			values["fill"] = []string{"value", "edge", "reflect"}[r.IntN(3)]
		case "first":
			values["first"] = []string{"input", "output"}[r.IntN(2)]
		case "release":
			values["release"] = []string{"newest", "2023", "2020"}[r.IntN(3)]
		}
		if r.IntN(12) == 0 {
			delete(values, k.Name)
		}
	}
	if r.IntN(20) == 0 {
		values["wrong"] = "1"
	}
	return values
}

// corpus are the files that a fuzz test starts from.
func corpus(t *testing.T, target string) (files [][]byte) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "fuzz", target, "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no corpus of %s: %v", target, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, value, _ := strings.Cut(string(text), "\n")
		value = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(value), "[]byte("), ")")
		data, err := strconv.Unquote(value)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		files = append(files, []byte(data))
	}
	return files
}
