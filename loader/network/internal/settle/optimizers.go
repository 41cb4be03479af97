package settle

import (
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// findOptimizerExpander returns the function that rewrites a step of an optimizer, or nil for another
// operator.
func findOptimizerExpander(op string) func(e *expansion) error {
	switch op {
	case "Adagrad":
		return newOptimizerExpander(1, expandAdagrad)
	case "Adam":
		return newOptimizerExpander(2, expandAdam)
	case "Momentum":
		return newOptimizerExpander(1, expandMomentum)
	}
	return nil
}

// A parameter holds the values that a step of an optimizer reads and writes of one tensor.
type parameter struct {
	x, gradient *graph.Value
	states      []*graph.Value
	newX        *graph.Value
	newStates   []*graph.Value
}

// newOptimizerExpander returns a function that calls update for each tensor of a step of an optimizer.
// After the rate and the count of steps, such a node lists all tensors, all gradients, and then all of
// each kind of state; it writes all tensors, and then the states.
func newOptimizerExpander(states int, update func(e *expansion, rate, count *graph.Value, p parameter) error) func(e *expansion) error {
	return func(e *expansion) error {
		if e.Domain != ops.Training {
			return ops.NewUnknownError(e.Node)
		}
		n := (len(e.In) - 2) / (2 + states)
		if n < 1 || len(e.In) != 2+n*(2+states) || len(e.Out) != n*(1+states) {
			return fmt.Errorf("node has %d inputs and %d results; want 2, and %d inputs and %d results for each tensor", len(e.In), len(e.Out), 2+states, 1+states)
		}
		for i := range n {
			p := parameter{x: e.inputTensor(2 + i), gradient: e.inputTensor(2 + n + i), newX: e.outputTensor(i)}
			for k := range states {
				p.states = append(p.states, e.inputTensor(2+(2+k)*n+i))
				p.newStates = append(p.newStates, e.outputTensor((1+k)*n+i))
			}
			var err error
			if norm := float64(e.Float("norm_coefficient", 0)); norm != 0 { // regularization
				if p.gradient, err = e.emitWeighted(nil, p.gradient, 1, p.x, norm); err != nil {
					return err
				}
			}
			if err := update(e, e.inputTensor(0), e.inputTensor(1), p); err != nil {
				return err
			}
		}
		return nil
	}
}

// emitWeighted emits nodes that compute v*a + w*b.
func (e *expansion) emitWeighted(out, a *graph.Value, v float64, b *graph.Value, w float64) (*graph.Value, error) {
	var err error
	for _, x := range [...]struct {
		to   **graph.Value
		with float64
	}{{&a, v}, {&b, w}} {
		if x.with != 1 && err == nil {
			*x.to, err = e.emitNode(nil, "Mul", nil, *x.to, e.newScalarConstant(x.with))
		}
	}
	if err != nil {
		return nil, err
	}
	return e.emitNode(out, "Add", nil, a, b)
}

// emitDecayedRate returns the rate, divided by 1 + the count of steps times the attribute decay_factor.
func (e *expansion) emitDecayedRate(rate, count *graph.Value) (*graph.Value, error) {
	decay := float64(e.Float("decay_factor", 0))
	if decay == 0 {
		return rate, nil
	}
	by, err := e.emitNodeChain(nil, count, step{"Cast", attributes{"to": newIntAttr(int(graph.Float))}, nil},
		step{"Mul", nil, []*graph.Value{nil, e.newScalarConstant(decay)}}, step{"Add", nil, []*graph.Value{nil, e.newScalarConstant(1)}})
	if err != nil {
		return nil, err
	}
	return e.emitNode(nil, "Div", nil, rate, by)
}

// emitDescent emits nodes that compute x - rate*by/(sqrt(squares)+epsilon).
func (e *expansion) emitDescent(out, x, rate, by, squares *graph.Value, epsilon float64) (*graph.Value, error) {
	root, err := e.emitNodeChain(nil, squares, step{"Sqrt", nil, nil}, step{"Add", nil, []*graph.Value{nil, e.newScalarConstant(epsilon)}})
	if err == nil {
		by, err = e.emitNodeChain(nil, by, step{"Div", nil, []*graph.Value{nil, root}}, step{"Mul", nil, []*graph.Value{nil, rate}})
	}
	if err != nil {
		return nil, err
	}
	return e.emitNode(out, "Sub", nil, x, by)
}

func expandAdagrad(e *expansion, rate, count *graph.Value, p parameter) error {
	rate, err := e.emitDecayedRate(rate, count)
	if err != nil {
		return err
	}
	square, err := e.emitNode(nil, "Mul", nil, p.gradient, p.gradient)
	if err != nil {
		return err
	}
	h, err := e.emitNode(p.newStates[0], "Add", nil, p.states[0], square)
	if err != nil {
		return err
	}
	_, err = e.emitDescent(p.newX, p.x, rate, p.gradient, h, float64(e.Float("epsilon", 1e-6)))
	return err
}

func expandAdam(e *expansion, rate, count *graph.Value, p parameter) error {
	alpha, beta := float64(e.Float("alpha", 0.9)), float64(e.Float("beta", 0.999))
	v, err := e.emitWeighted(p.newStates[0], p.states[0], alpha, p.gradient, 1-alpha)
	if err != nil {
		return err
	}
	square, err := e.emitNode(nil, "Mul", nil, p.gradient, p.gradient)
	if err != nil {
		return err
	}
	h, err := e.emitWeighted(p.newStates[1], p.states[1], beta, square, 1-beta)
	if err != nil {
		return err
	}
	// After the first step, the rate is corrected for the states that began as zeros. The count has to
	// be a constant, because the correction divides powers.
	c := e.Const(1)
	if c == nil {
		return fmt.Errorf("count of steps is computed; want a constant")
	}
	steps, err := c.Scalar()
	if err != nil {
		return err
	}
	if steps > 0 {
		corrected := math.Sqrt(1-math.Pow(beta, steps)) / (1 - math.Pow(alpha, steps))
		if rate, err = e.emitNode(nil, "Mul", nil, rate, e.newScalarConstant(corrected)); err != nil {
			return err
		}
	}
	post := float64(e.Float("norm_coefficient_post", 0))
	out := p.newX
	if post != 0 {
		out = nil
	}
	y, err := e.emitDescent(out, p.x, rate, v, h, float64(e.Float("epsilon", 1e-6)))
	if err == nil && post != 0 {
		_, err = e.emitNode(p.newX, "Mul", nil, y, e.newScalarConstant(1-post))
	}
	return err
}

func expandMomentum(e *expansion, rate, count *graph.Value, p parameter) error {
	alpha, beta := float64(e.Float("alpha", 0)), float64(e.Float("beta", 0))
	c := e.Const(1)
	if c == nil {
		return fmt.Errorf("count of steps is computed; want a constant")
	}
	steps, err := c.Scalar()
	if err != nil {
		return err
	}
	// ONNX applies the gradient in full in the first step.
	if steps == 0 {
		beta = 1
	}
	mode := e.Text("mode", "")
	if !slices.Contains([]string{"standard", "nesterov"}, mode) {
		return fmt.Errorf("mode %q is unknown; want standard or nesterov", mode)
	}
	v, err := e.emitWeighted(p.newStates[0], p.states[0], alpha, p.gradient, beta)
	if err != nil {
		return err
	}
	by := v
	if mode == "nesterov" {
		if by, err = e.emitWeighted(nil, p.gradient, 1, v, alpha); err != nil {
			return err
		}
	}
	if by, err = e.emitNode(nil, "Mul", nil, by, rate); err == nil {
		_, err = e.emitNode(p.newX, "Sub", nil, p.x, by)
	}
	return err
}
