package choose

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
)

// maxSteps is the most steps that a recurrent layer is unrolled to.
const maxSteps = 512

// A recurrence is one direction of a recurrent layer: weights [gates*hidden][in] of the
// input and [gates*hidden][hidden] of the state, and a bias of each.
type recurrence struct {
	gates, hidden, in, batch int
	w, r                     []float16.Float16
	wb, rb                   []float16.Float16 // nil without
	peep                     []float16.Float16 // of the cell to the gates i, o and f
	h, c                     Operand           // "" where they begin with zeros
}

// recurrent unrolls an LSTM or a GRU: the products of all steps' inputs are one task,
// those of the state one a step.
func recurrent(gates int) rule {
	return func(n *Chooser) (Operand, error) { return unrolled(n, gates) }
}

func unrolled(n *Chooser, gates int) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	batchFirst := n.Int("layout", 0) != 0
	if batchFirst {
		if x, err = n.permuted(x, []int{1, 0, 2}); err != nil {
			return Operand{}, err
		}
	}
	steps := x.Dims[0]
	directions := map[string]int{"forward": 1, "reverse": 1, "bidirectional": 2}[n.Text("direction", "forward")]
	if err := unrollable(n, gates, steps, directions); err != nil {
		return Operand{}, err
	}
	var all, last, cells []Operand
	for d := range directions {
		q, err := direction(n, d, gates, x)
		if err != nil {
			return Operand{}, err
		}
		back := d == 1 || n.Text("direction", "forward") == "reverse"
		y, err := walk(n, q, x, back)
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
		y, err := n.joined(min(1, len(parts[0].Dims)-3), parts)
		if err == nil && batchFirst {
			perm := [][]int{{2, 0, 1, 3}, {1, 0, 2}, {1, 0, 2}}[i]
			y, err = n.permuted(y, perm)
		}
		if err == nil {
			err = n.Result(i, y)
		}
		if err != nil {
			return Operand{}, err
		}
	}
	return Operand{}, nil
}

// unrollable refuses recurrent layers that cannot be unrolled.
func unrollable(n *Chooser, gates, steps, directions int) error {
	switch {
	case n.Attr["activations"] != nil && !usual(n, gates), n.Attr["clip"] != nil, n.Int("input_forget", 0) != 0:
		return errors.New("a recurrent layer of other activations, a clip or coupled gates; unroll it into matrix products")
	case steps > maxSteps:
		return fmt.Errorf("%d steps; at most %d are unrolled", steps, maxSteps)
	case directions == 0 || n.Const(1) == nil || n.Const(2) == nil || n.Given(3) && n.Const(3) == nil:
		return errors.New("its weights are no constants, or its direction is none")
	}
	if n.Given(4) {
		c := n.Const(4)
		if c == nil {
			return errors.New("its lengths are computed, not constants")
		}
		if v, err := c.Ints(); err != nil || slices.ContainsFunc(v, func(l int) bool { return l != steps }) {
			return errors.New("sequences of different lengths")
		}
	}
	return nil
}

// usual reports whether the activations that are named are those without names.
func usual(n *Chooser, gates int) bool {
	want := map[int][]string{4: {"Sigmoid", "Tanh", "Tanh"}, 3: {"Sigmoid", "Tanh"}, 1: {"Tanh"}}[gates]
	names := n.Attr["activations"].Texts
	return slices.Equal(names, want) || slices.Equal(names, slices.Concat(want, want))
}

