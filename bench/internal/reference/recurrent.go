package reference

import (
	"anesim/bench/internal/reference/tensor"
	"fmt"
	"math"
	"slices"
)

// recurrentOperators has the operators that carry a state from one element of a sequence to the
// next.
var recurrentOperators = map[string]operator{
	"RNN":  {3, newRecurrentOperator(1, []string{"Tanh"}, (*cell).stepRNN)},
	"GRU":  {3, newRecurrentOperator(3, []string{"Sigmoid", "Tanh"}, (*cell).stepGRU)},
	"LSTM": {3, newRecurrentOperator(4, []string{"Sigmoid", "Tanh", "Tanh"}, (*cell).stepLSTM)},
}

// A cell has the weights, biases and activation functions of one direction of an RNN, GRU or
// LSTM.
type cell struct {
	inputs, hidden   int
	w, r             []float64 // [gates*hidden][inputs] and [gates*hidden][hidden]
	wBias, rBias     []float64 // [gates*hidden]
	peepholes        []float64 // [3*hidden]
	f                []func(float64) float64
	linearBeforeGate bool // GRU's linear_before_reset
	coupled          bool // LSTM's input_forget
	reduce           func(acc, panel, taps []float64)
}

// newRecurrentOperator returns a recurrent operator whose cells have the given number of gates. The
// names in activations are the default activation functions. step updates the state h and the cell
// state c of cell k in place for the input x.
func newRecurrentOperator(gates int, activations []string, step func(k *cell, x, h, c []float64)) func(*call) ([]*tensor.Tensor, error) {
	return func(c *call) ([]*tensor.Tensor, error) {
		batchFirst := c.flagAttribute("layout")
		x, h0, c0 := c.in[0], c.inputTensor(5), c.inputTensor(6)
		var err error
		// Only LSTM has a cell state; input 6 of the others is none.
		if gates != 4 {
			c0 = nil
		}
		if batchFirst {
			for _, t := range []**tensor.Tensor{&x, &h0, &c0} {
				if *t == nil {
					continue
				}
				if len((*t).Dims) != 3 {
					return nil, fmt.Errorf("input or initial state has shape %v; want rank 3", (*t).Dims)
				}
				if *t, err = (*t).Transpose(1, 0, 2); err != nil {
					return nil, err
				}
			}
		}
		cells, backward, err := c.readRecurrentCells(x, gates, activations)
		if err != nil {
			return nil, err
		}
		results, err := c.unrollCells(x, h0, c0, cells, backward, step)
		if err != nil || !batchFirst {
			return results, err
		}
		if results[0], err = results[0].Transpose(2, 0, 1, 3); err != nil {
			return nil, err
		}
		for i := range results[1:] {
			if results[1+i], err = results[1+i].Transpose(1, 0, 2); err != nil {
				return nil, err
			}
		}
		return results, nil
	}
}

// readRecurrentCells returns a cell for each direction of a recurrent node. It also returns, for
// each direction, whether it runs backward. If the node names no activation functions, the cells
// use those named in defaults.
func (c *call) readRecurrentCells(x *tensor.Tensor, gates int, defaults []string) (cells []*cell, backward []bool, err error) {
	switch direction := c.textAttribute("direction", "forward"); direction {
	case "forward":
		backward = []bool{false}
	case "reverse":
		backward = []bool{true}
	case "bidirectional":
		backward = []bool{false, true}
	default:
		return nil, nil, fmt.Errorf("unknown direction %q; want forward, reverse or bidirectional", direction)
	}
	n, w, r := len(backward), c.in[1], c.in[2]
	if len(x.Dims) != 3 || len(r.Dims) != 3 {
		return nil, nil, fmt.Errorf("input and recurrent weights have shapes %v and %v; want rank 3 for both", x.Dims, r.Dims)
	}
	inputs, hidden := x.Dims[2], r.Dims[2]
	rows := gates * hidden
	if want := []int{n, rows, inputs}; !slices.Equal(w.Dims, want) {
		return nil, nil, fmt.Errorf("input weights have shape %v; want %v", w.Dims, want)
	}
	if want := []int{n, rows, hidden}; !slices.Equal(r.Dims, want) {
		return nil, nil, fmt.Errorf("recurrent weights have shape %v; want %v", r.Dims, want)
	}
	// Zeros in place of missing inputs keep the cells free of special cases.
	bias := make([]float64, 2*rows*n)
	if t := c.inputTensor(3); t != nil {
		if bias = t.Data; len(bias) != 2*rows*n {
			return nil, nil, fmt.Errorf("bias has shape %v; want %d elements", t.Dims, 2*rows*n)
		}
	}
	peepholes := make([]float64, 3*hidden*n)
	if t := c.inputTensor(7); t != nil && gates == 4 {
		if peepholes = t.Data; len(peepholes) != 3*hidden*n {
			return nil, nil, fmt.Errorf("peepholes have shape %v; want %d elements", t.Dims, 3*hidden*n)
		}
	}
	f, err := c.readActivations(defaults, n)
	if err != nil {
		return nil, nil, err
	}
	for i := range n {
		cells = append(cells, &cell{
			inputs: inputs, hidden: hidden, w: w.Data[i*rows*inputs:][:rows*inputs], r: r.Data[i*rows*hidden:][:rows*hidden],
			wBias: bias[2*i*rows:][:rows], rBias: bias[(2*i+1)*rows:][:rows], peepholes: peepholes[3*i*hidden:][:3*hidden],
			f: f[i*len(defaults):], linearBeforeGate: c.flagAttribute("linear_before_reset"), coupled: c.flagAttribute("input_forget"), reduce: c.Reduce,
		})
	}
	return cells, backward, nil
}

