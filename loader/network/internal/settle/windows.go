package settle

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// operandExpansion returns the function that rewrites a convolution or a batch normalization whose
// weights, bias or statistics are computed. The engine has layers only for constant ones. It also
// returns a function for volumes, vectors, einsums and masks of a Dropout, which have no layer of
// their own. It returns nil if the node needs no rewriting.
func operandExpansion(n *graph.Node) func(e *expansion) error {
	computed := func(first, last int) bool {
		for i := first; i <= last; i++ {
			if n.Given(i) && n.Const(i) == nil {
				return true
			}
		}
		return false
	}
	rank := 0
	if len(n.In) > 0 {
		rank = len(n.In[0].Dims)
	}
	// Computed weights come first: isFarDilation asks for constant ones. An operator whose plain form has a
	// layer is rewritten only where a second result (Asked), a missing axis or training needs more.
	switch {
	case n.Op == "Conv" && computed(1, 2):
		return expandConv
	case isFarDilation(n):
		return expandFarDilation
	case findLongKernel(n) >= 0:
		return expandLongKernel
	case n.Op == "ConvTranspose" && (computed(1, 2) || rank == 5):
		return expandConvTranspose
	case n.Op == "Dropout" && n.Asked(1) && ops.CheckInference(n) == nil:
		return expandDropout
	case n.Op == "BatchNormalization" && (computed(1, 4) || rank == 1 || n.Int("training_mode", 0) != 0):
		return expandBatchNormalization
	case n.Op == "MaxPool" && n.Asked(1):
		return expandMaxPool
	case isComposedEinsum(n):
		return expandEinsum
	}
	if w := readWideWindow(n); w != nil {
		return w.expand
	}
	return nil
}

// maxComputedTaps is the largest number of taps of a convolution whose weights are computed, because
// each tap needs a slice of the input.
const maxComputedTaps = 128

// tapBytes is what the nodes and layers of a tap may use of the memory for constants, so that a small
// file cannot have many taps.
const tapBytes = 1 << 13

// expandConv rewrites a convolution whose bias or weights are computed. A computed bias is added by
// an Add. For computed weights, the elements under each tap of the window become rows of a matrix,
// which the weights multiply.
func expandConv(e *expansion) error {
	if e.Const(1) != nil {
		return e.emitWithoutBias()
	}
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	f, err := e.Dims(1)
	if err != nil {
		return err
	}
	if _, err := ops.Infer(e.Node); err != nil {
		return err
	}
	w, err := ops.WindowOf(e.Node, d[2:], f[2:])
	if err != nil {
		return err
	}
	taps, groups, places := graph.Elements(f[2:]), e.Int("group", 1), graph.Elements(w.Out)
	// Each tap is a slice of the whole input, and becomes layers of its own.
	if taps > maxComputedTaps {
		return fmt.Errorf("kernel with computed weights has %d elements; want at most %d", taps, maxComputedTaps)
	}
	if err := e.budget.Spend(tapBytes, taps); err != nil {
		return err
	}
	x, err := e.emitPadding(e.inputTensor(0), w.Before, w.After)
	if err != nil {
		return err
	}
	rows := make([]*graph.Value, taps)
	for t := range rows {
		part, err := e.emitTap(x, w, t)
		if err == nil {
			// With the taps as innermost axis of each channel, rows are in the order of the weights, which
			// then need no transpose.
			rows[t], err = e.emitReshape(nil, part, d[0], groups, f[1], 1, places)
		}
		if err != nil {
			return err
		}
	}
	y := rows[0]
	if taps > 1 {
		if y, err = e.emitNode(nil, "Concat", attributes{"axis": newIntAttr(3)}, rows...); err != nil {
			return err
		}
	}
	if y, err = e.emitReshape(nil, y, d[0], groups, f[1]*taps, places); err != nil {
		return err
	}
	weights, err := e.emitReshape(nil, e.inputTensor(1), groups, f[0]/groups, f[1]*taps)
	if err != nil {
		return err
	}
	if y, err = e.emitNode(nil, "MatMul", nil, weights, y); err != nil {
		return err
	}
	return e.emitBiasedResult(y, slices.Concat([]int{d[0], f[0]}, w.Out))
}

