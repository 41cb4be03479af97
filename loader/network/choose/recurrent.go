package choose

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
)

// maxSteps is the largest number of steps to which a recurrent layer is unrolled.
const maxSteps = 512

// A recurrence holds the weights and the state of one direction of a recurrent layer. w, of shape
// [gates*hidden][in], multiplies the input, and r, of shape [gates*hidden][hidden], multiplies the
// state.
type recurrence struct {
	gates, hidden, in, batch int
	w, r                     []float16.Float16
	wb, rb                   []float16.Float16 // biases of w and r; nil if absent
	peephole                 []float16.Float16 // weights from the cell to the gates i, o and f; nil if absent
	h, c                     Operand           // state and cell; the name is "" while they are zero
}

// recurrentRule returns a rule that unrolls a recurrent layer with the given number of gates: 4 for
// LSTM, 3 for GRU and 1 for RNN.
func recurrentRule(gates int) rule {
	return func(n *Chooser) (Operand, error) { return unrollRecurrentLayer(n, gates) }
}

// unrollRecurrentLayer adds the layers of each step of a recurrent layer and names its results.
func unrollRecurrentLayer(n *Chooser, gates int) (Operand, error) {
	x, err := n.inputOperand(0)
	if err != nil {
		return Operand{}, err
	}
	batchFirst := n.Int("layout", 0) != 0
	if batchFirst {
		if x, err = n.permute(x, []int{1, 0, 2}); err != nil {
			return Operand{}, err
		}
	}
	steps := x.Dims[0]
	directions := map[string]int{"forward": 1, "reverse": 1, "bidirectional": 2}[n.Text("direction", "forward")]
	if err := checkUnrollable(n, gates, steps, directions); err != nil {
		return Operand{}, err
	}
	var all, last, cells []Operand
	for d := range directions {
		q, err := readRecurrence(n, d, gates, x)
		if err != nil {
			return Operand{}, err
		}
		reverse := d == 1 || n.Text("direction", "forward") == "reverse"
		y, err := unrollDirection(n, q, x, reverse)
		if err != nil {
			return Operand{}, err
		}
		all = append(all, y.As(steps, 1, q.batch, q.hidden))
		last = append(last, q.h.As(1, q.batch, q.hidden))
		if gates == 4 {
			cells = append(cells, q.c.As(1, q.batch, q.hidden))
		}
	}
	for i, parts := range [...][]Operand{all, last, cells} {
		if !n.Asked(i) || parts == nil {
			continue
		}
		y, err := n.concatenate(min(1, len(parts[0].Dims)-3), parts)
		if err == nil && batchFirst {
			perm := [][]int{{2, 0, 1, 3}, {1, 0, 2}, {1, 0, 2}}[i]
			y, err = n.permute(y, perm)
		}
		if err == nil {
			err = n.NameResult(i, y)
		}
		if err != nil {
			return Operand{}, err
		}
	}
	return Operand{}, nil
}

// checkUnrollable returns an error if the recurrent node has options that unrolling does not
// support, or has too many steps.
func checkUnrollable(n *Chooser, gates, steps, directions int) error {
	// The factors belong to activations other than the default ones.
	n.Ignore("activation_alpha", "activation_beta")
	if n.Opset < 7 {
		n.Ignore("output_sequence") // results are named or not
	}
	switch {
	case n.Attribute("activations") != nil && !hasDefaultActivations(n, gates), n.Attribute("clip") != nil, n.Int("input_forget", 0) != 0:
		return errors.New(`custom activations, "clip" and "input_forget" are not supported; unroll the layer into matmuls`)
	case steps > maxSteps:
		return fmt.Errorf("sequence has %d steps; want at most %d", steps, maxSteps)
	case directions == 0:
		return fmt.Errorf("unknown direction %q; want forward, reverse or bidirectional", n.Text("direction", "forward"))
	case n.Const(1) == nil || n.Const(2) == nil || n.Given(3) && n.Const(3) == nil:
		return errors.New("weights or bias are computed; want constants")
	}
	if n.Given(4) {
		c := n.Const(4)
		if c == nil {
			return errors.New("sequence lengths are computed; want constants")
		}
		v, err := c.Ints()
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(v, func(l int) bool { return l != steps }); i >= 0 {
			return fmt.Errorf("sequence %d has length %d; want %d, the number of steps", i, v[i], steps)
		}
	}
	return nil
}

// hasDefaultActivations reports whether the attribute activations, which the node must have, lists
// the defaults of the operator with the given number of gates, once or for both directions.
func hasDefaultActivations(n *Chooser, gates int) bool {
	want := map[int][]string{4: {"Sigmoid", "Tanh", "Tanh"}, 3: {"Sigmoid", "Tanh"}, 1: {"Tanh"}}[gates]
	names := n.Attribute("activations").Texts
	return slices.Equal(names, want) || slices.Equal(names, slices.Concat(want, want))
}

