package choose

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
)

// A recurrence holds the weights and the state of one direction of a recurrent layer. w, of shape
// [gates*hidden][in], multiplies the input, and r, of shape [gates*hidden][hidden], multiplies the
// state.
type recurrence struct {
	gates, hidden, in, batch int
	w, r                     []float16.Float16
	wb, rb                   []float16.Float16 // biases of w and r; nil if absent
	peephole                 []float16.Float16 // weights from the cell to the gates i, o and f; nil if absent
	h, c                     Operand           // state and cell; the name is "" while they are zero
	activations              []activation      // of the gates, of the candidate and, for an LSTM, of the cell
	lengths                  []int             // number of steps of each sequence of the batch
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
	directions := countDirections(n)
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
		// The steps have changed the state of sequences that have none.
		if err == nil && slices.Min(q.lengths) == 0 {
			err = clearEmptySequences(n, q)
		}
		if err != nil {
			return Operand{}, err
		}
		// The new axis counts directions, along which the results are concatenated.
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

// countDirections returns the number of directions of a recurrent node, or 0 if its direction is
// unknown.
func countDirections(n *Chooser) int {
	return map[string]int{"forward": 1, "reverse": 1, "bidirectional": 2}[n.Text("direction", "forward")]
}

// checkUnrollable returns an error if the recurrent node has options that unrolling does not
// support, or has too many steps.
func checkUnrollable(n *Chooser, gates, steps, directions int) error {
	if n.Opset < 7 {
		n.Ignore("output_sequence") // results are named or not
	}
	if gates == 4 {
		n.Int("input_forget", 0) // a single step from a state of 0 forgets nothing and does not ask for it
	}
	switch {
	case steps > graph.MaxRounds:
		return fmt.Errorf("sequence has %d steps; want at most %d", steps, graph.MaxRounds)
	case directions == 0:
		return fmt.Errorf("unknown direction %q; want forward, reverse or bidirectional", n.Text("direction", "forward"))
	case n.Const(1) == nil || n.Const(2) == nil || n.Given(3) && n.Const(3) == nil:
		return errors.New("weights or bias are computed; want constants")
	}
	return nil
}

// readSequenceLengths returns the number of steps of each sequence of a batch, which is the given
// one unless the node states others. The rest of a shorter sequence is padding.
func readSequenceLengths(n *Chooser, steps, batch int) ([]int, error) {
	if !n.Given(4) {
		return slices.Repeat([]int{steps}, batch), nil
	}
	c := n.Const(4)
	if c == nil {
		return nil, errors.New("sequence lengths are computed; want constants")
	}
	v, err := c.Ints()
	switch {
	case err != nil:
		return nil, err
	case len(v) != batch:
		return nil, fmt.Errorf("%d sequence lengths for %d sequences; want equal numbers", len(v), batch)
	case slices.Min(v) < 0, slices.Max(v) > steps, slices.Max(v) == 0:
		return nil, fmt.Errorf("sequences have lengths %v; want 0 to %d, and not all 0", v, steps)
	}
	return v, nil
}

// readRecurrence returns the weights and the initial state for direction d of a recurrent node. x
// is the node's input, of shape [steps][batch][in].
func readRecurrence(n *Chooser, d, gates int, x Operand) (*recurrence, error) {
	wd, rd := n.Const(1).Dims, n.Const(2).Dims
	q := &recurrence{gates: gates, hidden: rd[2], in: x.Dims[2], batch: x.Dims[1]}
	rows := gates * q.hidden
	var err error
	if q.activations, err = readActivations(n, d, gates, countDirections(n)); err != nil {
		return nil, err
	}
	if q.lengths, err = readSequenceLengths(n, x.Dims[0], q.batch); err != nil {
		return nil, err
	}
	// Weights come from a file, so nothing says that their shapes suit each other.
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
	// One input holds both biases, first those of the input's products and then those of the state's. GRU
	// needs them apart, for linear_before_reset.
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
	longest := slices.Max(q.lengths)
	states := make([]Operand, longest)
	for i := range longest {
		t := i
		if reverse {
			t = longest - 1 - i
		}
		before := [...]Operand{q.h, q.c}
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
		result := q.h
		// Shorter sequences of the batch have ended: they keep their state, and give zeros.
		if t >= slices.Min(q.lengths) {
			if result, err = maskFinished(n, q, t, before[0], before[1]); err != nil {
				return x, err
			}
		}
		states[t] = result.As(1, q.batch, q.hidden)
	}
	y, err := n.concatenate(0, states)
	// Steps after the longest sequence are not computed at all.
	if err != nil || longest == count {
		return y, err
	}
	return padWithConstant(n, y.As(longest, q.batch, q.hidden), 0, 0, count-longest, 0)
}

// clearEmptySequences adds layers that make the last state and cell of sequences without steps 0, as
// onnxruntime does. ONNX leaves them open.
func clearEmptySequences(n *Chooser, q *recurrence) (err error) {
	mask := q.newSequenceMask(func(length int) bool { return length > 0 })
	if q.h, err = n.applyConstantOperand(layer.Mul, q.h, mask); err == nil && q.c.Name != "" {
		q.c, err = n.applyConstantOperand(layer.Mul, q.c, mask)
	}
	return err
}

// newSequenceMask returns a constant with a row for each sequence: 1 if has is true for its length, or
// 0.
func (q *recurrence) newSequenceMask(has func(length int) bool) *graph.Const {
	c := &graph.Const{Dims: []int{q.batch, 1}, Numbers: make([]float64, q.batch)}
	for b, length := range q.lengths {
		c.Numbers[b] = graph.Truth(has(length))
	}
	return c
}

// maskFinished adds layers that give the sequences to which step t does not belong the state h
// and the cell c from before the step. It returns the result of the step, which is 0 for them.
func maskFinished(n *Chooser, q *recurrence, t int, h, c Operand) (Operand, error) {
	running, finished := q.newSequenceMask(func(length int) bool { return t < length }), q.newSequenceMask(func(length int) bool { return t >= length })
	result, err := n.applyConstantOperand(layer.Mul, q.h, running)
	if err != nil {
		return result, err
	}
	q.h = result
	if q.c.Name != "" {
		if q.c, err = n.applyConstantOperand(layer.Mul, q.c, running); err != nil {
			return result, err
		}
	}
	for _, s := range [...]struct {
		state *Operand
		old   Operand
	}{{&q.h, h}, {&q.c, c}} {
		if s.old.Name == "" {
			continue
		}
		kept, err := n.applyConstantOperand(layer.Mul, s.old, finished)
		if err == nil {
			*s.state, err = n.ApplyBinary(layer.Add, *s.state, kept)
		}
		if err != nil {
			return result, err
		}
	}
	return result, nil
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

// addRNNStep adds the layers of one RNN step, h = f(sum + R*h), where sum is the product of the
// step's input and the weights, and f is the activation, normally tanh.
func addRNNStep(n *Chooser, q *recurrence, sum Operand) error {
	sum, err := addStateProduct(n, q, sum, q.h, 0)
	if err == nil {
		q.h, err = q.activations[0](sum)
	}
	return err
}

// addLSTMStep adds the layers of one LSTM step, c = f*c + i*g and h = o*tanh(c), or with other
// activations. The slice g holds the products of the step's input and the weights of the gates i, o,
// f and g, in this order. If the attribute input_forget is set, f is 1-i.
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
	computeGate := func(k int, f activation) {
		if err != nil {
			return
		}
		if g[k], err = addStateProduct(n, q, g[k], state, k); err == nil && k < 3 {
			g[k], err = addPeephole(g[k], k)
		}
		if err == nil {
			g[k], err = f(g[k])
		}
	}
	computeGate(0, q.activations[0])
	computeGate(3, q.activations[1])
	if err != nil {
		return err
	}
	cell, err := n.ApplyBinary(layer.Mul, g[0], g[3])
	if err != nil {
		return err
	}
	// In the first step the cell is zero, so the forget gate has nothing to forget.
	if q.c.Name != "" {
		if n.Int("input_forget", 0) != 0 {
			g[2], err = n.Complement(g[0])
		} else {
			computeGate(2, q.activations[0])
		}
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
	computeGate(1, q.activations[0])
	if err != nil {
		return err
	}
	out, err := q.activations[2](q.c)
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
			g[k], err = q.activations[0](g[k])
		}
		if err != nil {
			return err
		}
	}
	h, err := computeGRUCandidate(n, q, g)
	if err != nil {
		return err
	}
	if h, err = q.activations[1](h); err != nil {
		return err
	}
	update, err := n.Complement(g[0])
	if err == nil {
		h, err = n.ApplyBinary(layer.Mul, update, h)
	}
	// Without an initial state, the state is zero in the first step, and a product with it needs no layer.
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