// emitTap emits a Slice of the padded input x that has the elements under tap t of a window, in
// row-major order of the taps, and returns it.
func (e *expansion) emitTap(x *graph.Value, w ops.Window, t int) (*graph.Value, error) {
	rank := len(w.Taps)
	begin, end, axes := make([]int, rank), make([]int, rank), make([]int, rank)
	for i := rank - 1; i >= 0; i-- {
		begin[i] = t % w.Taps[i] * w.Dilations[i]
		end[i] = begin[i] + (w.Out[i]-1)*w.Strides[i] + 1
		axes[i] = 2 + i
		t /= w.Taps[i]
	}
	return e.emitNode(nil, "Slice", nil, x, e.newIntConstant(begin...), e.newIntConstant(end...), e.newIntConstant(axes...), e.newIntConstant(w.Strides...))
}

// emitPadding emits a Pad of the spatial axes of x with zeros and returns its result. It returns x
// if there is nothing to pad. A negative number removes elements.
func (e *expansion) emitPadding(x *graph.Value, before, after []int) (*graph.Value, error) {
	pads := slices.Concat([]int{0, 0}, before, []int{0, 0}, after)
	if !slices.ContainsFunc(pads, func(p int) bool { return p != 0 }) {
		return x, nil
	}
	return e.emitNode(nil, "Pad", attributes{"pads": newIntsAttr(pads...)}, x)
}

// emitWithoutBias emits the node without its bias, in input 2, and then adds the bias.
func (e *expansion) emitWithoutBias() error {
	y, err := e.emitNode(nil, e.Op, e.AllAttributes(), e.inputTensor(0), e.inputTensor(1))
	if err != nil {
		return err
	}
	return e.emitBiasedResult(y, y.Dims)
}

// emitBiasedResult emits a Reshape of y to dims and an Add of the bias in input 2 to the channels of
// axis 1, where each is needed. The result is the first result of the node.
func (e *expansion) emitBiasedResult(y *graph.Value, dims []int) error {
	b := e.inputTensor(2)
	if !b.Given() {
		_, err := e.emitReshape(e.outputTensor(0), y, dims...)
		return err
	}
	if graph.Elements(b.Dims) != dims[1] {
		return fmt.Errorf("bias has shape %v; want one value for each of %d channels", b.Dims, dims[1])
	}
	y, err := e.emitReshape(nil, y, dims...)
	if err == nil {
		b, err = e.emitReshape(nil, b, append([]int{dims[1]}, slices.Repeat([]int{1}, len(dims)-2)...)...)
	}
	if err == nil {
		_, err = e.emitNode(e.outputTensor(0), "Add", nil, y, b)
	}
	return err
}

// expandConvTranspose rewrites a transposed convolution whose weights or bias are computed, or that
// has three spatial axes. The result is a convolution of the input with zeros between its elements
// and of the weights in reverse.
func expandConvTranspose(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	if e.Const(1) != nil && len(d) < 5 {
		return e.emitWithoutBias()
	}
	f, err := e.Dims(1)
	if err != nil {
		return err
	}
	if c := e.Const(1); c != nil && c.Absent() {
		return errors.New("weights are in a file that was not read")
	}
	if _, err := ops.Infer(e.Node); err != nil {
		return err
	}
	w, err := ops.TransposedWindow(e.Node, d, f)
	if err != nil {
		return err
	}
	x, before, after := e.inputTensor(0), make([]int, len(w.Taps)), make([]int, len(w.Taps))
	for i, step := range w.Strides {
		if x, err = e.emitZerosBetween(x, 2+i, step); err != nil {
			return err
		}
		span := (w.Taps[i]-1)*w.Dilations[i] + 1
		before[i] = span - 1 - w.Before[i]
		// Computed from the output, because output_padding and auto_pad can make it longer than the
		// formula of the window.
		after[i] = w.Out[i] + span - 1 - before[i] - d[2+i]*step
	}
	if x, err = e.emitPadding(x, before, after); err != nil {
		return err
	}
	weights, err := e.emitReversedWeights(f, e.Int("group", 1))
	if err != nil {
		return err
	}
	a := attributes{"dilations": newIntsAttr(w.Dilations...), "group": newIntAttr(e.Int("group", 1))}
	in := []*graph.Value{x, weights}
	if e.Given(2) {
		in = append(in, e.inputTensor(2))
	}
	_, err = e.emitNode(e.outputTensor(0), "Conv", a, in...)
	return err
}

