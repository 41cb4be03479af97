package network

import (
	"fmt"
	"math"
	"slices"

	"anesim/loader/network/onnx"
)

// An expansion states a node in others: an operator that a runtime has fused, or that works
// on quantised tensors. The node stays one of the file, whose layers theirs are.
type expansion struct {
	*nodeReader
	made int // nodes and constants
	macs int
}

// attributes are those of a node that an expansion makes.
type attributes map[string]*onnx.Attribute

// expansionOf finds what states an operator in others.
func expansionOf(op string) func(e *expansion) error {
	switch op {
	case "FusedMatMul", "TransposeMatMul":
		return fusedMatMul
	case "FusedConv":
		return fusedConv
	case "FusedGemm":
		return fusedGemm
	case "BiasGelu":
		return biased("Gelu")
	case "FastGelu":
		return biased("FastGelu")
	case "BiasAdd":
		return biasAdd
	case "BiasSoftmax":
		return biasSoftmax
	case "SkipLayerNormalization":
		return skipNorm("LayerNormalization")
	case "SkipSimplifiedLayerNormalization":
		return skipNorm("SimplifiedLayerNormalization")
	case "EmbedLayerNormalization":
		return embedNorm
	case "GroupNorm":
		return groupNorm
	case "Attention":
		return attention
	case "MultiHeadAttention":
		return multiHead
	case "GroupQueryAttention":
		return groupQuery
	case "RotaryEmbedding":
		return rotary
	case "MatMulNBits":
		return matMulBits
	case "STFT":
		return frames
	case "DFT":
		return spectrum
	case "QuantizeLinear":
		return quantise
	case "DequantizeLinear":
		return dequantise
	case "DynamicQuantizeLinear":
		return dynamicQuantise
	case "QLinearConv":
		return quantisedConv
	case "QLinearMatMul":
		return quantisedPair("MatMul")
	case "QGemm":
		return quantisedGemm
	case "ConvInteger":
		return integerConv
	case "MatMulInteger":
		return integerProduct
	case "DynamicQuantizeMatMul":
		return dynamicProduct
	case "MatMulIntegerToFloat":
		return scaledProduct
	case "QLinearAdd":
		return quantisedPair("Add")
	case "QLinearMul":
		return quantisedPair("Mul")
	case "QLinearConcat":
		return quantisedConcat
	case "QLinearSigmoid":
		return quantisedUnary("Sigmoid")
	case "QLinearLeakyRelu":
		return quantisedUnary("LeakyRelu")
	case "QLinearSoftmax":
		return quantisedUnary("Softmax")
	case "QLinearGlobalAveragePool":
		return quantisedUnary("GlobalAveragePool")
	case "QLinearAveragePool":
		return quantisedUnary("AveragePool")
	case "QLinearReduceMean":
		return quantisedUnary("ReduceMean")
	}
	return nil
}

// inOthers reads the nodes that state this one. What is wrong with them is wrong with it, and
// leaves nothing behind.
func (n *nodeReader) inOthers(f func(e *expansion) error) error {
	e := &expansion{nodeReader: n}
	err := f(e)
	if err != nil {
		n.net.Layers = n.net.Layers[:n.first]
		for _, out := range n.Outputs {
			delete(n.alias, out)
			delete(n.tensors, out)
			delete(n.dims, out)
			delete(n.types, out)
			delete(n.constants, out)
		}
		return err
	}
	n.macs = e.macs
	if len(n.net.Layers) == n.first {
		n.what = "folded"
	}
	return nil
}

// node reads a node whose result is called out, "" for a name that no other has. What the
// engine does not do of it the host may.
func (e *expansion) node(out, op string, a attributes, in ...string) (string, error) {
	return e.nodeOf(out, "", op, a, in...)
}

func (e *expansion) nodeOf(out, domain, op string, a attributes, in ...string) (string, error) {
	list, err := e.several([]string{out}, domain, op, a, in...)
	if err != nil {
		return "", err
	}
	return list[0], nil
}

