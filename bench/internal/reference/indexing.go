package reference

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// indexOperators has the operators whose inputs or results are indices.
var indexOperators = map[string]operator{
	"Gather": {2, wrapSingleResult(computeGather)}, "GatherElements": {2, wrapSingleResult(computeGatherElements)}, "GatherND": {2, wrapSingleResult(computeGatherND)},
	"ScatterElements": {3, wrapSingleResult(computeScatterElements)}, "Scatter": {3, wrapSingleResult(computeScatterElements)}, "ScatterND": {3, wrapSingleResult(computeScatterND)},
	"OneHot": {3, wrapSingleResult(computeOneHot)}, "TopK": {1, computeTopK}, "NonZero": {1, wrapSingleResult(computeNonZero)}, "Compress": {2, wrapSingleResult(computeCompress)},
	"Unique": {1, computeUnique}, "NonMaxSuppression": {2, wrapSingleResult(computeNonMaxSuppression)},
}

// resolveIndices returns the values of a tensor of indices into an axis of n elements. It counts
// negative indices from the end, and returns an error if an index is out of range.
func resolveIndices(indices *tensor.Tensor, n int) ([]int, error) {
	list := indices.ToInts()
	for i, k := range list {
		var err error
		if list[i], err = resolveIndex(k, n); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// resolveIndex returns the position of index k in an axis of n elements. It counts a negative index
// from the end, and returns an error unless -n <= k < n.
func resolveIndex(k, n int) (int, error) {
	if k < -n || k >= n {
		return 0, fmt.Errorf("index %d is out of range for an axis of %d elements", k, n)
	}
	if k < 0 {
		k += n
	}
	return k, nil
}

// computeGather computes the operator Gather, which selects slices along an axis. In the shape of
// the result, the shape of the indices replaces the axis.
func computeGather(c *call) (*tensor.Tensor, error) {
	x, indices := c.in[0], c.in[1]
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", 0), len(x.Dims))
	if err != nil {
		return nil, err
	}
	list, err := resolveIndices(indices, x.Dims[axis])
	if err != nil {
		return nil, err
	}
	out, err := tensor.New(x.Type, slices.Concat(x.Dims[:axis], indices.Dims, x.Dims[axis+1:])...)
	if err != nil {
		return nil, err
	}
	inner := tensor.CountValidElements(x.Dims[axis+1:])
	to := out.Data
	for before := range tensor.CountValidElements(x.Dims[:axis]) {
		for _, k := range list {
			copy(to[:inner], x.Data[(before*x.Dims[axis]+k)*inner:])
			to = to[inner:]
		}
	}
	return out, nil
}

// readElementOffsets returns the offsets of the elements of the first input that the second input
// selects along the attribute axis. See elementOffsets.
func (c *call) readElementOffsets() ([]int, error) {
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", 0), len(c.in[0].Dims))
	if err != nil {
		return nil, err
	}
	return elementOffsets(c.in[0], c.in[1], axis)
}

// elementOffsets returns the offset in x of the element that each element of indices selects. The
// selected element has the same position, except that its position along axis is the value in
// indices. Both tensors must have the same rank.
func elementOffsets(x, indices *tensor.Tensor, axis int) ([]int, error) {
	if len(indices.Dims) != len(x.Dims) {
		return nil, fmt.Errorf("indices have shape %v and data has shape %v; want equal ranks", indices.Dims, x.Dims)
	}
	for i, d := range indices.Dims {
		if i != axis && d > x.Dims[i] {
			return nil, fmt.Errorf("index shape %v exceeds data shape %v on axis %d", indices.Dims, x.Dims, i)
		}
	}
	list, err := resolveIndices(indices, x.Dims[axis])
	if err != nil {
		return nil, err
	}
	steps, index := tensor.RowMajorStrides(x.Dims), make([]int, len(x.Dims))
	for i, k := range list {
		list[i] = k * steps[axis]
		for a, at := range index {
			if a != axis {
				list[i] += at * steps[a]
			}
		}
		tensor.AdvanceIndex(index, indices.Dims)
	}
	return list, nil
}

func computeGatherElements(c *call) (*tensor.Tensor, error) {
	x, indices := c.in[0], c.in[1]
	list, err := c.readElementOffsets()
	if err != nil {
		return nil, err
	}
	out, err := tensor.New(x.Type, indices.Dims...)
	if err != nil {
		return nil, err
	}
	for i, at := range list {
		out.Data[i] = x.Data[at]
	}
	return out, nil
}

func computeScatterElements(c *call) (*tensor.Tensor, error) {
	x, indices, updates := c.in[0], c.in[1], c.in[2]
	list, err := c.readElementOffsets()
	if err != nil {
		return nil, err
	}
	if !slices.Equal(indices.Dims, updates.Dims) {
		return nil, fmt.Errorf("indices have shape %v and updates have shape %v; want equal shapes", indices.Dims, updates.Dims)
	}
	return scatterUpdates(x, list, updates.Data, 1, c.textAttribute("reduction", "none"))
}

// scatterUpdates returns a copy of x into which the updates are combined. The updates consist of
// runs of the given length; run i applies to the elements of x from offsets[i] on. The reduction is
// that of ONNX's scatter operators: "none" and "" replace elements of x; "add", "mul", "max" and
// "min" combine them with the updates.
func scatterUpdates(x *tensor.Tensor, offsets []int, updates []float64, length int, reduction string) (*tensor.Tensor, error) {
	var f func(old, update float64) float64
	switch reduction {
	case "none", "":
		f = func(_, update float64) float64 { return update }
	case "add":
		f = func(old, update float64) float64 { return old + update }
	case "mul":
		f = func(old, update float64) float64 { return old * update }
	case "max":
		f = func(old, update float64) float64 { return max(old, update) }
	case "min":
		f = func(old, update float64) float64 { return min(old, update) }
	default:
		return nil, fmt.Errorf("unknown reduction %q; want none, add, mul, max or min", reduction)
	}
	out := x.MapElements(func(v float64) float64 { return v })
	for i, at := range offsets {
		for k := range length {
			out.Data[at+k] = f(out.Data[at+k], updates[i*length+k])
		}
	}
	return out, nil
}

// sliceOffsets returns the offset in x of each slice that indices selects, and the number of
// elements in a slice. Each row along the last axis of indices is an index into x. The first batch
// axes of x and indices correspond to each other.
func sliceOffsets(x, indices *tensor.Tensor, batch int) (list []int, length int, err error) {
	rank := len(indices.Dims)
	if rank == 0 || batch < 0 || batch >= rank || batch > len(x.Dims) || !slices.Equal(x.Dims[:batch], indices.Dims[:batch]) || indices.Dims[rank-1] > len(x.Dims)-batch {
		return nil, 0, fmt.Errorf("index shape %v is incompatible with data shape %v for %d batch axes", indices.Dims, x.Dims, batch)
	}
	n := indices.Dims[rank-1]
	steps := tensor.RowMajorStrides(x.Dims)
	tuples := tensor.CountValidElements(indices.Dims[:rank-1])
	batches := tensor.CountValidElements(x.Dims[:batch])
	all := indices.ToInts()
	for i := range tuples {
		at := i / (tuples / batches) * tensor.CountValidElements(x.Dims[batch:])
		for k, v := range all[i*n : (i+1)*n] {
			if v, err = resolveIndex(v, x.Dims[batch+k]); err != nil {
				return nil, 0, err
			}
			at += v * steps[batch+k]
		}
		list = append(list, at)
	}
	return list, tensor.CountValidElements(x.Dims[batch+n:]), nil
}

func computeGatherND(c *call) (*tensor.Tensor, error) {
	x, indices, batch := c.in[0], c.in[1], c.intAttribute("batch_dims", 0)
	list, length, err := sliceOffsets(x, indices, batch)
	if err != nil {
		return nil, err
	}
	last := len(indices.Dims) - 1
	out, err := tensor.New(x.Type, slices.Concat(indices.Dims[:last], x.Dims[batch+indices.Dims[last]:])...)
	if err != nil {
		return nil, err
	}
	for i, at := range list {
		copy(out.Data[i*length:(i+1)*length], x.Data[at:])
	}
	return out, nil
}

func computeScatterND(c *call) (*tensor.Tensor, error) {
	x, indices, updates := c.in[0], c.in[1], c.in[2]
	list, length, err := sliceOffsets(x, indices, 0)
	if err != nil {
		return nil, err
	}
	if len(updates.Data) != len(list)*length {
		return nil, fmt.Errorf("updates have shape %v; want %d elements for each of %d index tuples", updates.Dims, length, len(list))
	}
	return scatterUpdates(x, list, updates.Data, length, c.textAttribute("reduction", "none"))
}

// computeOneHot computes OneHot: it adds an axis to the indices. Along that axis, the element at
// the index has the second of two given values, and all others have the first.
func computeOneHot(c *call) (*tensor.Tensor, error) {
	indices, values := c.in[0], c.in[2]
	if len(c.in[1].Data) != 1 {
		return nil, fmt.Errorf("depth has shape %v; want a scalar", c.in[1].Dims)
	}
	if len(values.Data) != 2 {
		return nil, fmt.Errorf("values have shape %v; want two elements", values.Dims)
	}
	depth := c.in[1].ToInts()[0]
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", -1), len(indices.Dims)+1)
	if err != nil {
		return nil, err
	}
	out, err := tensor.New(values.Type, slices.Insert(slices.Clone(indices.Dims), axis, depth)...)
	if err != nil {
		return nil, err
	}
	inner := tensor.CountValidElements(indices.Dims[axis:])
	list := indices.ToInts()
	for i := range out.Data {
		hot := list[i/inner/depth*inner+i%inner]
		// Indices out of range, also after this, select no element.
		if hot < 0 {
			hot += depth
		}
		out.Data[i] = values.Data[0]
		if hot == i/inner%depth {
			out.Data[i] = values.Data[1]
		}
	}
	return out, nil
}

// computeTopK computes TopK: it returns the k largest or smallest elements along an axis, and their
// indices. Of equal elements, the one with the lower index comes first.
func computeTopK(c *call) ([]*tensor.Tensor, error) {
	x := c.in[0]
	list, _ := c.intsFromInputOrAttribute(1, "k")
	if a := c.attribute("k"); a != nil && len(list) == 0 {
		list = []int{int(a.Int)}
	}
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", -1), len(x.Dims))
	if err != nil {
		return nil, err
	}
	if len(list) != 1 || list[0] < 0 || list[0] > x.Dims[axis] {
		return nil, fmt.Errorf("value of k is %v; want one integer from 0 to %d", list, x.Dims[axis])
	}
	largest, k := c.intAttribute("largest", 1) != 0, list[0]
	indices, err := x.MapLines(axis, func(line []float64) {
		order := make([]int, len(line))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			// Operands are exchanged instead of the result, so that the sort stays stable for equal
			// elements.
			if largest {
				a, b = b, a
			}
			return cmp.Compare(line[a], line[b])
		})
		for i, at := range order {
			line[i] = float64(at)
		}
	})
	if err != nil {
		return nil, err
	}
	if indices, err = indices.SliceRange(axis, 0, k); err != nil {
		return nil, err
	}
	at, err := elementOffsets(x, indices, axis)
	if err != nil {
		return nil, err
	}
	values := indices.ZerosLike()
	for i, from := range at {
		values.Data[i] = x.Data[from]
	}
	return []*tensor.Tensor{values, indices.WithType(onnx.Int64)}, nil
}

