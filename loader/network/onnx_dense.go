package network

import (
	"errors"
	"fmt"

	"github.com/x448/float16"

	"anesim/loader/lower"
)

// picture is the first input as N, C, H, W.
func (n *nodeReader) picture() (lower.Shape, error) {
	s, err := n.operand(0)
	if err == nil && len(n.dims[n.Inputs[0]]) != 4 {
		err = fmt.Errorf("its input has %d dimensions, want 4", len(n.dims[n.Inputs[0]]))
	}
	return s, err
}

// window reads the attributes of a convolution or a pool over s.
func (n *nodeReader) window(s lower.Shape, kernel []int) (lower.Window, error) {
	var w lower.Window
	if k, ok, _ := n.list("kernel_shape", -1); ok {
		kernel = k
	}
	if len(kernel) != 2 {
		return w, fmt.Errorf("a window of %d dimensions", len(kernel))
	}
	lists := map[string][]int{"strides": {1, 1}, "dilations": {1, 1}, "pads": {0, 0, 0, 0}}
	for name, missing := range lists {
		v, ok, _ := n.list(name, -1)
		if ok && len(v) != len(missing) {
			return w, fmt.Errorf("%s has %d values", name, len(v))
		}
		if ok {
			lists[name] = v
		}
	}
	stride, dilation, pad := lists["strides"], lists["dilations"], lists["pads"]
	switch {
	case dilation[0] != 1 || dilation[1] != 1:
		return w, errors.New("taps that stand apart (dilations)")
	case min(kernel[0], kernel[1], stride[0], stride[1]) < 1 || max(kernel[0], kernel[1], stride[0], stride[1]) > maxExtent:
		return w, errors.New("an empty window")
	case min(pad[0], pad[1], pad[2], pad[3]) < 0 || max(pad[0], pad[1], pad[2], pad[3]) > maxExtent:
		return w, errors.New("negative padding")
	case n.int("ceil_mode", 0) != 0:
		return w, errors.New("a result rounded up (ceil_mode)")
	}
	w = lower.Window{Kh: kernel[0], Kw: kernel[1], Sy: stride[0], Sx: stride[1], Py: pad[0], Px: pad[1], Qy: pad[2], Qx: pad[3]}
	auto := ""
	if a := n.Attributes["auto_pad"]; a != nil {
		auto = a.Text
	}
	switch auto {
	case "", "NOTSET":
	case "VALID":
		w.Py, w.Px, w.Qy, w.Qx = 0, 0, 0, 0
	case "SAME_UPPER", "SAME_LOWER":
		y, x := lower.Same(w.Kh, w.Sy, s), lower.Same(w.Kw, w.Sx, s)
		w.Py, w.Qy, w.Px, w.Qx = y.Py, y.Qy, x.Px, x.Qx
		if auto == "SAME_LOWER" {
			w.Py, w.Qy, w.Px, w.Qx = w.Qy, w.Py, w.Qx, w.Px
		}
	default:
		return w, fmt.Errorf("auto_pad %q", auto)
	}
	return w, nil
}

func (n *nodeReader) conv() error {
	s, err := n.picture()
	if err != nil {
		return err
	}
	filter := n.constant(1)
	if filter == nil || len(filter.Dims) != 4 {
		return errors.New("its weights are no constant of four dimensions")
	}
	d := dimsOf(filter)
	w, err := n.window(s, d[2:])
	if err != nil {
		return err
	}
	l := Layer{Lower: lower.Conv(s, d[0], w)}
	l.Lower.Groups = n.int("group", 1)
	if l.Lower.Groups < 1 || d[1]*l.Lower.Groups != s.C || w.Kh != d[2] || w.Kw != d[3] {
		return fmt.Errorf("weights %v for %s in %d groups", d, shapeText(s), l.Lower.Groups)
	}
	if l.Weights.Filter, err = halves(filter); err != nil {
		return err
	}
	if err := n.bias(&l, 2, d[0]); err != nil {
		return err
	}
	return n.emit(l, nil, n.Inputs[0])
}

// bias gives a layer the constant of an optional input.
func (n *nodeReader) bias(l *Layer, input, channels int) (err error) {
	if input >= len(n.Inputs) || n.Inputs[input] == "" {
		return nil
	}
	t := n.constant(input)
	switch {
	case t == nil:
		return errors.New("its bias is no constant")
	case t.Elements() != channels:
		return fmt.Errorf("a bias of shape %v for %d channels", t.Dims, channels)
	}
	l.Lower.Bias = true
	l.Weights.Bias, err = halves(t)
	return err
}