// emitZerosBetween emits nodes that put step-1 zeros after each element of an axis of x, and returns
// their result.
func (e *expansion) emitZerosBetween(x *graph.Value, axis, step int) (*graph.Value, error) {
	if step == 1 {
		return x, nil
	}
	d := x.Dims
	y, err := e.emitReshape(nil, x, graph.Elements(d[:axis+1]), 1, graph.Elements(d[axis+1:]))
	if err == nil {
		y, err = e.emitNode(nil, "Pad", attributes{"pads": newIntsAttr(0, 0, 0, 0, step-1, 0)}, y)
	}
	if err != nil {
		return nil, err
	}
	out := slices.Clone(d)
	out[axis] *= step
	return e.emitReshape(nil, y, out...)
}

// emitReversedWeights emits nodes that turn the weights of a transposed convolution, in input 1 with
// shape f, into the weights of a convolution: it exchanges the input and output channels of each group and
// reverses the spatial axes.
func (e *expansion) emitReversedWeights(f []int, groups int) (*graph.Value, error) {
	rank := len(f) - 2
	perm := []int{0, 2, 1}
	var first, last, axes []int
	for i := range rank {
		perm = append(perm, 3+i)
		first, last, axes = append(first, -1), append(last, -f[2+i]-1), append(axes, 2+i)
	}
	y, err := e.emitReshape(nil, e.inputTensor(1), slices.Concat([]int{groups, f[0] / groups, f[1]}, f[2:])...)
	if err == nil {
		y, err = e.emitTranspose(nil, y, perm...)
	}
	if err == nil {
		y, err = e.emitReshape(nil, y, slices.Concat([]int{groups * f[1], f[0] / groups}, f[2:])...)
	}
	if err != nil || graph.Elements(f[2:]) == 1 {
		return y, err
	}
	return e.emitNode(nil, "Slice", nil, y, e.newIntConstant(first...), e.newIntConstant(last...), e.newIntConstant(axes...), e.newIntConstant(first...))
}

// expandBatchNormalization rewrites a batch normalization whose scale, bias, mean or variance is
// computed, or whose input has one axis. Such an input has a single channel.
func expandBatchNormalization(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	e.Ignore("momentum") // of training
	if e.Opset < 9 {
		e.Accept("spatial", 1)
	}
	switch {
	case len(d) == 0:
		return errors.New("input is a scalar; want at least 1 axis")
	case len(e.In) < 5:
		return fmt.Errorf("node has %d inputs; want at least 5", len(e.In))
	case e.Int("training_mode", 0) != 0:
		return e.emitTrainingNorm(d)
	case len(e.Out) > 1 && slices.ContainsFunc(e.Out[1:], (*graph.Value).Given):
		return errors.New("training outputs are not supported")
	}
	channels, shape := 1, []int{1}
	if len(d) > 1 {
		channels = d[1]
		shape = append([]int{channels}, slices.Repeat([]int{1}, len(d)-2)...)
	}
	var v [4]*graph.Value // scale, bias, mean, variance
	for i := range v {
		p := e.inputTensor(1 + i)
		if graph.Elements(p.Dims) != channels {
			return fmt.Errorf("%s has shape %v; want one value for each of %d channels", [...]string{"scale", "bias", "mean", "variance"}[i], p.Dims, channels)
		}
		if v[i], err = e.emitReshape(nil, p, shape...); err != nil {
			return err
		}
	}
	root, err := e.emitNodeChain(nil, v[3], step{"Add", nil, []*graph.Value{nil, e.newScalarConstant(float64(e.Float("epsilon", 1e-5)))}}, step{"Sqrt", nil, nil})
	if err != nil {
		return err
	}
	factor, err := e.emitNode(nil, "Div", nil, v[0], root)
	if err != nil {
		return err
	}
	// The mean is subtracted first: it may be large, and a difference of scaled values would have lost its
	// digits.
	_, err = e.emitNodeChain(e.outputTensor(0), e.inputTensor(0), step{"Sub", nil, []*graph.Value{nil, v[2]}}, step{"Mul", nil, []*graph.Value{nil, factor}}, step{"Add", nil, []*graph.Value{nil, v[1]}})
	return err
}