func (e *expansion) several(out []string, domain, op string, a attributes, in ...string) ([]string, error) {
	e.made++
	for i := range out {
		if out[i] == "" {
			out[i] = fmt.Sprintf("%s/%s/%d:%d", e.Outputs[0], op, e.made, i)
		}
	}
	node := &onnx.Node{Op: op, Domain: domain, Inputs: in, Outputs: out, Attributes: a, Off: e.Off}
	n := &nodeReader{graphReader: e.graphReader, Node: node, name: fmt.Sprintf("%s/%s%d", e.name, op, e.made), first: len(e.net.Layers)}
	if err := n.read(); err != nil {
		n.refuse(err)
		if last := &e.net.Layers[len(e.net.Layers)-1]; last.Host == nil {
			return nil, err
		}
	}
	e.macs += n.macs
	return out, nil
}

// number is a constant of one float.
func (e *expansion) number(v float64) string {
	return e.keepAs(&constant{elem: onnx.Float, numbers: []float64{v}})
}

// floats is a constant.
func (e *expansion) floats(dims []int, v []float64) string {
	return e.keepAs(&constant{dims: dims, elem: onnx.Float, numbers: v})
}

// wholes is a constant list of int64.
func (e *expansion) wholes(v ...int) string {
	c := &constant{dims: []int{len(v)}, elem: onnx.Int64}
	for _, x := range v {
		c.numbers = append(c.numbers, float64(x))
	}
	return e.keepAs(c)
}

func (e *expansion) keepAs(c *constant) string {
	e.made++
	name := fmt.Sprintf("%s/constant/%d", e.Outputs[0], e.made)
	e.constants[name], e.dims[name], e.types[name] = c, c.dims, c.elem
	return name
}

// float is a tensor of whole numbers that fp16 has exactly, seen as one of floats.
func (e *expansion) float(name string) string {
	if t := e.types[name]; t == 0 || t.IsFloat() {
		return name
	}
	e.made++
	out := fmt.Sprintf("%s/float/%d", e.Outputs[0], e.made)
	e.same(out, name)
	e.types[out] = onnx.Float
	return out
}

// input is the name of an input, "" where it is left out.
func (e *expansion) input(i int) string {
	if !e.given(i) {
		return ""
	}
	return e.Inputs[i]
}

// output is the name of a result, "" where nothing asks for it.
func (e *expansion) output(i int) string {
	if i >= len(e.Outputs) {
		return ""
	}
	return e.Outputs[i]
}

// without are the attributes but for those named.
func (e *expansion) without(names ...string) attributes {
	a := attributes{}
	for k, v := range e.Attributes {
		if !slices.Contains(names, k) {
			a[k] = v
		}
	}
	return a
}

func ofInts(v ...int) *onnx.Attribute   { return listed(v) }
func ofInt(v int) *onnx.Attribute       { return &onnx.Attribute{Int: int64(v)} }
func ofFloat(v float64) *onnx.Attribute { return &onnx.Attribute{Float: float32(v)} }

// reshaped is a tensor in other dimensions.
func (e *expansion) reshaped(out, x string, dims ...int) (string, error) {
	return e.node(out, "Reshape", nil, x, e.wholes(dims...))
}

// turned is a tensor with its axes in another order.
func (e *expansion) turned(out, x string, perm ...int) (string, error) {
	return e.node(out, "Transpose", attributes{"perm": ofInts(perm...)}, x)
}

// chain reads nodes one after the other, the last of which is called out.
type step struct {
	op string
	a  attributes
	in []string // "" for the result of the step before
}

func (e *expansion) chain(out, x string, steps ...step) (string, error) {
	for i, s := range steps {
		name := ""
		if i == len(steps)-1 {
			name = out
		}
		in := slices.Clone(s.in)
		if len(in) == 0 {
			in = []string{""}
		}
		for k := range in {
			if in[k] == "" {
				in[k] = x
			}
		}
		var err error
		if x, err = e.node(name, s.op, s.a, in...); err != nil {
			return "", err
		}
	}
	return x, nil
}

// fusedMatMul is alpha times a product, of sides that may be transposed.
func fusedMatMul(e *expansion) error {
	side := [2]string{e.input(0), e.input(1)}
	for i, name := range [...]string{"transA", "transB"} {
		if e.int("transBatchA", 0)+e.int("transBatchB", 0) != 0 {
			return fmt.Errorf("a product whose batch is transposed")
		}
		if e.int(name, 0) == 0 {
			continue
		}
		rank := len(e.dims[side[i]])
		if rank < 2 {
			return fmt.Errorf("a transposed side of shape %v", e.dims[side[i]])
		}
		perm := make([]int, rank)
		for k := range perm {
			perm[k] = k
		}
		perm[rank-1], perm[rank-2] = rank-2, rank-1
		var err error
		if side[i], err = e.turned("", side[i], perm...); err != nil {
			return err
		}
	}
	if alpha := float64(e.nodeReader.float("alpha", 1)); alpha != 1 {
		_, err := e.chain(e.output(0), side[0], step{"MatMul", nil, side[:]}, step{"Mul", nil, []string{"", e.number(alpha)}})
		return err
	}
	_, err := e.node(e.output(0), "MatMul", nil, side[:]...)
	return err
}