// readActivations returns the activation functions of all directions, one direction after another.
// The functions clip their arguments to the range in the attribute clip, except the one that an LSTM
// applies to its cell, as in onnxruntime. If the node names no functions, defaults has the names for
// one direction.
func (c *call) readActivations(defaults []string, directions int) ([]func(float64) float64, error) {
	names := slices.Repeat(defaults, directions)
	if a := c.attribute("activations"); a != nil && len(a.Strings) > 0 {
		if names = a.Strings; len(names) != directions*len(defaults) {
			return nil, fmt.Errorf("attribute \"activations\" has %d functions; want %d", len(names), directions*len(defaults))
		}
	}
	var alphas, betas []float32
	if a := c.attribute("activation_alpha"); a != nil {
		alphas = a.Floats
	}
	if a := c.attribute("activation_beta"); a != nil {
		betas = a.Floats
	}
	limit := c.floatAttribute("clip", math.Inf(1))
	var list []func(float64) float64
	for i, name := range names {
		f := c.findActivationFunction(name, &alphas, &betas)
		if f == nil {
			return nil, c.newUnsupportedError(fmt.Sprintf("activation %q", name))
		}
		if i%len(defaults) == 2 {
			list = append(list, f)
			continue
		}
		list = append(list, func(x float64) float64 { return f(min(max(x, -limit), limit)) })
	}
	return list, nil
}

// findActivationFunction returns the activation function with the given name, or nil if the name is
// unknown. It takes the function's parameters from the front of the lists alphas and betas, which
// become shorter. A parameter that is not in the lists has ONNX's default.
func (r *interpreter) findActivationFunction(name string, alphas, betas *[]float32) func(x float64) float64 {
	// Parameters have no names: each function removes its own from the front of the lists.
	next := func(list *[]float32, missing float64) float64 {
		if len(*list) == 0 {
			return missing
		}
		v := float64((*list)[0])
		*list = (*list)[1:]
		return v
	}
	switch name {
	case "Sigmoid", "Tanh", "Softplus":
		return r.findElementaryFunction(name)
	case "Relu":
		return relu
	case "Softsign":
		quotient := r.newDivideFunction()
		return func(x float64) float64 { return quotient(x, 1+math.Abs(x)) }
	case "Affine":
		alpha, beta := next(alphas, 1), next(betas, 0)
		return func(x float64) float64 { return alpha*x + beta }
	case "ScaledTanh":
		alpha, beta := next(alphas, 1), next(betas, 1)
		tanh := r.findElementaryFunction("Tanh")
		return func(x float64) float64 { return alpha * tanh(beta*x) }
	case "HardSigmoid":
		alpha, beta := next(alphas, 0.2), next(betas, 0.5)
		return func(x float64) float64 { return min(max(alpha*x+beta, 0), 1) }
	case "LeakyRelu":
		alpha := next(alphas, 0.01)
		return func(x float64) float64 { return max(x, 0) + alpha*min(x, 0) }
	case "Elu":
		alpha, expm1 := next(alphas, 1), r.newExpm1Function()
		return func(x float64) float64 { return max(x, 0) + alpha*expm1(min(x, 0)) }
	case "ThresholdedRelu":
		alpha := next(alphas, 1)
		return func(x float64) float64 { return x * tensor.BoolToFloat(x > alpha) }
	}
	return nil
}