func (n *nodeReader) gemm() error {
	s, err := n.operand(0)
	if err != nil {
		return err
	}
	right := n.constant(1)
	switch {
	case right == nil || len(right.Dims) != 2:
		return errors.New("its right side is no constant matrix")
	case n.int("transA", 0) != 0 || n.float("alpha", 1) != 1 || n.float("beta", 1) != 1:
		return errors.New("a transposed left side or factors (transA, alpha, beta)")
	}
	d := dimsOf(right)
	l := Layer{Lower: lower.Layer{Op: lower.MatMul, In: s, Second: lower.Constant, Columns: d[1]}}
	k := d[0]
	if n.int("transB", 0) != 0 {
		l.Lower.Op, l.Lower.Columns, k = lower.Linear, d[0], d[1]
	}
	if k != s.W || l.Lower.Columns < 1 {
		return fmt.Errorf("%s times %v", shapeText(s), d)
	}
	if l.Weights.Filter, err = halves(right); err != nil {
		return err
	}
	if err := n.bias(&l, 2, l.Lower.Columns); err != nil {
		return err
	}
	return n.emit(l, n.columns(l.Lower.Columns), n.Inputs[0])
}

// columns are the first input's dimensions with another last one.
func (n *nodeReader) columns(last int) []int {
	dims := append([]int(nil), n.dims[n.Inputs[0]]...)
	if len(dims) > 0 {
		dims[len(dims)-1] = last
	}
	return dims
}

func (n *nodeReader) matmul() error {
	s, err := n.operand(0)
	if err != nil {
		return err
	}
	if len(n.dims[n.Inputs[0]]) < 2 {
		return errors.New("its left side is no matrix")
	}
	l := Layer{Lower: lower.Layer{Op: lower.MatMul, In: s, Second: lower.Constant}}
	if right := n.constant(1); right != nil {
		d := dimsOf(right)
		if len(d) != 2 || d[0] != s.W || d[1] < 1 {
			return fmt.Errorf("%s times a constant of shape %v", shapeText(s), d)
		}
		l.Lower.Columns = d[1]
		if l.Weights.Filter, err = halves(right); err != nil {
			return err
		}
		return n.emit(l, n.columns(d[1]), n.Inputs[0])
	}
	z, err := n.operand(1)
	if err != nil {
		return err
	}
	if len(n.dims[n.Inputs[1]]) < 2 || z != (lower.Shape{N: s.N, C: s.C, H: s.W, W: z.W}) {
		return fmt.Errorf("%s times %s", shapeText(s), shapeText(z))
	}
	l.Lower.Second, l.Lower.Columns = lower.Runtime, z.W
	return n.emit(l, n.columns(z.W), n.Inputs[0], n.Inputs[1])
}

func (n *nodeReader) pool() error {
	s, err := n.picture()
	if err != nil {
		return err
	}
	w, err := n.window(s, nil)
	if err != nil {
		return err
	}
	average := n.Op == "AveragePool"
	if average && max(w.Py, w.Px, w.Qy, w.Qx) > 0 && n.int("count_include_pad", 0) == 0 {
		return errors.New("an average that leaves the padding out")
	}
	return n.emit(pooling(s, w, average), nil, n.Inputs[0])
}

func global(op lower.Op) func(*nodeReader) error {
	return func(n *nodeReader) error {
		s, err := n.picture()
		if err != nil {
			return err
		}
		return n.emit(Layer{Lower: lower.Reduction(op, s, lower.AxisH|lower.AxisW)}, nil, n.Inputs[0])
	}
}

// batchNorm is a factor and an addend a channel; folding puts them into a convolution.
func (n *nodeReader) batchNorm() error {
	s, err := n.picture()
	if err != nil {
		return err
	}
	var v [4][]float32 // scale, bias, mean, variance
	for i := range v {
		t := n.constant(1 + i)
		if t == nil || t.Elements() != s.C {
			return errors.New("its statistics are no constants a channel")
		}
		if t.External() {
			continue
		}
		if v[i], err = t.Floats(); err != nil {
			return err
		}
	}
	var factor, addend []float16.Float16
	if v[0] != nil && v[1] != nil && v[2] != nil && v[3] != nil {
		factor, addend = make([]float16.Float16, s.C), make([]float16.Float16, s.C)
		for c := range s.C {
			f := v[0][c] * root(v[3][c]+n.float("epsilon", 1e-5))
			factor[c] = float16.Fromfloat32(f)
			addend[c] = float16.Fromfloat32(v[1][c] - float32(v[2][c]*f))
		}
	}
	perChannel := func(op lower.Op, values []float16.Float16) Layer {
		return Layer{
			Lower:   lower.Layer{Op: op, In: s, Second: lower.Constant, SecondShape: lower.Shape{N: 1, C: s.C, H: 1, W: 1}},
			Weights: lower.Weights{Second: values},
		}
	}
	return n.emitBoth(perChannel(lower.Mul, factor), perChannel(lower.Add, addend))
}

// emitBoth adds two layers, one on the other's result.
func (n *nodeReader) emitBoth(a, b Layer) error {
	dims, out, name := n.dims[n.Inputs[0]], n.layer.Output, n.layer.Name
	n.layer.Output = out + "/1"
	if err := n.emit(a, dims, n.Inputs[0]); err != nil {
		n.layer.Output = out
		return err
	}
	n.layer.Output, n.layer.Name = out, name+"/2"
	return n.emit(b, dims, out+"/1")
}
