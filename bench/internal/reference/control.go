package reference

import (
	"fmt"
	"math"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// controlOperators has the operators whose attributes are graphs.
var controlOperators = map[string]operator{"If": {1, runIf}, "Loop": {0, runLoop}, "Scan": {0, runScan}}

// runBody runs the graph stored in the named attribute on the given inputs and returns the graph's
// outputs.
func (c *call) runBody(attribute string, inputs ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	a := c.attribute(attribute)
	if a == nil || a.Graph == nil {
		return nil, fmt.Errorf("attribute %q is missing or not a graph", attribute)
	}
	if len(a.Graph.Inputs) != len(inputs) {
		return nil, fmt.Errorf("graph %q has %d inputs; want %d", attribute, len(a.Graph.Inputs), len(inputs))
	}
	s := newScope(a.Graph, c.scope)
	for i, v := range a.Graph.Inputs {
		s.values[v.Name] = inputs[i]
	}
	return c.runGraph(a.Graph, s)
}

// runIf computes the operator If: it runs then_branch if the condition, which is a scalar, is not
// 0, and else_branch otherwise.
func runIf(c *call) ([]*tensor.Tensor, error) {
	if len(c.in[0].Data) != 1 {
		return nil, fmt.Errorf("condition has shape %v; want a scalar", c.in[0].Dims)
	}
	if c.in[0].Data[0] != 0 {
		return c.runBody("then_branch")
	}
	return c.runBody("else_branch")
}

// runLoop computes the operator Loop. It runs the body until the condition is 0 or the maximum
// number of iterations is reached. The body returns the next condition, the values for the next
// iteration, and values that the loop stacks along a new first axis.
func runLoop(c *call) ([]*tensor.Tensor, error) {
	maxIterations, condition := math.Inf(1), tensor.NewScalar(onnx.Bool, 1)
	if t := c.inputTensor(0); t != nil && len(t.Data) == 1 {
		maxIterations = t.Data[0]
	}
	if t := c.inputTensor(1); t != nil {
		condition = t
	}
	var carried []*tensor.Tensor
	for i := 2; i < len(c.in); i++ {
		if c.in[i] == nil {
			return nil, fmt.Errorf("missing input %d", i)
		}
		carried = append(carried, c.in[i])
	}
	var scanned [][]*tensor.Tensor
	iteration := 0
	for ; float64(iteration) < maxIterations; iteration++ {
		if len(condition.Data) != 1 {
			return nil, fmt.Errorf("condition has shape %v; want a scalar", condition.Dims)
		}
		if condition.Data[0] == 0 {
			break
		}
		// An empty body computes no node, so iterations are counted too.
		if c.steps--; c.steps < 0 {
			return nil, fmt.Errorf("model executes more than %d nodes and loop iterations", maxSteps)
		}
		results, err := c.runBody("body", append([]*tensor.Tensor{tensor.NewScalar(onnx.Int64, float64(iteration)), condition}, carried...)...)
		if err != nil {
			return nil, err
		}
		if len(results) < 1+len(carried) {
			return nil, fmt.Errorf("loop body has %d outputs; want at least %d for the condition and loop-carried values", len(results), 1+len(carried))
		}
		condition, carried = results[0], results[1:1+len(carried)]
		scanned = append(scanned, results[1+len(carried):])
	}
	for i := len(carried); i < len(c.node.Outputs); i++ {
		// The shape of such a result would have to be inferred, which an interpreter of values cannot.
		if iteration == 0 {
			return nil, c.newUnsupportedError("scan output of a loop with 0 iterations")
		}
		t, err := stackIterations(scanned, i-len(carried), 0, false)
		if err != nil {
			return nil, err
		}
		carried = append(carried[:i:i], t)
	}
	return carried, nil
}

// stackIterations stacks result k of every iteration along a new axis. If reverse is set, the last
// iteration comes first. It returns an error if there are no iterations, because the shape is then
// unknown.
func stackIterations(iterations [][]*tensor.Tensor, k, axis int, reverse bool) (*tensor.Tensor, error) {
	var list []*tensor.Tensor
	for i := range iterations {
		results := iterations[i]
		if reverse {
			results = iterations[len(iterations)-1-i]
		}
		if k >= len(results) {
			return nil, fmt.Errorf("iteration has %d outputs to stack; want at least %d", len(results), k+1)
		}
		t := results[k]
		at, err := tensor.ResolveAxis(axis, len(t.Dims)+1)
		if err != nil {
			return nil, err
		}
		dims := append(append(append([]int{}, t.Dims[:at]...), 1), t.Dims[at:]...)
		if t, err = t.Reshape(dims...); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("cannot infer the shape of stacked outputs from 0 iterations")
	}
	at, err := tensor.ResolveAxis(axis, len(list[0].Dims))
	if err != nil {
		return nil, err
	}
	return tensor.Concatenate(list, at)
}

// elementOrZero returns element i of list, or 0 if the list is shorter.
func elementOrZero(list []int, i int) int {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// runScan computes the operator Scan, which runs the body for each slice of some inputs. In version
// 8, the inputs start with sequence lengths and have a batch axis, so each element of the batch is
// scanned separately.
func runScan(c *call) ([]*tensor.Tensor, error) {
	if c.opset >= 9 {
		return c.scanSlices(c.in, c.intsAttribute)
	}
	if c.inputTensor(0) != nil {
		return nil, c.newUnsupportedError(`input "sequence_lens"`)
	}
	var batches [][]*tensor.Tensor
	for b := 0; len(c.in) > 1 && c.in[1] != nil && len(c.in[1].Dims) > 0 && b < c.in[1].Dims[0]; b++ {
		var in []*tensor.Tensor
		for i, t := range c.in[1:] {
			if t == nil || len(t.Dims) == 0 || b >= t.Dims[0] {
				return nil, fmt.Errorf("input %d has no batch element %d; want batch size %d", 1+i, b, c.in[1].Dims[0])
			}
			part, err := t.SliceRange(0, b, b+1)
			if err == nil {
				part, err = part.DropAxes([]int{0})
			}
			if err != nil {
				return nil, err
			}
			in = append(in, part)
		}
		results, err := c.scanSlices(in, func(name string) []int {
			// Version 8 has this one list under another name, and none of the others.
			if name == "scan_input_directions" {
				name = "directions"
			}
			return c.intsAttribute(name)
		})
		if err != nil {
			return nil, err
		}
		batches = append(batches, results)
	}
	var list []*tensor.Tensor
	for k := range c.node.Outputs {
		t, err := stackIterations(batches, k, 0, false)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// scanSlices runs the body of a Scan on the states and on each slice of the scanned inputs, which
// are the last elements of in. It reads list attributes with the function attribute.
func (c *call) scanSlices(in []*tensor.Tensor, attribute func(name string) []int) ([]*tensor.Tensor, error) {
	n := c.intAttribute("num_scan_inputs", 0)
	if n < 1 || n > len(in) {
		return nil, fmt.Errorf("attribute \"num_scan_inputs\" is %d; want 1 to %d", n, len(in))
	}
	states, inputs, length := in[:len(in)-n], in[len(in)-n:], -1
	axes := make([]int, n)
	for i, t := range inputs {
		if t == nil {
			return nil, fmt.Errorf("missing scan input %d", i)
		}
		var err error
		if axes[i], err = tensor.ResolveAxis(elementOrZero(attribute("scan_input_axes"), i), len(t.Dims)); err != nil {
			return nil, err
		}
		// ONNX has no rule for inputs of different length, so this is an error.
		if d := t.Dims[axes[i]]; length >= 0 && d != length {
			return nil, fmt.Errorf("scan inputs have %d and %d slices; want equal numbers", length, d)
		}
		length = t.Dims[axes[i]]
	}
	var scanned [][]*tensor.Tensor
	for step := range length {
		args := append([]*tensor.Tensor{}, states...)
		for i, t := range inputs {
			k := step
			if elementOrZero(attribute("scan_input_directions"), i) != 0 {
				k = length - 1 - step
			}
			part, err := t.SliceRange(axes[i], k, k+1)
			if err == nil {
				part, err = part.DropAxes([]int{axes[i]})
			}
			if err != nil {
				return nil, err
			}
			args = append(args, part)
		}
		results, err := c.runBody("body", args...)
		if err != nil {
			return nil, err
		}
		if len(results) < len(states) {
			return nil, fmt.Errorf("scan body has %d outputs; want at least %d, one per state variable", len(results), len(states))
		}
		states, scanned = results[:len(states)], append(scanned, results[len(states):])
	}
	list := append([]*tensor.Tensor{}, states...)
	for i := range len(c.node.Outputs) - len(states) {
		t, err := stackIterations(scanned, i, elementOrZero(attribute("scan_output_axes"), i), elementOrZero(attribute("scan_output_directions"), i) != 0)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}
