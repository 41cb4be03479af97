package ops

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
)

// Infer returns the shape and element type of each result of n. The shapes of its inputs must be
// known. The MACs of the first result are the multiply-accumulates of the whole node. Infer returns
// an error if the package has no rule for the operator, or if the input shapes are incompatible.
func Infer(n *graph.Node) ([]graph.Result, error) {
	f := Of(n.Op).Infer
	if why := Of(n.Op).Refuse; f == nil && why != "" && (n.Domain == "" || n.Domain == "ai.onnx") {
		return nil, errors.New(why)
	}
	if f == nil || !KnowsDomain(n) {
		return nil, NewUnknownError(n)
	}
	var r []graph.Result
	var err error
	n.InferShapes(func() { r, err = f(n) })
	if err != nil {
		return nil, err
	}
	for i, x := range r {
		if err := graph.CheckExtents(x.Dims); err != nil {
			return nil, err
		}
		if x.Dims == nil {
			r[i].Dims = []int{} // a single number; nil would mean an unknown shape
		}
	}
	return r, nil
}

// Training is the domain of the operators with which ONNX describes a step of training.
const Training = "ai.onnx.preview.training"

// KnowsDomain reports whether the package describes the operators of the node's domain, or of QONNX the
// two that round. Other domains may have operators of the same names that compute something else.
func KnowsDomain(n *graph.Node) bool {
	return n.Domain == "" || n.Domain == "ai.onnx" || n.Domain == "com.microsoft" || IsQONNX(n.Domain) && isQuant(n.Op) || n.Domain == Training
}

// NewUnknownError returns the error of a node whose operator the package does not describe.
func NewUnknownError(n *graph.Node) error {
	if n.Domain == classical {
		return fmt.Errorf("operator %s is not modelled: operators of %s (trees, scalers, labels) are work of the CPU; write it in operators of ONNX", n.Operator(), classical)
	}
	return fmt.Errorf("operator %s is not modelled", n.Operator())
}

// classical is the domain of ONNX's operators for models that are no networks.
const classical = "ai.onnx.ml"

// newSingleResult returns a list with a single result of shape dims, whose element type is that of
// the node's first input.
func newSingleResult(n *graph.Node, dims []int) []graph.Result {
	return newSingleResultWithMACs(n, dims, 0)
}

// newSingleResultWithMACs is like newSingleResult for a node that needs macs multiply-accumulates.
func newSingleResultWithMACs(n *graph.Node, dims []int, macs int) []graph.Result {
	return []graph.Result{{Dims: dims, Type: n.Type(0), MACs: macs}}
}

func inferSameShape(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	return newSingleResult(n, d), nil
}

func broadcastRule(elem graph.Type) Rule {
	return func(n *graph.Node) ([]graph.Result, error) {
		var shapes [][]int
		for i := range n.In {
			d, err := n.Dims(i)
			if err != nil {
				return nil, err
			}
			if i == 2 && len(n.In) > 2 && !isVariadic(n.Op) {
				break // the check for what was not read refuses it
			}
			shapes = append(shapes, d)
		}
		// Before version 7 of these operators, the second shape was aligned at an axis that the node
		// names.
		if len(shapes) == 2 && len(shapes[1]) > 0 && usesLegacyBroadcast(n) {
			d, err := legacyBroadcastShape(n, shapes[0], shapes[1])
			if err != nil {
				return nil, err
			}
			shapes[1] = d
		}
		d, err := graph.Broadcast(shapes...)
		if err != nil {
			return nil, err
		}
		r := newSingleResult(n, d)
		if elem != 0 {
			r[0].Type = elem
		}
		return r, nil
	}
}

// isVariadic reports whether an operator that broadcasts takes any number of inputs.
func isVariadic(op string) bool {
	switch op {
	case "Sum", "Mean", "Max", "Min", "Where":
		return true
	}
	return false
}

// usesLegacyBroadcast reports whether the second operand broadcasts by the rules before version 7,
// where an attribute names the axis of the first operand at which it is aligned.
func usesLegacyBroadcast(n *graph.Node) bool { return n.Int("broadcast", 0) != 0 || n.Opset < 7 }

// legacyBroadcastShape returns b, the shape of the second operand, with ones appended so that it
// broadcasts to a by the current rules as it did before version 7 of the operators. It returns an
// error if the shapes are incompatible.
func legacyBroadcastShape(n *graph.Node, a, b []int) ([]int, error) {
	if n.Int("broadcast", 0) == 0 {
		if !slices.Equal(a, b) {
			return nil, fmt.Errorf(`shapes %v and %v differ; want equal shapes or attribute "broadcast"`, a, b)
		}
		return b, nil
	}
	axis := n.Int("axis", len(a)-len(b))
	if axis < 0 {
		axis += len(a)
	}
	if axis < 0 || axis+len(b) > len(a) {
		return nil, fmt.Errorf("cannot broadcast shape %v to %v starting at axis %d", b, a, axis)
	}
	return append(slices.Clone(b), slices.Repeat([]int{1}, len(a)-len(b)-axis)...), nil
}

func inferCast(n *graph.Node) ([]graph.Result, error) {
	r, err := inferSameShape(n)
	n.Ignore("round_mode") // of a type of exponents, which no tensor has
	if err == nil {
		if n.Op == "Cast" {
			r[0].Type = graph.Type(n.Int("to", 0))
		} else {
			r[0].Type = n.Input(1).Type
		}
		if n.Ignore("saturate"); r[0].Type.IsSmallFloat() && n.Int("saturate", 1) != 1 {
			return nil, fmt.Errorf("saturate is 0 for a cast to %v; want 1", r[0].Type)
		}
	}
	return r, err
}

// CheckInference returns an error if the Dropout node n runs in training mode, or if its mode is
// not a known constant.
func CheckInference(n *graph.Node) error {
	n.Ignore("ratio", "seed")
	if n.Opset >= 12 {
		n.Input(1) // the ratio, which only training uses
	}
	if n.Opset < 7 {
		n.Ignore("is_test")
	}
	if !n.Given(2) {
		return nil
	}
	c := n.Const(2)
	if c == nil {
		return errors.New(`input "training_mode" is computed; want a constant`)
	}
	v, err := c.Scalar()
	if err != nil || v == 0 {
		return err
	}
	if ratio := n.Const(1); ratio != nil { // that nothing is dropped is certain in training, too
		if v, err := ratio.Scalar(); err == nil && v == 0 {
			return nil
		}
	}
	return errors.New("training_mode is not supported")
}