// activate reads an activation that an operator was fused with.
func (e *expansion) activate(out, x string) error {
	op := e.text("activation", "")
	a := attributes{}
	var parameters []float32
	if p := e.Attributes["activation_params"]; p != nil {
		parameters = p.Floats
	}
	names := map[string][]string{"LeakyRelu": {"alpha"}, "HardSigmoid": {"alpha", "beta"}, "Elu": {"alpha"}, "Clip": {"min", "max"}}[op]
	for i, name := range names {
		if i < len(parameters) {
			a[name] = ofFloat(float64(parameters[i]))
		} else if v := e.Attributes["activation_"+name]; v != nil {
			a[name] = v
		}
	}
	_, err := e.node(out, op, a, x)
	return err
}

// fusedConv is a convolution, to which a tensor may be added, and an activation.
func fusedConv(e *expansion) error {
	activated := e.text("activation", "") != ""
	in := []string{e.input(0), e.input(1)}
	if b := e.input(2); b != "" {
		in = append(in, b)
	}
	name := ""
	if !activated && e.input(3) == "" {
		name = e.output(0)
	}
	x, err := e.node(name, "Conv", e.without("activation", "activation_params"), in...)
	if err != nil {
		return err
	}
	if z := e.input(3); z != "" {
		if !activated {
			name = e.output(0)
		}
		if x, err = e.node(name, "Add", nil, x, z); err != nil {
			return err
		}
	}
	if activated {
		err = e.activate(e.output(0), x)
	}
	return err
}

func fusedGemm(e *expansion) error {
	if e.text("activation", "") == "" {
		_, err := e.node(e.output(0), "Gemm", e.Attributes, e.Inputs...)
		return err
	}
	x, err := e.node("", "Gemm", e.without("activation", "activation_alpha", "activation_beta", "activation_gamma"), e.Inputs...)
	if err != nil {
		return err
	}
	return e.activate(e.output(0), x)
}

// biased is an operator of a sum with a bias, which may be left out.
func biased(op string) func(e *expansion) error {
	return func(e *expansion) error {
		steps := []step{{op, nil, nil}}
		if b := e.input(1); b != "" {
			steps = append([]step{{"Add", nil, []string{"", b}}}, steps...)
		}
		_, err := e.chain(e.output(0), e.input(0), steps...)
		return err
	}
}

// biasAdd is x + bias + skip.
func biasAdd(e *expansion) error {
	_, err := e.chain(e.output(0), e.input(0), step{"Add", nil, []string{"", e.input(1)}}, step{"Add", nil, []string{"", e.input(2)}})
	return err
}

func biasSoftmax(e *expansion) error {
	if e.int("is_inner_broadcast", 0) == 0 && !slices.Equal(e.dims[e.input(0)], e.dims[e.input(1)]) {
		return fmt.Errorf("a bias of shape %v that repeats inside of %v", e.dims[e.input(1)], e.dims[e.input(0)])
	}
	_, err := e.chain(e.output(0), e.input(0), step{"Add", nil, []string{"", e.input(1)}}, step{"Softmax", attributes{"axis": ofInt(e.int("axis", 1))}, nil})
	return err
}

// skipNorm is the norm of a sum, which may be asked for too.
func skipNorm(op string) func(e *expansion) error {
	return func(e *expansion) error {
		gamma, beta, bias := e.input(2), e.input(3), e.input(4)
		if op != "LayerNormalization" {
			beta, bias = "", e.input(3)
		}
		name := ""
		if bias == "" {
			name = e.output(3)
		}
		sum, err := e.node(name, "Add", nil, e.input(0), e.input(1))
		if err == nil && bias != "" {
			sum, err = e.node(e.output(3), "Add", nil, sum, bias)
		}
		if err != nil {
			return err
		}
		in := []string{sum, gamma}
		if beta != "" {
			in = append(in, beta)
		}
		_, err = e.node(e.output(0), op, attributes{"axis": ofInt(-1), "epsilon": ofFloat(float64(e.nodeReader.float("epsilon", 1e-12)))}, in...)
		return err
	}
}