// unrollCells runs each cell over the sequences x [length][batch][inputs]. It returns the states
// after every step, the last states, and the last cell states. If h0 or c0 is nil, the states start
// at 0.
func (c *call) unrollCells(x, h0, c0 *tensor.Tensor, cells []*cell, backward []bool, step func(k *cell, x, h, c []float64)) ([]*tensor.Tensor, error) {
	length, batch, hidden, inputs := x.Dims[0], x.Dims[1], cells[0].hidden, cells[0].inputs
	lengths := slices.Repeat([]int{length}, batch)
	if t := c.inputTensor(4); t != nil {
		if lengths = t.ToInts(); len(lengths) != batch {
			return nil, fmt.Errorf("%d sequence lengths for %d sequences; want one per sequence", len(lengths), batch)
		}
	}
	y, err := tensor.New(x.Type, length, len(cells), batch, hidden)
	if err != nil {
		return nil, err
	}
	last, err := tensor.New(x.Type, len(cells), batch, hidden)
	if err != nil {
		return nil, err
	}
	lastC := last.ZerosLike()
	for _, s := range []struct{ from, to *tensor.Tensor }{{h0, last}, {c0, lastC}} {
		if s.from != nil && !slices.Equal(s.from.Dims, s.to.Dims) {
			return nil, fmt.Errorf("initial state has shape %v; want %v", s.from.Dims, s.to.Dims)
		}
		if s.from != nil {
			copy(s.to.Data, s.from.Data)
		}
	}
	for d, k := range cells {
		for b, n := range lengths {
			if n < 0 || n > length {
				return nil, fmt.Errorf("sequence %d has length %d; want 0 to %d", b, n, length)
			}
			h, state := last.Data[(d*batch+b)*hidden:][:hidden], lastC.Data[(d*batch+b)*hidden:][:hidden]
			if n == 0 { // as in onnxruntime, and not the initial state
				clear(h)
				clear(state)
			}
			for i := range n {
				t := i
				if backward[d] {
					// A backward cell begins at the end of its own sequence, so the padding of shorter
					// ones does not reach its state.
					t = n - 1 - i
				}
				step(k, x.Data[(t*batch+b)*inputs:][:inputs], h, state)
				copy(y.Data[((t*len(cells)+d)*batch+b)*hidden:][:hidden], h)
			}
		}
	}
	return []*tensor.Tensor{y, last, lastC}, nil
}

// dotProduct returns the sum of the products a[i]*b[i]. It uses Options.Reduce if that is set.
func (k *cell) dotProduct(a, b []float64) float64 {
	total := 0.0
	if k.reduce != nil {
		acc := []float64{0}
		k.reduce(acc, a, b)
		return acc[0]
	}
	for i, v := range a {
		total += v * b[i]
	}
	return total
}

// inputTerm returns the product of row i of the input weights and the input x, plus the row's bias.
// The rows of each gate are consecutive.
func (k *cell) inputTerm(i int, x []float64) float64 {
	return k.dotProduct(x, k.w[i*k.inputs:][:k.inputs]) + k.wBias[i]
}

// stateTerm returns the product of row i of the recurrent weights and the state h, plus the row's
// bias.
func (k *cell) stateTerm(i int, h []float64) float64 {
	return k.dotProduct(h, k.r[i*k.hidden:][:k.hidden]) + k.rBias[i]
}

func (k *cell) stepRNN(x, h, _ []float64) {
	old := slices.Clone(h)
	for i := range h {
		h[i] = k.f[0](k.inputTerm(i, x) + k.stateTerm(i, old))
	}
}

// stepGRU replaces the state h of a GRU by its next state for the input x. The rows of weights are
// in the order of ONNX: the update gate, the reset gate, the hidden gate.
func (k *cell) stepGRU(x, h, _ []float64) {
	n := k.hidden
	old, gated, reset := slices.Clone(h), make([]float64, n), make([]float64, n)
	for i := range n {
		reset[i] = k.f[0](k.inputTerm(n+i, x) + k.stateTerm(n+i, old))
		gated[i] = reset[i] * old[i]
	}
	for i := range n {
		update := k.f[0](k.inputTerm(i, x) + k.stateTerm(i, old))
		past := k.stateTerm(2*n+i, gated)
		if k.linearBeforeGate {
			past = reset[i] * k.stateTerm(2*n+i, old)
		}
		h[i] = (1-update)*k.f[1](k.inputTerm(2*n+i, x)+past) + update*old[i]
	}
}

// stepLSTM replaces the state h and the cell state c of an LSTM by their next values for the input
// x. The rows of weights are in the order of ONNX: the input gate, the output gate, the forget
// gate, the cell gate.
func (k *cell) stepLSTM(x, h, c []float64) {
	n, old := k.hidden, slices.Clone(h)
	row := func(i int) float64 { return k.inputTerm(i, x) + k.stateTerm(i, old) }
	for i := range n {
		in := k.f[0](row(i) + k.peepholes[i]*c[i])
		forget := k.f[0](row(2*n+i) + k.peepholes[2*n+i]*c[i])
		if k.coupled {
			forget = 1 - in
		}
		c[i] = forget*c[i] + in*k.f[1](row(3*n+i))
		out := k.f[0](row(n+i) + k.peepholes[n+i]*c[i])
		h[i] = out * k.f[2](c[i])
	}
}
