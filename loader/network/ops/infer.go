package ops

import (
	"fmt"
	"slices"

	"anesim/loader/network/graph"
)

// Infer works out the shapes and types of a node's results, of which the first has the
// multiply-accumulates of the node.
func Infer(n *graph.Node) ([]graph.Result, error) {
	f := Of(n.Op).Infer
	if f == nil || n.Domain != "" && n.Domain != "ai.onnx" && n.Domain != "com.microsoft" {
		return nil, fmt.Errorf("no shape rule for operator %s", n.Operator())
	}
	r, err := f(n)
	if err != nil {
		return nil, err
	}
	for i, x := range r {
		if err := graph.Countable(x.Dims); err != nil {
			return nil, err
		}
		if x.Dims == nil {
			r[i].Dims = []int{} // one number; nil is a shape that is not known
		}
	}
	return r, nil
}

// of is one result of the first input's type.
func of(n *graph.Node, dims []int) []graph.Result { return counted(n, dims, 0) }

// counted is one result of the first input's type, which takes so many multiply-accumulates.
func counted(n *graph.Node, dims []int, macs int) []graph.Result {
	return []graph.Result{{Dims: dims, Type: n.Type(0), MACs: macs}}
}

func sameShape(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	return of(n, d), nil
}

func broadcastShape(elem graph.Type) Rule {
	return func(n *graph.Node) ([]graph.Result, error) {
		var shapes [][]int
		for i := range n.In {
			d, err := n.Dims(i)
			if err != nil {
				return nil, err
			}
			shapes = append(shapes, d)
		}
		if len(shapes) == 2 && len(shapes[1]) > 0 && placesSecond(n) {
			d, err := oldBroadcast(n, shapes[0], shapes[1])
			if err != nil {
				return nil, err
			}
			shapes[1] = d
		}
		d, err := graph.Broadcast(shapes...)
		if err != nil {
			return nil, err
		}
		r := of(n, d)
		if elem != 0 {
			r[0].Type = elem
		}
		return r, nil
	}
}

// placesSecond reports whether the second operand repeats as the operators before version 7
// say, which place it at an axis of the first.
func placesSecond(n *graph.Node) bool { return n.Int("broadcast", 0) != 0 || n.Opset < 7 }

// oldBroadcast is the second operand's shape as the operators before version 7 repeat
// it: its dimensions stand at an axis of the first's.
func oldBroadcast(n *graph.Node, a, b []int) ([]int, error) {
	if n.Int("broadcast", 0) == 0 {
		if !slices.Equal(a, b) {
			return nil, fmt.Errorf("%v with %v, and no broadcast attribute", a, b)
		}
		return b, nil
	}
	axis := n.Int("axis", len(a)-len(b))
	if axis < 0 {
		axis += len(a)
	}
	if axis < 0 || axis+len(b) > len(a) {
		return nil, fmt.Errorf("%v at axis %d of %v", b, axis, a)
	}
	return append(slices.Clone(b), slices.Repeat([]int{1}, len(a)-len(b)-axis)...), nil
}

func castShape(n *graph.Node) ([]graph.Result, error) {
	r, err := sameShape(n)
	if err == nil {
		r[0].Type = n.Type(1)
		if n.Op == "Cast" {
			r[0].Type = graph.Type(n.Int("to", 0))
		}
	}
	return r, err
}
