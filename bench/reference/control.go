package reference

import (
	"fmt"
	"math"

	"anesim/loader/network/onnx"
)

// control has the operators with graphs inside.
var control = map[string]operator{"If": {1, branch}, "Loop": {0, loop}, "Scan": {0, scan}}

// body runs the graph of an attribute on inputs.
func (c *call) body(attribute string, inputs ...*Tensor) ([]*Tensor, error) {
	a := c.attribute(attribute)
	if a == nil || a.Graph == nil {
		return nil, fmt.Errorf("attribute %s has no graph", attribute)
	}
	if len(a.Graph.Inputs) != len(inputs) {
		return nil, fmt.Errorf("graph %s has %d inputs; want %d", attribute, len(a.Graph.Inputs), len(inputs))
	}
	s := newScope(a.Graph, c.scope)
	for i, v := range a.Graph.Inputs {
		s.values[v.Name] = inputs[i]
	}
	return c.graph(a.Graph, s)
}

func branch(c *call) ([]*Tensor, error) {
	if len(c.in[0].Data) != 1 {
		return nil, fmt.Errorf("condition of shape %v; want a scalar", c.in[0].Dims)
	}
	if c.in[0].Data[0] != 0 {
		return c.body("then_branch")
	}
	return c.body("else_branch")
}

// loop runs its body up to a number of times, as long as a condition holds. What the body
// returns is the condition, the values carried to the next turn, and elements of tensors
// that have an axis of turns.
func loop(c *call) ([]*Tensor, error) {
	most, going := math.Inf(1), scalar(onnx.Bool, 1)
	if t := c.input(0); t != nil && len(t.Data) == 1 {
		most = t.Data[0]
	}
	if t := c.input(1); t != nil {
		going = t
	}
	var carried []*Tensor
	for i := 2; i < len(c.in); i++ {
		if c.in[i] == nil {
			return nil, fmt.Errorf("input %d is missing", i)
		}
		carried = append(carried, c.in[i])
	}
	var scanned [][]*Tensor
	turn := 0
	for ; float64(turn) < most; turn++ {
		if len(going.Data) != 1 {
			return nil, fmt.Errorf("condition of shape %v; want a scalar", going.Dims)
		}
		if going.Data[0] == 0 {
			break
		}
		if c.steps--; c.steps < 0 {
			return nil, fmt.Errorf("more than %d turns", maxSteps)
		}
		results, err := c.body("body", append([]*Tensor{scalar(onnx.Int64, float64(turn)), going}, carried...)...)
		if err != nil {
			return nil, err
		}
		if len(results) < 1+len(carried) {
			return nil, fmt.Errorf("the body has %d outputs; want a condition and %d values", len(results), len(carried))
		}
		going, carried = results[0], results[1:1+len(carried)]
		scanned = append(scanned, results[1+len(carried):])
	}
	for i := len(carried); i < len(c.node.Outputs); i++ {
		if turn == 0 {
			return nil, c.unsupported("an output that collects the results of no turns")
		}
		t, err := stack(scanned, i-len(carried), 0, false)
		if err != nil {
			return nil, err
		}
		carried = append(carried[:i:i], t)
	}
	return carried, nil
}

// stack joins result k of each turn along a new axis, in reverse order if reverse is set.
func stack(turns [][]*Tensor, k, axis int, reverse bool) (*Tensor, error) {
	var list []*Tensor
	for i := range turns {
		results := turns[i]
		if reverse {
			results = turns[len(turns)-1-i]
		}
		if k >= len(results) {
			return nil, fmt.Errorf("the body has no output to collect as %d", k)
		}
		t := results[k]
		at, err := axisOf(axis, len(t.Dims)+1)
		if err != nil {
			return nil, err
		}
		dims := append(append(append([]int{}, t.Dims[:at]...), 1), t.Dims[at:]...)
		if t, err = t.reshape(dims...); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no turns")
	}
	at, err := axisOf(axis, len(list[0].Dims))
	if err != nil {
		return nil, err
	}
	return concatenate(list, at)
}

// at returns element i of an attribute's list, 0 if it is left out.
func (c *call) at(name string, i int) int {
	if list := c.ints(name); i < len(list) {
		return list[i]
	}
	return 0
}

// scan runs its body for each slice of some inputs. Version 8, whose inputs start with
// lengths and have a batch axis, is done a batch at a time.
func scan(c *call) ([]*Tensor, error) {
	if c.opset >= 9 {
		return c.scan(c.in, c.at)
	}
	if c.input(0) != nil {
		return nil, c.unsupported("sequence lengths")
	}
	var batches [][]*Tensor
	for b := 0; len(c.in) > 1 && c.in[1] != nil && len(c.in[1].Dims) > 0 && b < c.in[1].Dims[0]; b++ {
		var in []*Tensor
		for _, t := range c.in[1:] {
			if t == nil || len(t.Dims) == 0 || b >= t.Dims[0] {
				return nil, fmt.Errorf("an input has no batch %d", b)
			}
			part, err := t.cut(0, b, b+1)
			if err == nil {
				part, err = part.dropAxes([]int{0})
			}
			if err != nil {
				return nil, err
			}
			in = append(in, part)
		}
		results, err := c.scan(in, func(name string, i int) int {
			if name == "scan_input_directions" {
				name = "directions"
			}
			return c.at(name, i)
		})
		if err != nil {
			return nil, err
		}
		batches = append(batches, results)
	}
	var list []*Tensor
	for k := range c.node.Outputs {
		t, err := stack(batches, k, 0, false)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// scan runs the body on states and slices. The function at reads the attributes.
func (c *call) scan(in []*Tensor, at func(name string, i int) int) ([]*Tensor, error) {
	n := c.int("num_scan_inputs", 0)
	if n < 1 || n > len(in) {
		return nil, fmt.Errorf("num_scan_inputs is %d of %d inputs", n, len(in))
	}
	states, inputs, turns := in[:len(in)-n], in[len(in)-n:], -1
	axes := make([]int, n)
	for i, t := range inputs {
		if t == nil {
			return nil, fmt.Errorf("an input is missing")
		}
		var err error
		if axes[i], err = axisOf(at("scan_input_axes", i), len(t.Dims)); err != nil {
			return nil, err
		}
		if d := t.Dims[axes[i]]; turns >= 0 && d != turns {
			return nil, fmt.Errorf("inputs have %d and %d slices", turns, d)
		}
		turns = t.Dims[axes[i]]
	}
	var scanned [][]*Tensor
	for turn := range turns {
		args := append([]*Tensor{}, states...)
		for i, t := range inputs {
			k := turn
			if at("scan_input_directions", i) != 0 {
				k = turns - 1 - turn
			}
			part, err := t.cut(axes[i], k, k+1)
			if err == nil {
				part, err = part.dropAxes([]int{axes[i]})
			}
			if err != nil {
				return nil, err
			}
			args = append(args, part)
		}
		results, err := c.body("body", args...)
		if err != nil {
			return nil, err
		}
		if len(results) < len(states) {
			return nil, fmt.Errorf("the body has %d outputs; want at least %d", len(results), len(states))
		}
		states, scanned = results[:len(states)], append(scanned, results[len(states):])
	}
	list := append([]*Tensor{}, states...)
	for i := range len(c.node.Outputs) - len(states) {
		t, err := stack(scanned, i, at("scan_output_axes", i), at("scan_output_directions", i) != 0)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}
