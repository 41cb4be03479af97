package settle

import (
	"fmt"

	"anesim/internal/network/graph"
)

// expandRotaryEmbedding rewrites a RotaryEmbedding of ONNX or of Microsoft, which rotates pairs of
// elements by angles that depend on their positions. Tables in the inputs hold the cosines and
// sines of the angles.
func expandRotaryEmbedding(e *expansion) error {
	x, places, cos, sin := e.inputTensor(0), e.inputTensor(1), e.inputTensor(2), e.inputTensor(3)
	if e.Domain != "com.microsoft" {
		cos, sin, places = e.inputTensor(1), e.inputTensor(2), e.inputTensor(3)
	}
	e.Accept("is_packed_batching", 0)
	if by := e.Float("scale", 1); by != 1 {
		return fmt.Errorf("scale %g is not supported", by)
	}
	d := x.Dims
	joined := len(d) == 3
	var err error
	if joined {
		n := e.Int("num_heads", 0)
		// Without num_heads, the tables say how large a head is: they have one angle for each pair.
		if t := cos.Dims; n == 0 && len(t) > 0 && t[len(t)-1] > 0 {
			n = d[2] / (2 * t[len(t)-1])
		}
		if x, err = e.splitHeads(x, n); err != nil {
			return err
		}
	}
	if len(x.Dims) != 4 {
		return fmt.Errorf("input has shape %v; want 3 or 4 axes", d)
	}
	name := e.outputTensor(0)
	if joined {
		name = nil
	}
	if x, err = e.rotatePairs(name, x, cos, sin, places, e.Int("interleaved", 0) != 0, e.Int("rotary_embedding_dim", 0)); err != nil {
		return err
	}
	if joined {
		err = e.joinHeads(e.outputTensor(0), x)
	}
	return err
}

// rotatePairs emits nodes that rotate pairs of elements of x, of shape
// [batch][heads][length][size], by the angles whose cosines and sines are in two tables. If
// neighbors is set, elements 2i and 2i+1 form a pair; otherwise elements i and i+part/2 do. places
// selects the rows of the tables; a single place is that of the first row, and the others follow
// it. Only the first part elements of the last axis are rotated; 0 means all.
func (e *expansion) rotatePairs(out, x, cos, sin, places *graph.Value, neighbors bool, part int) (*graph.Value, error) {
	d := x.Dims
	if part == 0 {
		part = d[3]
	}
	if part < 2 || part%2 != 0 || part > d[3] {
		return nil, fmt.Errorf("cannot rotate %d elements of shape %v; want an even number from 2 to %d", part, d, d[3])
	}
	var err error
	if places.Given() {
		if places, err = rowPositions(e, places, d[2]); err != nil {
			return nil, err
		}
	}
	var table [2]*graph.Value
	for i, name := range [...]*graph.Value{cos, sin} {
		if table[i], err = gatherAngles(e, name, places, d, part); err != nil {
			return nil, err
		}
	}
	var rest *graph.Value
	if part < d[3] {
		parts, err := e.emitMultiResultNode([]*graph.Value{nil, nil}, "", "Split", attributes{"axis": newIntAttr(3)}, x, e.newIntConstant(part, d[3]-part))
		if err != nil {
			return nil, err
		}
		x, rest = parts[0], parts[1]
	}
	pair, err := emitPairSlices(e, x, part, neighbors)
	if err != nil {
		return nil, err
	}
	first, err := emitSumOfProducts(e, pair[0], pair[1], table, "Sub")
	if err != nil {
		return nil, err
	}
	second, err := emitSumOfProducts(e, pair[1], pair[0], table, "Add")
	if err != nil {
		return nil, err
	}
	parts := []*graph.Value{first, second}
	// Rotated pairs have to alternate again, as in the input; halves are only put one after the other.
	if neighbors {
		y, err := interleaveElements(e, parts, d[0], d[1], d[2], part/2)
		if err != nil {
			return nil, err
		}
		parts = []*graph.Value{y}
	}
	if rest.Given() {
		parts = append(parts, rest)
	}
	if len(parts) == 1 {
		return e.emitNode(out, "Identity", nil, parts[0])
	}
	return e.emitNode(out, "Concat", attributes{"axis": newIntAttr(3)}, parts...)
}

