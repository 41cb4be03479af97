package translate

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/network/graph"
	"anesim/loader/network/mil"
	"anesim/loader/network/onnx"
	"anesim/loader/network/weights"
)

// copyOf makes the operation's result a constant with a tensor's elements.
func (x *operation) copyOf(like, of *onnx.Tensor) {
	if of == nil || like == nil {
		x.absent()
		return
	}
	x.model.Constants[x.Outputs[0].Name], x.fixed[x.Outputs[0].Name] = of, of
}

// absent makes the result a constant whose values are not there.
func (x *operation) absent() {
	x.err = nil
	v := mil.Value{Type: x.Outputs[0].Type, File: "absent"}
	x.files["absent"] = nil
	if err := x.constant(x.Outputs[0].Name, v); err != nil {
		x.err = err
	}
}

// computed makes the result a constant of numbers that the file has packed.
func (x *operation) computed(v []float64, p *graph.Packing) { x.computedAs(0, v, p) }

// computedAs is computed of one result of several.
func (x *operation) computedAs(i int, v []float64, p *graph.Packing) {
	out := x.Outputs[i]
	if out.Type.Elements() != len(v) {
		x.err = fmt.Errorf("%d values for %v", len(v), out.Type.Dims)
		return
	}
	elem := elemTypes[out.Type.Elem]
	var raw []byte
	for _, f := range v {
		raw = elem.Append(raw, f)
	}
	t := onnx.NewTensor(out.Name, elem, out.Type.Dims, raw)
	x.model.Constants[out.Name], x.fixed[out.Name] = t, t
	if p != nil {
		x.packings[t] = p
	}
}

// packed is a constant that stands among the attributes or the inputs.
func (x *operation) packed(key string) []float64 {
	var t *onnx.Tensor
	if v, ok := x.Attributes[key]; ok {
		x.numbers++
		name := fmt.Sprintf("%s/value %d", x.name, x.numbers)
		if err := x.constant(name, v); err != nil {
			x.err = err
			return nil
		}
		t = x.fixed[name]
		delete(x.model.Constants, name)
	} else if x.has(key) {
		t = x.fixed[x.in(key)]
	}
	if t == nil || t.External() {
		return nil
	}
	f, err := t.Numbers()
	if err != nil {
		x.err = err
	}
	return f
}

// shapeOfArg is the shape of a constant argument.
func (x *operation) shapeOfArg(key string) []int64 {
	if v, ok := x.Attributes[key]; ok {
		return v.Type.Dims
	}
	return x.dims[x.in(key)]
}

// affine is (q - zero point)*scale along an axis.
func affine(x *operation) {
	q, scale, zero, axis := x.packed("quantized_data"), x.packed("scale"), x.packed("zero_point"), x.packed("axis")
	d := x.shapeOfArg("quantized_data")
	if q == nil || scale == nil {
		x.absent()
		return
	}
	at := 0
	if len(axis) == 1 {
		at = int(axis[0])
	}
	if at < 0 {
		at += len(d)
	}
	if at < 0 || at >= len(d) || len(scale) != 1 && int64(len(scale)) != d[at] || len(zero) > 1 && len(zero) != len(scale) && len(scale) != 1 {
		x.err = fmt.Errorf("%d scales and %d zero points along axis %d of %v", len(scale), len(zero), at, d)
		return
	}
	after := 1
	for _, e := range d[at+1:] {
		after *= int(e)
	}
	for i := range q {
		k := i / max(1, after) % int(d[at])
		z := 0.0
		if len(zero) > 0 {
			z = zero[min(k, len(zero)-1)]
		}
		q[i] = (q[i] - z) * scale[min(k, len(scale)-1)]
	}
	x.computed(q, graph.Scaled(scale))
}

// lookUp looks indices up in a palette: one, or one a group of an axis' elements.
func lookUp(x *operation) {
	index, lut := x.packed("indices"), x.packed("lut")
	if index == nil || lut == nil {
		x.absent()
		return
	}
	shape, lutShape := x.Outputs[0].Type.Dims, x.shapeOfArg("lut")
	n := x.Outputs[0].Type.Elements()
	if n < 0 || n > maxCoefficientsOf(x) {
		x.err = fmt.Errorf("shape %v", shape)
		return
	}
	if x.Attributes["shape"].Type.Elem != "" || x.has("shape") {
		// The first form: indices packed to bytes, one palette.
		bits := 0
		for 1<<bits < len(lut) {
			bits++
		}
		if len(index) != n {
			packed := make([]byte, len(index))
			for i, v := range index {
				packed[i] = byte(v)
			}
			if len(packed) != (n*bits+7)/8 {
				x.err = fmt.Errorf("%d bytes of indices of %d bits for %v", len(packed), bits, shape)
				return
			}
			index = index[:0]
			for _, b := range mil.Unpack(packed, bits, n) {
				index = append(index, float64(b))
			}
		}
		lutShape = nil
	}
	if len(index) != n {
		x.err = fmt.Errorf("%d indices for %v", len(index), shape)
		return
	}
	if out := x.lookedUp(index, lut, lutShape, shape, func(i int) int { return i }); out != nil {
		x.computed(out, &graph.Packing{Form: graph.Palette})
	}
}