// embedNorm is the norm of the sum of rows of tables, and how many places a mask has.
func embedNorm(e *expansion) error {
	ids := e.dims[e.input(0)]
	if len(ids) != 2 {
		return fmt.Errorf("places of shape %v", ids)
	}
	sum, err := e.node("", "Gather", nil, e.input(2), e.input(0))
	if err != nil {
		return err
	}
	add := func(table, places string) error {
		row, err := e.node("", "Gather", nil, table, places)
		if err == nil {
			sum, err = e.node("", "Add", nil, sum, row)
		}
		return err
	}
	places := e.input(8)
	if places == "" {
		row := make([]int, ids[1])
		for i := range row {
			row[i] = i
		}
		places = e.wholes(row...)
		e.constants[places] = e.constants[places].as([]int{1, ids[1]})
		e.dims[places] = []int{1, ids[1]}
	}
	if err := add(e.input(3), places); err != nil {
		return err
	}
	if e.input(4) != "" && e.input(1) != "" {
		if err := add(e.input(4), e.input(1)); err != nil {
			return err
		}
	}
	if out := e.output(2); out != "" {
		if sum, err = e.node(out, "Identity", nil, sum); err != nil {
			return err
		}
	}
	norm := attributes{"axis": ofInt(-1), "epsilon": ofFloat(float64(e.nodeReader.float("epsilon", 1e-12)))}
	if _, err := e.node(e.output(0), "LayerNormalization", norm, sum, e.input(5), e.input(6)); err != nil {
		return err
	}
	switch out, mask := e.output(1), e.input(7); {
	case out == "":
	case mask == "":
		e.constants[out] = &constant{dims: []int{ids[0]}, elem: onnx.Int32, numbers: make([]float64, ids[0])}
		e.dims[out], e.types[out] = []int{ids[0]}, onnx.Int32
	default:
		_, err = e.node(out, "ReduceSum", attributes{"keepdims": ofInt(0)}, mask, e.wholes(1))
	}
	return err
}

// groupNorm is a norm over groups of channels, which stand last, and an activation.
func groupNorm(e *expansion) error {
	x, last := e.input(0), e.int("channels_last", 1) != 0
	var err error
	if last {
		if x, err = e.turned("", x, 0, 3, 1, 2); err != nil {
			return err
		}
	}
	d := e.dims[x]
	if len(d) != 4 {
		return fmt.Errorf("a picture of shape %v", d)
	}
	names := [2]string{e.input(1), e.input(2)}
	if x, err = e.node("", "GroupNormalization", attributes{
		"epsilon": ofFloat(float64(e.nodeReader.float("epsilon", 1e-5))), "num_groups": ofInt(e.int("groups", 1)),
	}, x, names[0], names[1]); err != nil {
		return err
	}
	if e.int("activation", 0) != 0 {
		if x, err = e.node("", "Swish", nil, x); err != nil {
			return err
		}
	}
	if last {
		_, err = e.turned(e.output(0), x, 0, 2, 3, 1)
	} else {
		_, err = e.node(e.output(0), "Identity", nil, x)
	}
	return err
}