// computeNonZero computes NonZero: it returns a matrix in which each column is the index of an
// element that is not 0.
func computeNonZero(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	var columns [][]int
	index := make([]int, len(x.Dims))
	for _, v := range x.Data {
		if v != 0 {
			columns = append(columns, slices.Clone(index))
		}
		tensor.AdvanceIndex(index, x.Dims)
	}
	out, err := tensor.New(onnx.Int64, len(x.Dims), len(columns))
	if err != nil {
		return nil, err
	}
	for i, column := range columns {
		for k, v := range column {
			out.Data[k*len(columns)+i] = float64(v)
		}
	}
	return out, nil
}

// readAxisOrFlatten returns the first input and the attribute axis. If the attribute is left out,
// it returns the input flattened to a vector, and axis 0.
func (c *call) readAxisOrFlatten() (x *tensor.Tensor, axis int, err error) {
	x = c.in[0]
	if c.attribute("axis") == nil {
		x, err = x.Reshape(len(x.Data))
		return x, 0, err
	}
	axis, err = tensor.ResolveAxis(c.intAttribute("axis", 0), len(x.Dims))
	return x, axis, err
}

// computeCompress computes Compress: it keeps the slices along an axis for which the condition is
// not 0. Without the attribute axis it flattens the tensor first.
func computeCompress(c *call) (*tensor.Tensor, error) {
	x, axis, err := c.readAxisOrFlatten()
	if err != nil {
		return nil, err
	}
	var kept []*tensor.Tensor
	for i, condition := range c.in[1].Data {
		if condition == 0 {
			continue
		}
		if i >= x.Dims[axis] {
			return nil, fmt.Errorf("condition selects index %d, but axis %d has %d elements", i, axis, x.Dims[axis])
		}
		part, err := x.SliceRange(axis, i, i+1)
		if err != nil {
			return nil, err
		}
		kept = append(kept, part)
	}
	if kept == nil {
		return x.SliceRange(axis, 0, 0)
	}
	return tensor.Concatenate(kept, axis)
}