// lookedUp is the values that indices stand for, nil with an error. Element i of the indices
// is one of a tensor of a shape; a table of groups has as many palettes along each axis, its
// own shape being groups an axis, entries, 1.
func (x *operation) lookedUp(index, lut []float64, lutShape, shape []int64, place func(i int) int) []float64 {
	groups, entries := slices.Repeat([]int64{1}, len(shape)), len(lut)
	if k := len(lutShape) - 2; k == len(shape) {
		if lutShape[k+1] != 1 {
			x.err = errors.New("a palette of vectors")
			return nil
		}
		copy(groups, lutShape[:k])
		entries = int(lutShape[k])
	}
	if !dividesInto(shape, groups) {
		x.err = fmt.Errorf("palettes %v for %v", lutShape, shape)
		return nil
	}
	out := make([]float64, len(index))
	for i := range out {
		at := blockOf(shape, groups, place(i))*entries + int(index[i])
		if int(index[i]) >= entries || at >= len(lut) {
			x.err = fmt.Errorf("index %g of a palette of %d", index[i], entries)
			return nil
		}
		out[i] = lut[at]
	}
	return out
}

// dividesInto reports whether each axis of a shape has so many blocks of one size.
func dividesInto(shape, blocks []int64) bool {
	if len(shape) != len(blocks) {
		return false
	}
	for k := range shape {
		if blocks[k] < 1 || shape[k]%blocks[k] != 0 {
			return false
		}
	}
	return true
}

// blockOf is the block that element i of a tensor lies in, the last axis counting fastest.
func blockOf(shape, blocks []int64, i int) int {
	step := 1
	for _, d := range shape {
		step *= int(d)
	}
	block := 0
	for k, d := range shape {
		step /= int(d)
		block = block*int(blocks[k]) + i/step/int(d/blocks[k])
		i %= step
	}
	return block
}

// lUTSparse looks up the indices of the elements that a mask has; the results are the mask
// and the values, which sparse puts together.
func lUTSparse(x *operation) {
	x.sparsely("indices_mask", "indices_nonzero_data", "lut", func(index, lut []float64, lutShape, shape []int64, places []int) ([]float64, *graph.Packing) {
		return x.lookedUp(index, lut, lutShape, shape, func(i int) int { return places[i] }), &graph.Packing{Form: graph.Palette}
	})
}

// blockwiseSparse is blockwise of the elements that a mask has.
func blockwiseSparse(x *operation) {
	x.sparsely("data_mask", "nonzero_data", "scale", func(q, scale []float64, blocks, shape []int64, places []int) ([]float64, *graph.Packing) {
		return x.shifted(q, scale, blocks, shape, func(i int) int { return places[i] })
	})
}

// sparsely makes the mask and the values of a packed constant of which only the elements in a
// mask are there.
func (x *operation) sparsely(maskKey, dataKey, tableKey string, values func(data, table []float64, tableShape, shape []int64, places []int) ([]float64, *graph.Packing)) {
	mask, data, table := x.packed(maskKey), x.packed(dataKey), x.packed(tableKey)
	shape := x.shapeOfArg(maskKey)
	if len(x.Outputs) != 2 || mask == nil || data == nil || table == nil {
		x.err = errors.New("a mask and the values in it are wanted, in this file")
		return
	}
	var places []int
	for i, m := range mask {
		if m != 0 {
			places = append(places, i)
		}
	}
	if len(places) != len(data) {
		x.err = fmt.Errorf("%d values for a mask of %d", len(data), len(places))
		return
	}
	if v, p := values(data, table, x.shapeOfArg(tableKey), shape, places); v != nil {
		x.computedAs(0, mask, nil)
		x.computedAs(1, v, p)
	}
}

// maxCoefficientsOf bounds what a few packed bytes may become.
func maxCoefficientsOf(x *operation) int {
	return int(min(weights.MaxCoefficients, 64*x.bytes+1<<20))
}

// sparse puts values where a mask has bits.
func sparse(x *operation) {
	values, mask := x.packed("nonzero_data"), x.packed("mask")
	if values == nil || mask == nil {
		x.absent()
		return
	}
	n := x.Outputs[0].Type.Elements()
	if n < 0 || n > maxCoefficientsOf(x) {
		x.err = fmt.Errorf("shape %v", x.Outputs[0].Type.Dims)
		return
	}
	bits := make([]byte, len(mask))
	for i, v := range mask {
		bits[i] = byte(v)
	}
	if len(bits) != n {
		if len(bits) != (n+7)/8 {
			x.err = fmt.Errorf("a mask of %d bytes for %d elements", len(bits), n)
			return
		}
		bits = mil.Unpack(bits, 1, n)
	}
	out, at := make([]float64, n), 0
	for i, b := range bits {
		if b == 0 {
			continue
		}
		if at >= len(values) {
			x.err = fmt.Errorf("%d values for more bits", len(values))
			return
		}
		out[i] = values[at]
		at++
	}
	p := &graph.Packing{Form: graph.Sparse}
	if of := x.packings[x.fixed[x.in("nonzero_data")]]; of != nil {
		p = of
	}
	x.computed(out, p)
}

// blockwise is (data - offset)*scale, blocks of an axis sharing a scale.
func blockwise(x *operation) {
	q, scale := x.packed("data"), x.packed("scale")
	if q == nil || scale == nil {
		x.absent()
		return
	}
	if v, p := x.shifted(q, scale, x.shapeOfArg("scale"), x.shapeOfArg("data"), func(i int) int { return i }); v != nil {
		x.computed(v, p)
	}
}

// shifted is (q - offset)*scale of elements of a tensor of a shape, nil with an error.
func (x *operation) shifted(q, scale []float64, blocks, shape []int64, place func(i int) int) ([]float64, *graph.Packing) {
	offset := x.packed("offset")
	if x.err != nil {
		return nil, nil
	}
	if !dividesInto(shape, blocks) || offset != nil && len(offset) != len(scale) {
		x.err = fmt.Errorf("scales %v for %v", blocks, shape)
		return nil, nil
	}
	for i := range q {
		g := blockOf(shape, blocks, place(i))
		z := 0.0
		if offset != nil {
			z = offset[g]
		}
		q[i] = (q[i] - z) * scale[g]
	}
	return q, graph.Scaled(scale)
}