// matMulBits is a product with weights of a few bits, in blocks with a scale each.
func matMulBits(e *expansion) error {
	k, columns, bits, block := e.int("K", 0), e.int("N", 0), e.int("bits", 4), e.int("block_size", 32)
	w, s := e.constant(1), e.constant(2)
	if w == nil || s == nil || bits != 2 && bits != 4 && bits != 8 || block < 1 || k < 1 || columns < 1 || k > maxExtent || columns > maxExtent || k*columns > 1<<31 {
		return fmt.Errorf("weights of %d bits in blocks of %d, %d of %d, that are constants", bits, block, k, columns)
	}
	if e.budget -= 2 * numberBytes * k * columns; e.budget < 0 {
		return errBudget
	}
	packed, err := w.values()
	if err != nil {
		return err
	}
	scales, err := s.values()
	if err != nil {
		return err
	}
	blocks := (k + block - 1) / block
	row := (block*bits + 7) / 8
	if len(packed) != columns*blocks*row || len(scales) < columns*blocks {
		return fmt.Errorf("%d bytes and %d scales of %d columns of %d", len(packed), len(scales), columns, k)
	}
	if e.given(4) {
		return fmt.Errorf("an order of groups")
	}
	field := func(v []float64, at int) float64 { // a value of so many bits, those of a byte from the lowest on
		each := 8 / bits
		return float64(int(v[at/each]) >> (at % each * bits) & (1<<bits - 1))
	}
	zero := func(o, b int) float64 { return float64(int(1) << (bits - 1)) }
	if z := e.constant(3); z != nil {
		v, err := z.values()
		if err != nil {
			return err
		}
		each := (blocks*bits + 7) / 8
		switch {
		case z.elem.IsFloat() && len(v) >= columns*blocks:
			zero = func(o, b int) float64 { return v[o*blocks+b] }
		case !z.elem.IsFloat() && len(v) >= columns*each:
			zero = func(o, b int) float64 { return field(v[o*each:], b) }
		default:
			return fmt.Errorf("%d zero points of %d columns in %d blocks", len(v), columns, blocks)
		}
	} else if e.given(3) {
		return fmt.Errorf("zero points that are computed")
	}
	out := make([]float64, k*columns)
	for o := range columns {
		for i := range k {
			b := i / block
			q := field(packed[(o*blocks+b)*row:], i%block)
			out[i*columns+o] = (q - zero(o, b)) * scales[o*blocks+b]
		}
	}
	if bias := e.input(5); bias != "" {
		_, err = e.chain(e.output(0), e.input(0), step{"MatMul", nil, []string{"", e.floats([]int{k, columns}, out)}}, step{"Add", nil, []string{"", bias}})
		return err
	}
	_, err = e.node(e.output(0), "MatMul", nil, e.input(0), e.floats([]int{k, columns}, out))
	return err
}

// root is one over the root of a head's size, where the file gives no scale.
func (e *expansion) scaleOf(head int) float64 {
	if s := float64(e.nodeReader.float("scale", 0)); s != 0 {
		return s
	}
	return 1 / math.Sqrt(float64(head))
}

// expands reports whether a node is stated in others: a bias that may be left out makes the
// difference of some.
func (n *nodeReader) expands() bool {
	return n.Op != "FastGelu" || n.given(1)
}

// narrow reports whether the engine moves the elements of a type as they are: whole numbers
// of eight bits, which fp16 has exactly. Arithmetic on them wraps, which the engine's does not.
func (n *nodeReader) narrow(t onnx.DataType) bool {
	switch n.Op {
	case "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Transpose", "Concat", "Split", "Slice", "Gather", "Expand", "Tile",
		"MaxPool", "Max", "Min", "Relu", "Clip", "Pad", "DepthToSpace", "SpaceToDepth", "Resize", "ReduceMax", "ReduceMin":
		return t == onnx.Uint8 || t == onnx.Int8
	}
	return false
}

// scaledOperands reads a node of an operand that is a power of two smaller than it should
// be, and reports whether it did: a product with a factor makes up for it, what leaves
// values as they are passes it on, and for all else the operand is made as large as it is.
func (n *nodeReader) scaledOperands() (bool, error) {
	at := slices.IndexFunc(n.Inputs, func(name string) bool { return n.smaller[name] > 1 })
	if at < 0 {
		return false, nil
	}
	by := n.smaller[n.Inputs[at]]
	switch n.Op {
	case "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Transpose":
		if at == 0 {
			n.smaller[n.Outputs[0]] = by
			return false, nil
		}
	}
	return true, n.inOthers(func(e *expansion) error {
		in := slices.Clone(e.Inputs)
		k, scaled := at, in[at]
		if e.Op == "Mul" && len(in) == 2 {
			k = 1 - at
		}
		e.smaller[scaled] = 0
		defer func() { e.smaller[scaled] = by }()
		larger, err := e.node("", "Mul", nil, e.float(in[k]), e.number(by))
		if err != nil {
			return err
		}
		in[k] = larger
		if k == at {
			e.types[larger] = e.types[e.Inputs[at]]
		}
		_, err = e.severalOf(in)
		return err
	})
}

// severalOf reads the node itself with other inputs.
func (e *expansion) severalOf(in []string) ([]string, error) {
	return e.several(slices.Clone(e.Outputs), e.Domain, e.Op, e.Attributes, in...)
}