// readRecurrence returns the weights and the initial state for direction d of a recurrent node. x
// is the node's input, of shape [steps][batch][in].
func readRecurrence(n *Chooser, d, gates int, x Operand) (*recurrence, error) {
	wd, rd := n.Const(1).Dims, n.Const(2).Dims
	q := &recurrence{gates: gates, hidden: rd[2], in: x.Dims[2], batch: x.Dims[1]}
	rows := gates * q.hidden
	if d >= wd[0] || wd[1] != rows || wd[2] != q.in {
		return nil, fmt.Errorf("weights have shape %v; want at least %d directions of %d rows and %d columns", wd, d+1, rows, q.in)
	}
	if d >= rd[0] || rd[1] != rows {
		return nil, fmt.Errorf("recurrence weights have shape %v; want at least %d directions of %d rows", rd, d+1, rows)
	}
	readPart := func(i, size int) ([]float16.Float16, error) {
		c := n.Const(i)
		if c == nil {
			return nil, nil
		}
		h, err := c.Halves()
		if err != nil || h == nil {
			return nil, err
		}
		if len(h) < (d+1)*size {
			return nil, fmt.Errorf("input %d has %d values; want at least %d", i, len(h), (d+1)*size)
		}
		return h[d*size : (d+1)*size], nil
	}
	var errs [4]error
	q.w, errs[0] = readPart(1, rows*q.in)
	q.r, errs[1] = readPart(2, rows*q.hidden)
	bias, err := readPart(3, 2*rows)
	if errs[2] = err; bias != nil {
		q.wb, q.rb = bias[:rows], bias[rows:]
	}
	if gates == 4 {
		if n.Given(7) && n.Const(7) == nil {
			return nil, errors.New("peephole weights are computed; want constants")
		}
		q.peephole, errs[3] = readPart(7, 3*q.hidden)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	for i, state := range [...]*Operand{&q.h, &q.c} {
		if !n.Given(5+i) || i == 1 && gates != 4 {
			continue
		}
		s, err := n.inputOperand(5 + i)
		if err != nil {
			return nil, err
		}
		axis := 0
		if n.Int("layout", 0) != 0 {
			axis = 1
		}
		if s, err = n.sliceAxis(s, axis, d, 1); err != nil {
			return nil, err
		}
		*state = s.As(q.batch, q.hidden)
	}
	return q, nil
}

// applyLinearLayer adds a layer that multiplies x by the given number of rows of the weights,
// starting with row first, and adds the same rows of the bias. The layer has no bias if bias is
// nil, and no values if weights is nil.
func applyLinearLayer(n *Chooser, x Operand, weights, bias []float16.Float16, first, rows int) (Operand, error) {
	k := x.Dims[len(x.Dims)-1]
	l := layer.Layer{Op: layer.Linear, In: x.shape(), Second: layer.Constant, Columns: rows}
	var w layer.Weights
	if weights != nil {
		w.Filter = weights[first*k : (first+rows)*k]
	}
	if bias != nil {
		l.Bias, w.Bias = true, bias[first:first+rows]
	}
	d := slices.Clone(x.Dims)
	d[len(d)-1] = rows
	return n.addLayer(l, w, d, x)
}

// unrollDirection adds the layers of all steps in one direction and returns their states, of shape
// [steps][batch][hidden]. One layer per gate computes the products of the inputs of all steps.
func unrollDirection(n *Chooser, q *recurrence, x Operand, reverse bool) (Operand, error) {
	count := x.Dims[0]
	// The products of the inputs of all steps, by gate.
	gates := make([]Operand, q.gates)
	for g := range gates {
		var err error
		if gates[g], err = applyLinearLayer(n, x, q.w, q.wb, g*q.hidden, q.hidden); err != nil {
			return x, err
		}
	}
	states := make([]Operand, count)
	for i := range count {
		t := i
		if reverse {
			t = count - 1 - i
		}
		now := make([]Operand, q.gates)
		for g := range gates {
			s, err := n.sliceAxis(gates[g], 0, t, 1)
			if err != nil {
				return x, err
			}
			now[g] = s.As(q.batch, q.hidden)
		}
		var err error
		switch q.gates {
		case 4:
			err = addLSTMStep(n, q, now)
		case 3:
			err = addGRUStep(n, q, now)
		default:
			err = addRNNStep(n, q, now[0])
		}
		if err != nil {
			return x, err
		}
		states[t] = q.h.As(1, q.batch, q.hidden)
	}
	return n.concatenate(0, states)
}

// addStateProduct adds to sum the product of the state h and the recurrence weights of a gate, and
// the recurrence bias. If the state is still zero, it adds the bias only.
func addStateProduct(n *Chooser, q *recurrence, sum, h Operand, gate int) (Operand, error) {
	if h.Name == "" {
		if q.rb == nil {
			return sum, nil
		}
		return addColumnBias(n, sum, q.rb[gate*q.hidden:(gate+1)*q.hidden])
	}
	p, err := applyLinearLayer(n, h, q.r, q.rb, gate*q.hidden, q.hidden)
	if err != nil {
		return sum, err
	}
	return n.ApplyBinary(layer.Add, sum, p)
}

// addColumnBias adds a layer that adds v[i] to each element in column i of x.
func addColumnBias(n *Chooser, x Operand, v []float16.Float16) (Operand, error) {
	return n.applyConstantOperand(layer.Add, x, newFP16Constant(v))
}

// newFP16Constant returns a constant with one axis whose elements are v.
func newFP16Constant(v []float16.Float16) *graph.Const {
	c := &graph.Const{Dims: []int{len(v)}}
	for _, h := range v {
		c.Numbers = append(c.Numbers, float64(h.Float32()))
	}
	return c
}

// addRNNStep adds the layers of one RNN step, h = tanh(sum + R*h), where sum is the product of the
// step's input and the weights.
func addRNNStep(n *Chooser, q *recurrence, sum Operand) error {
	sum, err := addStateProduct(n, q, sum, q.h, 0)
	if err == nil {
		q.h, err = n.applyUnaryOp(layer.Tanh, sum)
	}
	return err
}

// addLSTMStep adds the layers of one LSTM step, c = f*c + i*g and h = o*tanh(c). The slice g holds
// the products of the step's input and the weights of the gates i, o, f and g, in this order.
func addLSTMStep(n *Chooser, q *recurrence, g []Operand) error {
	var err error
	addPeephole := func(x Operand, k int) (Operand, error) {
		if q.peephole == nil || q.c.Name == "" {
			return x, nil
		}
		p, err := n.applyConstantOperand(layer.Mul, q.c, newFP16Constant(q.peephole[k*q.hidden:(k+1)*q.hidden]))
		if err != nil {
			return x, err
		}
		return n.ApplyBinary(layer.Add, x, p)
	}
	state := q.h
	computeGate := func(k int, op layer.Op) {
		if err != nil {
			return
		}
		if g[k], err = addStateProduct(n, q, g[k], state, k); err == nil && k < 3 {
			g[k], err = addPeephole(g[k], k)
		}
		if err == nil {
			g[k], err = n.applyUnaryOp(op, g[k])
		}
	}
	computeGate(0, layer.Sigmoid)
	computeGate(3, layer.Tanh)
	if err != nil {
		return err
	}
	cell, err := n.ApplyBinary(layer.Mul, g[0], g[3])
	if err != nil {
		return err
	}
	if q.c.Name != "" {
		computeGate(2, layer.Sigmoid)
		if err != nil {
			return err
		}
		kept, err := n.ApplyBinary(layer.Mul, g[2], q.c)
		if err == nil {
			cell, err = n.ApplyBinary(layer.Add, kept, cell)
		}
		if err != nil {
			return err
		}
	}
	q.c = cell // the output gate sees the new cell
	computeGate(1, layer.Sigmoid)
	if err != nil {
		return err
	}
	out, err := n.applyUnaryOp(layer.Tanh, q.c)
	if err == nil {
		q.h, err = n.ApplyBinary(layer.Mul, g[1], out)
	}
	return err
}

// addGRUStep adds the layers of one GRU step, h = (1-z)*h' + z*h. g holds the products of the
// step's input and the weights of the gates z and r and of the candidate h', in this order.
func addGRUStep(n *Chooser, q *recurrence, g []Operand) error {
	var err error
	for k := range 2 {
		if g[k], err = addStateProduct(n, q, g[k], q.h, k); err == nil {
			g[k], err = n.applyUnaryOp(layer.Sigmoid, g[k])
		}
		if err != nil {
			return err
		}
	}
	h, err := computeGRUCandidate(n, q, g)
	if err != nil {
		return err
	}
	if h, err = n.applyUnaryOp(layer.Tanh, h); err != nil {
		return err
	}
	update, err := n.Complement(g[0])
	if err == nil {
		h, err = n.ApplyBinary(layer.Mul, update, h)
	}
	if err != nil || q.h.Name == "" {
		q.h = h
		return err
	}
	kept, err := n.ApplyBinary(layer.Mul, g[0], q.h)
	if err == nil {
		q.h, err = n.ApplyBinary(layer.Add, h, kept)
	}
	return err
}

// computeGRUCandidate adds layers that compute the candidate state h' of a GRU before its
// activation. The reset gate g[1] multiplies the state or, if linear_before_reset is set, the
// product of the state and the weights.
func computeGRUCandidate(n *Chooser, q *recurrence, g []Operand) (Operand, error) {
	h := g[2]
	linearFirst := n.Int("linear_before_reset", 0) != 0
	switch {
	case linearFirst && q.h.Name != "":
		p, err := applyLinearLayer(n, q.h, q.r, q.rb, 2*q.hidden, q.hidden)
		if err == nil {
			p, err = n.ApplyBinary(layer.Mul, g[1], p)
		}
		if err != nil {
			return h, err
		}
		return n.ApplyBinary(layer.Add, h, p)
	case linearFirst && q.rb != nil:
		p, err := n.applyConstantOperand(layer.Mul, g[1], newFP16Constant(q.rb[2*q.hidden:]))
		if err != nil {
			return h, err
		}
		return n.ApplyBinary(layer.Add, h, p)
	}
	reset := q.h
	if reset.Name != "" {
		var err error
		if reset, err = n.ApplyBinary(layer.Mul, g[1], q.h); err != nil {
			return h, err
		}
	}
	return addStateProduct(n, q, h, reset, 2)
}