// computeUnique computes Unique: it returns the distinct slices along an axis or, without the
// attribute axis, the distinct elements. The other results are the index of the first occurrence of
// each, its place in the result for each input slice, and the number of occurrences.
func computeUnique(c *call) ([]*tensor.Tensor, error) {
	x, axis, err := c.readAxisOrFlatten()
	if err != nil {
		return nil, err
	}
	type group struct {
		values *tensor.Tensor
		first  int
		all    []int
	}
	var groups []*group
	for i := range x.Dims[axis] {
		part, err := x.SliceRange(axis, i, i+1)
		if err != nil {
			return nil, err
		}
		// A search of the list, not a map: a slice is no key, and NaN must differ from itself.
		k := slices.IndexFunc(groups, func(g *group) bool { return slices.Equal(g.values.Data, part.Data) })
		if k < 0 {
			k, groups = len(groups), append(groups, &group{values: part, first: i})
		}
		groups[k].all = append(groups[k].all, i)
	}
	if c.intAttribute("sorted", 1) != 0 {
		slices.SortStableFunc(groups, func(a, b *group) int { return slices.Compare(a.values.Data, b.values.Data) })
	}
	var parts []*tensor.Tensor
	firsts, counts, inverse := []int{}, []int{}, make([]int, x.Dims[axis])
	for k, g := range groups {
		parts, firsts, counts = append(parts, g.values), append(firsts, g.first), append(counts, len(g.all))
		for _, i := range g.all {
			inverse[i] = k
		}
	}
	y := x
	if parts != nil {
		if y, err = tensor.Concatenate(parts, axis); err != nil {
			return nil, err
		}
	}
	return []*tensor.Tensor{y, tensor.NewVector(firsts...), tensor.NewVector(inverse...), tensor.NewVector(counts...)}, nil
}