// expandDropout rewrites a Dropout for inference whose mask is read. The first result is the input,
// and the mask is a constant that keeps all elements.
func expandDropout(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	x := e.inputTensor(0)
	if e.Asked(0) {
		e.body = append(e.body, newAliasNode(e.Out[0], x))
	}
	if err := ops.CheckInference(e.Node); err != nil {
		return err
	}
	kept := &graph.Const{Dims: []int{1}, Type: graph.Bool, Numbers: []float64{1}}
	if e.Opset < 10 {
		kept.Type = e.Type(0)
	}
	_, err = e.emitNode(e.outputTensor(1), "ConstantOfShape", attributes{"value": {Const: kept}}, e.newIntConstant(d...))
	return err
}

// emitTrainingNorm emits the nodes of a BatchNormalization of training: the input, of shape d, is
// normalized by the mean and variance of each channel, and a share of these is mixed into those of the
// inputs.
func (e *expansion) emitTrainingNorm(d []int) error {
	momentum := float64(e.Float("momentum", 0.9))
	if len(d) < 2 {
		return fmt.Errorf("input has shape %v; want at least 2 axes with training_mode", d)
	}
	axes, shape := []int{0}, slices.Repeat([]int{1}, len(d))
	shape[1] = d[1]
	for i := 2; i < len(d); i++ {
		axes = append(axes, i)
	}
	overAll := attributes{"axes": newIntsAttr(axes...), "keepdims": newIntAttr(1)}
	mean, err := e.emitNode(nil, "ReduceMean", overAll, e.inputTensor(0))
	if err != nil {
		return err
	}
	// The variance comes from differences, not from E(x^2) - E(x)^2, which loses all digits in fp16 if the
	// mean is large.
	centered, err := e.emitNode(nil, "Sub", nil, e.inputTensor(0), mean)
	if err != nil {
		return err
	}
	square, err := e.emitNode(nil, "Mul", nil, centered, centered)
	if err != nil {
		return err
	}
	variance, err := e.emitNode(nil, "ReduceMean", overAll, square)
	if err != nil {
		return err
	}
	root, err := e.emitNodeChain(nil, variance, step{"Add", nil, []*graph.Value{nil, e.newScalarConstant(float64(e.Float("epsilon", 1e-5)))}}, step{"Sqrt", nil, nil})
	if err != nil {
		return err
	}
	var scale [2]*graph.Value
	for i := range scale {
		p := e.inputTensor(1 + i)
		if graph.Elements(p.Dims) != d[1] {
			return fmt.Errorf("scale or bias has shape %v; want one value for each of %d channels", p.Dims, d[1])
		}
		if scale[i], err = e.emitReshape(nil, p, shape...); err != nil {
			return err
		}
	}
	if _, err = e.emitNodeChain(e.outputTensor(0), centered, step{"Div", nil, []*graph.Value{nil, root}}, step{"Mul", nil, []*graph.Value{nil, scale[0]}}, step{"Add", nil, []*graph.Value{nil, scale[1]}}); err != nil {
		return err
	}
	for i, own := range []*graph.Value{mean, variance} {
		before := e.inputTensor(3 + i)
		if !e.Asked(1 + i) {
			continue
		}
		flat, err := e.emitReshape(nil, own, d[1])
		if err == nil {
			_, err = e.emitWeighted(e.outputTensor(1+i), before, momentum, flat, 1-momentum)
		}
		if err != nil {
			return err
		}
	}
	if len(e.Out) > 3 {
		return fmt.Errorf("node has %d results; want at most 3", len(e.Out))
	}
	return nil
}