// rowPositions returns the positions of length consecutive rows. If places is a single number, they
// are that number plus 0, 1, 2 and so on, which a new node adds; otherwise, they are places itself.
func rowPositions(e *expansion, places *graph.Value, length int) (*graph.Value, error) {
	if graph.Elements(places.Dims) != 1 || length <= 1 {
		return places, nil
	}
	row := make([]int, length)
	for k := range row {
		row[k] = k
	}
	return e.emitNode(nil, "Add", nil, places, e.newIntConstant(row...))
}

// gatherAngles emits nodes that select rows of a table of cosines or sines: the rows in places, or
// all rows if places is omitted. The result has one number for each pair of elements, and shape
// [batch or 1][1][dims[2]][part/2].
func gatherAngles(e *expansion, table, places *graph.Value, dims []int, part int) (*graph.Value, error) {
	length, each := dims[2], part/2
	if places.Given() {
		var err error
		if table, err = e.emitNode(nil, "Gather", nil, table, places); err != nil {
			return nil, err
		}
	}
	t := table.Dims
	if graph.Elements(t)%(length*part/2) != 0 {
		return nil, fmt.Errorf("angle shape %v is incompatible with input shape %v; want a multiple of %d angles", t, dims, length*part/2)
	}
	return e.emitReshape(nil, table, graph.Elements(t)/(length*part/2), 1, length, each)
}

// emitPairSlices emits slices of x that hold the first and the second elements of all pairs. The
// elements of a pair are neighbors in the last axis if neighbors is set, and part/2 apart
// otherwise.
func emitPairSlices(e *expansion, x *graph.Value, part int, neighbors bool) (pair [2]*graph.Value, err error) {
	for i := range pair {
		if neighbors {
			pair[i], err = e.emitNode(nil, "Slice", nil, x, e.newIntConstant(i), e.newIntConstant(part), e.newIntConstant(3), e.newIntConstant(2))
		} else {
			pair[i], err = e.emitNode(nil, "Slice", nil, x, e.newIntConstant(i*part/2), e.newIntConstant((i+1)*part/2), e.newIntConstant(3))
		}
		if err != nil {
			return pair, err
		}
	}
	return pair, nil
}

// emitSumOfProducts emits nodes that compute a*table[0] + b*table[1] if op is "Add", or a*table[0]
// - b*table[1] if op is "Sub".
func emitSumOfProducts(e *expansion, a, b *graph.Value, table [2]*graph.Value, op string) (*graph.Value, error) {
	l, err := e.emitNode(nil, "Mul", nil, a, table[0])
	if err != nil {
		return nil, err
	}
	r, err := e.emitNode(nil, "Mul", nil, b, table[1])
	if err != nil {
		return nil, err
	}
	return e.emitNode(nil, op, nil, l, r)
}

// interleaveElements emits nodes that alternate the elements of two tensors, parts, along the last
// axis. Each part has shape [batch][heads][length][each], and the last axis of the result has
// 2*each elements.
func interleaveElements(e *expansion, parts []*graph.Value, batch, heads, length, each int) (*graph.Value, error) {
	for i := range parts {
		var err error
		if parts[i], err = e.emitReshape(nil, parts[i], batch, heads, length, each, 1); err != nil {
			return nil, err
		}
	}
	y, err := e.emitNode(nil, "Concat", attributes{"axis": newIntAttr(4)}, parts...)
	if err != nil {
		return nil, err
	}
	return e.emitReshape(nil, y, batch, heads, length, 2*each)
}