// direction are the weights of one direction and the states it begins with.
func direction(n *Chooser, d, gates int, x Operand) (*recurrence, error) {
	wd, rd := n.Const(1).Dims, n.Const(2).Dims
	q := &recurrence{gates: gates, hidden: rd[2], in: x.Dims[2], batch: x.Dims[1]}
	rows := gates * q.hidden
	if wd[1] != rows || rd[1] != rows || wd[2] != q.in || d >= wd[0] || d >= rd[0] {
		return nil, fmt.Errorf("weights %v and %v for %d inputs", wd, rd, q.in)
	}
	part := func(i, size int) ([]float16.Float16, error) {
		c := n.Const(i)
		if c == nil {
			return nil, nil
		}
		h, err := c.Halves()
		if err != nil || h == nil {
			return nil, err
		}
		if len(h) < (d+1)*size {
			return nil, fmt.Errorf("%d values for %d", len(h), (d+1)*size)
		}
		return h[d*size : (d+1)*size], nil
	}
	var errs [4]error
	q.w, errs[0] = part(1, rows*q.in)
	q.r, errs[1] = part(2, rows*q.hidden)
	bias, err := part(3, 2*rows)
	if errs[2] = err; bias != nil {
		q.wb, q.rb = bias[:rows], bias[rows:]
	}
	if gates == 4 {
		if n.Given(7) && n.Const(7) == nil {
			return nil, errors.New("its peepholes are computed, not constants")
		}
		q.peep, errs[3] = part(7, 3*q.hidden)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	for i, state := range [...]*Operand{&q.h, &q.c} {
		if !n.Given(5+i) || i == 1 && gates != 4 {
			continue
		}
		s, err := n.in(5 + i)
		if err != nil {
			return nil, err
		}
		axis := 0
		if n.Int("layout", 0) != 0 {
			axis = 1
		}
		if s, err = n.sliced(s, axis, d, 1); err != nil {
			return nil, err
		}
		*state = s.As(q.batch, q.hidden)
	}
	return q, nil
}

// product is x times the rows of weights from first on, with a bias.
func product(n *Chooser, x Operand, weights, bias []float16.Float16, first, rows int) (Operand, error) {
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
	return n.layer(l, w, d, x)
}

// walk runs a direction's steps and returns every state.
func walk(n *Chooser, q *recurrence, x Operand, back bool) (Operand, error) {
	count := x.Dims[0]
	// Of each gate, what all steps' inputs give it.
	gates := make([]Operand, q.gates)
	for g := range gates {
		var err error
		if gates[g], err = product(n, x, q.w, q.wb, g*q.hidden, q.hidden); err != nil {
			return x, err
		}
	}
	states := make([]Operand, count)
	for i := range count {
		t := i
		if back {
			t = count - 1 - i
		}
		now := make([]Operand, q.gates)
		for g := range gates {
			s, err := n.sliced(gates[g], 0, t, 1)
			if err != nil {
				return x, err
			}
			now[g] = s.As(q.batch, q.hidden)
		}
		var err error
		switch q.gates {
		case 4:
			err = lstmStep(n, q, now)
		case 3:
			err = gruStep(n, q, now)
		default:
			err = plainStep(n, q, now[0])
		}
		if err != nil {
			return x, err
		}
		states[t] = q.h.As(1, q.batch, q.hidden)
	}
	return n.joined(0, states)
}

// withState adds the state's product to a gate's sum; a state of zeros gives its bias.
func withState(n *Chooser, q *recurrence, sum, h Operand, gate int) (Operand, error) {
	if h.Name == "" {
		if q.rb == nil {
			return sum, nil
		}
		return biased(n, sum, q.rb[gate*q.hidden:(gate+1)*q.hidden])
	}
	p, err := product(n, h, q.r, q.rb, gate*q.hidden, q.hidden)
	if err != nil {
		return sum, err
	}
	return n.Binary(layer.Add, sum, p)
}

func biased(n *Chooser, x Operand, v []float16.Float16) (Operand, error) {
	return n.withConstant(layer.Add, x, numbersOf(v))
}

// numbersOf is a list of fp16 values as a constant.
func numbersOf(v []float16.Float16) *graph.Const {
	c := &graph.Const{Dims: []int{len(v)}}
	for _, h := range v {
		c.Numbers = append(c.Numbers, float64(h.Float32()))
	}
	return c
}

// plainStep is h = tanh(x + h).
func plainStep(n *Chooser, q *recurrence, sum Operand) error {
	sum, err := withState(n, q, sum, q.h, 0)
	if err == nil {
		q.h, err = n.unary(layer.Tanh, sum)
	}
	return err
}

// lstmStep is c = f*c + i*tanh(g), h = o*tanh(c); gates stand in the order i, o, f, g.
func lstmStep(n *Chooser, q *recurrence, g []Operand) error {
	var err error
	peep := func(x Operand, k int) (Operand, error) {
		if q.peep == nil || q.c.Name == "" {
			return x, nil
		}
		p, err := n.withConstant(layer.Mul, q.c, numbersOf(q.peep[k*q.hidden:(k+1)*q.hidden]))
		if err != nil {
			return x, err
		}
		return n.Binary(layer.Add, x, p)
	}
	state := q.h
	gate := func(k int, op layer.Op) {
		if err != nil {
			return
		}
		if g[k], err = withState(n, q, g[k], state, k); err == nil && k < 3 {
			g[k], err = peep(g[k], k)
		}
		if err == nil {
			g[k], err = n.unary(op, g[k])
		}
	}
	gate(0, layer.Sigmoid)
	gate(3, layer.Tanh)
	if err != nil {
		return err
	}
	cell, err := n.Binary(layer.Mul, g[0], g[3])
	if err != nil {
		return err
	}
	if q.c.Name != "" {
		gate(2, layer.Sigmoid)
		if err != nil {
			return err
		}
		kept, err := n.Binary(layer.Mul, g[2], q.c)
		if err == nil {
			cell, err = n.Binary(layer.Add, kept, cell)
		}
		if err != nil {
			return err
		}
	}
	q.c = cell // the output gate sees the new cell
	gate(1, layer.Sigmoid)
	if err != nil {
		return err
	}
	out, err := n.unary(layer.Tanh, q.c)
	if err == nil {
		q.h, err = n.Binary(layer.Mul, g[1], out)
	}
	return err
}

// gruStep is h = (1-z)*h' + z*h; gates stand in the order z, r, h'.
func gruStep(n *Chooser, q *recurrence, g []Operand) error {
	var err error
	for k := range 2 {
		if g[k], err = withState(n, q, g[k], q.h, k); err == nil {
			g[k], err = n.unary(layer.Sigmoid, g[k])
		}
		if err != nil {
			return err
		}
	}
	h, err := gruCandidate(n, q, g)
	if err != nil {
		return err
	}
	if h, err = n.unary(layer.Tanh, h); err != nil {
		return err
	}
	minus, err := n.scaled(g[0], -1)
	if err == nil {
		minus, err = n.shifted(minus, 1)
	}
	if err == nil {
		h, err = n.Binary(layer.Mul, minus, h)
	}
	if err != nil || q.h.Name == "" {
		q.h = h
		return err
	}
	kept, err := n.Binary(layer.Mul, g[0], q.h)
	if err == nil {
		q.h, err = n.Binary(layer.Add, h, kept)
	}
	return err
}

// gruCandidate is h' ahead of its activation: the reset gate is on the state, or on the product
// with it where that comes first.
func gruCandidate(n *Chooser, q *recurrence, g []Operand) (Operand, error) {
	h := g[2]
	before := n.Int("linear_before_reset", 0) != 0
	switch {
	case before && q.h.Name != "":
		p, err := product(n, q.h, q.r, q.rb, 2*q.hidden, q.hidden)
		if err == nil {
			p, err = n.Binary(layer.Mul, g[1], p)
		}
		if err != nil {
			return h, err
		}
		return n.Binary(layer.Add, h, p)
	case before && q.rb != nil:
		p, err := n.withConstant(layer.Mul, g[1], numbersOf(q.rb[2*q.hidden:]))
		if err != nil {
			return h, err
		}
		return n.Binary(layer.Add, h, p)
	}
	reset := q.h
	if reset.Name != "" {
		var err error
		if reset, err = n.Binary(layer.Mul, g[1], q.h); err != nil {
			return h, err
		}
	}
	return withState(n, q, h, reset, 2)
}
