package translate

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/internal/network/mil"
	"anesim/internal/network/onnx"
	"anesim/loader/network/weights"
)

// setResultTensor makes the operation's result the constant tensor t. If t is nil, the values of
// the result are absent.
func (x *operation) setResultTensor(t *onnx.Tensor) {
	if t == nil {
		x.fillAbsentResult()
		return
	}
	x.model.Constants[x.Outputs[0].Name], x.constants[x.Outputs[0].Name] = t, t
}

// fillAbsentResult makes the operation's result a constant of the declared shape without values,
// because the file that holds those of its operands does not exist. If no file is missing, an operand
// is not a constant: fillAbsentResult records an error, and changes nothing.
func (x *operation) fillAbsentResult() {
	if x.missing == "" {
		if x.err == nil {
			x.err = fmt.Errorf("an argument is computed or missing; want constants")
		}
		return
	}
	x.err = x.addConstant(x.Outputs[0].Name, mil.Value{Type: x.Outputs[0].Type, File: x.missing})
}

// setConstantResult makes the operation's first result a constant with the elements v. p says how
// the file stores them, and is nil for elements that it does not pack.
func (x *operation) setConstantResult(v []float64, p *graph.Packing) { x.setConstantResultAt(0, v, p) }

// setConstantResultAt is like setConstantResult, but sets result i of an operation with several
// results.
func (x *operation) setConstantResultAt(i int, v []float64, p *graph.Packing) {
	out := x.Outputs[i]
	if out.Type.Elements() != len(v) {
		x.err = fmt.Errorf("unpacked %d values, but result shape %v has %d elements", len(v), out.Type.Dims, out.Type.Elements())
		return
	}
	elem := elemTypes[out.Type.Elem]
	var raw []byte
	for _, f := range v {
		raw = elem.Append(raw, f)
	}
	t := onnx.NewTensor(out.Name, elem, out.Type.Dims, raw)
	x.model.Constants[out.Name], x.constants[out.Name] = t, t
	if p != nil {
		x.packings[t] = p
	}
}

// readPackedValues returns the elements of the constant attribute or argument with the given key.
// It returns nil if the operation lacks it, or if the elements are in a file that does not exist, which
// it then records in x.missing.
func (x *operation) readPackedValues(key string) []float64 {
	var t *onnx.Tensor
	if v, ok := x.attributeValue(key); ok {
		x.numbers++
		name := fmt.Sprintf("%s/value %d", x.name, x.numbers)
		if err := x.addConstant(name, v); err != nil {
			x.err = err
			return nil
		}
		t = x.constants[name]
		delete(x.model.Constants, name)
	} else if x.hasArgument(key) {
		t = x.constants[x.inputName(key)]
	}
	switch {
	case t == nil:
		if x.hasArgument(key) {
			x.err = cmp.Or(x.err, fmt.Errorf("argument %q is computed; want a constant", key))
		}
		return nil
	case t.External():
		x.recordMissingFile(t)
		return nil
	}
	f, err := t.Numbers()
	if err != nil {
		x.err = err
	}
	return f
}

// checkStatedShape records an error if the attribute or argument shape, which older forms of packed
// weights have, is not the declared shape of the result.
func (x *operation) checkStatedShape() {
	stated := x.readPackedValues("shape")
	same := func(v float64, d int64) bool { return v == float64(d) }
	if d := x.Outputs[0].Type.Dims; stated != nil && !slices.EqualFunc(stated, d, same) {
		x.err = cmp.Or(x.err, fmt.Errorf("shape is %v, but the result has shape %v", stated, d))
	}
}

// argumentShape returns the shape of the attribute or argument with the given key.
func (x *operation) argumentShape(key string) []int64 {
	if v, ok := x.attributeValue(key); ok {
		return v.Type.Dims
	}
	return x.dims[x.inputName(key)]
}

// unpackAffineWeights unpacks quantized weights q and makes (q - zero point)*scale the result of
// the operation. There is one scale for all weights, or one for each position along an axis.
func unpackAffineWeights(x *operation) {
	q, scale, zero, axis := x.readPackedValues("quantized_data"), x.readPackedValues("scale"), x.readPackedValues("zero_point"), x.readPackedValues("axis")
	d := x.argumentShape("quantized_data")
	// Files of weights may be missing: shapes suffice to compile and to time.
	if q == nil || scale == nil {
		x.fillAbsentResult()
		return
	}
	at := 0
	if len(axis) == 1 {
		at = int(axis[0])
	}
	if at < 0 {
		at += len(d)
	}
	if at < 0 || at >= len(d) {
		x.err = fmt.Errorf("axis %d is out of range for shape %v", at, d)
		return
	}
	if len(scale) != 1 && int64(len(scale)) != d[at] || len(zero) > 1 && len(zero) != len(scale) && len(scale) != 1 {
		x.err = fmt.Errorf("%d scales and %d zero points for axis %d of shape %v; want 1 or %d of each", len(scale), len(zero), at, d, d[at])
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
			// One scale or zero point serves the whole axis.
			z = zero[min(k, len(zero)-1)]
		}
		q[i] = (q[i] - z) * scale[min(k, len(scale)-1)]
	}
	x.setConstantResult(q, graph.Scaled(scale))
}

// unpackPalette replaces indices by the palette entries that they select, and makes these the
// result of the operation. All indices share one palette, or each block of the tensor has its own.
func unpackPalette(x *operation) {
	index, lut := x.readPackedValues("indices"), x.readPackedValues("lut")
	if index == nil || lut == nil {
		x.fillAbsentResult()
		return
	}
	shape, lutShape := x.Outputs[0].Type.Dims, x.argumentShape("lut")
	n := x.Outputs[0].Type.Elements()
	if x.err = checkUnpackedSize(x); x.err != nil {
		return
	}
	if stated, _ := x.attributeValue("shape"); stated.Type.Elem != "" || len(x.arguments("shape")) > 0 {
		// The older form has indices packed into bytes, and one palette.
		bits := 0
		// The number of bits is not stated: it follows from the size of the palette.
		for 1<<bits < len(lut) {
			bits++
		}
		if len(index) != n {
			packed := make([]byte, len(index))
			for i, v := range index {
				packed[i] = byte(v)
			}
			if len(packed) != (n*bits+7)/8 {
				x.err = fmt.Errorf("%d bytes of %d-bit indices for shape %v; want %d bytes", len(packed), bits, shape, (n*bits+7)/8)
				return
			}
			index = index[:0]
			for _, b := range mil.Unpack(packed, bits, n) {
				index = append(index, float64(b))
			}
		}
		lutShape = nil
		x.checkStatedShape()
	}
	axis := x.readPackedValues("vector_axis")
	if k := len(lutShape); k > 0 && lutShape[k-1] > 1 {
		if out := x.lookUpVectors(index, lut, lutShape, axis); out != nil {
			x.setConstantResult(out, nil)
		}
		return
	}
	if len(index) != n {
		x.err = fmt.Errorf("%d indices for shape %v; want %d", len(index), shape, n)
		return
	}
	if out := x.lookUpPalette(index, lut, lutShape, shape, func(i int) int { return i }); out != nil {
		x.setConstantResult(out, &graph.Packing{Form: graph.Palette})
	}
}

// lookUpPalette returns the palette entry for each element of index, or nil after an error. lut
// holds the palettes. With two more axes than shape, lutShape gives the number of blocks along each
// axis, each of which has its own palette, the number of entries, and 1; otherwise there is one
// palette. place returns the position of element i of index in a tensor of the given shape.
func (x *operation) lookUpPalette(index, lut []float64, lutShape, shape []int64, place func(i int) int) []float64 {
	groups, entries := slices.Repeat([]int64{1}, len(shape)), len(lut)
	if k := len(lutShape) - 2; k == len(shape) {
		if lutShape[k+1] != 1 {
			x.err = fmt.Errorf("palette entries have %d elements each; want 1", lutShape[k+1])
			return nil
		}
		copy(groups, lutShape[:k])
		entries = int(lutShape[k])
	}
	if !dividesEvenly(shape, groups) {
		x.err = fmt.Errorf("palette shape %v does not evenly divide weight shape %v", lutShape, shape)
		return nil
	}
	out := make([]float64, len(index))
	for i := range out {
		at := blockIndex(shape, groups, place(i))*entries + int(index[i])
		if int(index[i]) >= entries || at >= len(lut) {
			x.err = fmt.Errorf("index %g is out of range for a palette of %d entries", index[i], entries)
			return nil
		}
		out[i] = lut[at]
	}
	return out
}

// lookUpVectors returns the elements of a palette whose entries are vectors, or nil after an error. An
// index selects a vector along the given axis, which is that many times as long in the result. lutShape is
// the number of blocks along each axis, of entries, and of elements of an entry.
func (x *operation) lookUpVectors(index, lut []float64, lutShape []int64, axis []float64) []float64 {
	shape := x.argumentShape("indices")
	rank := len(shape)
	if len(lutShape) != rank+2 || len(axis) != 1 || axis[0] < -float64(rank) || axis[0] >= float64(rank) {
		x.err = fmt.Errorf("palette of shape %v and vector_axis %v do not fit indices of shape %v", lutShape, axis, shape)
		return nil
	}
	at := (int(axis[0]) + rank) % rank
	blocks, entries, size := lutShape[:rank], int(lutShape[rank]), int(lutShape[rank+1])
	want := slices.Clone(shape)
	want[at] *= int64(size)
	if !dividesEvenly(shape, blocks) || !slices.Equal(want, x.Outputs[0].Type.Dims) || len(index) != (mil.Type{Dims: shape}).Elements() {
		x.err = fmt.Errorf("palette of shape %v does not make shape %v of indices of shape %v", lutShape, x.Outputs[0].Type.Dims, shape)
		return nil
	}
	after := 1
	for _, d := range shape[at+1:] {
		after *= int(d)
	}
	out := make([]float64, len(index)*size)
	for i, v := range index {
		entry := blockIndex(shape, blocks, i)*entries + int(v)
		if v < 0 || int(v) >= entries || (entry+1)*size > len(lut) {
			x.err = fmt.Errorf("index %g is out of range for a palette of %d entries", v, entries)
			return nil
		}
		for k, e := range lut[entry*size : (entry+1)*size] {
			// The elements of an entry are adjacent along the axis, not in memory.
			out[(i/after*size+k)*after+i%after] = e
		}
	}
	return out
}

// dividesEvenly reports whether each extent of shape is a multiple of the number of blocks along
// that axis. It is false if the two lists have different lengths.
func dividesEvenly(shape, blocks []int64) bool {
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

// blockIndex returns the number of the block that contains element i of a tensor of the given
// shape. blocks holds the number of blocks along each axis. Elements and blocks are numbered in
// row-major order.
func blockIndex(shape, blocks []int64, i int) int {
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

// unpackSparsePalette is like unpackPalette for a tensor of which the file has only the indices of
// nonzero elements. Its results are the mask of these elements and their values, which
// unpackSparseTensor combines.
func unpackSparsePalette(x *operation) {
	x.unpackMaskedElements("indices_mask", "indices_nonzero_data", "lut", func(index, lut []float64, lutShape, shape []int64, places []int) ([]float64, *graph.Packing) {
		return x.lookUpPalette(index, lut, lutShape, shape, func(i int) int { return places[i] }), &graph.Packing{Form: graph.Palette}
	})
}

// unpackSparseBlocks is like unpackBlockwiseWeights for a tensor of which the file has only the
// nonzero elements. Its results are the mask of these elements and their values, which
// unpackSparseTensor combines.
func unpackSparseBlocks(x *operation) {
	x.unpackMaskedElements("data_mask", "nonzero_data", "scale", func(q, scale []float64, blocks, shape []int64, places []int) ([]float64, *graph.Packing) {
		return x.applyBlockScales(q, scale, blocks, shape, func(i int) int { return places[i] })
	})
}

// unpackMaskedElements sets both results of an operation that unpacks only the elements in a mask:
// the mask, and the unpacked elements. The function values unpacks data with a table of scales or
// palettes; places holds the positions of the elements in a tensor of the given shape.
func (x *operation) unpackMaskedElements(maskKey, dataKey, tableKey string, values func(data, table []float64, tableShape, shape []int64, places []int) ([]float64, *graph.Packing)) {
	mask, data, table := x.readPackedValues(maskKey), x.readPackedValues(dataKey), x.readPackedValues(tableKey)
	shape := x.argumentShape(maskKey)
	if len(x.Outputs) != 2 || mask == nil || data == nil || table == nil {
		x.err = fmt.Errorf("unpacking needs constants %q, %q and %q and two outputs", maskKey, dataKey, tableKey)
		return
	}
	var places []int
	for i, m := range mask {
		if m != 0 {
			places = append(places, i)
		}
	}
	if len(places) != len(data) {
		x.err = fmt.Errorf("mask selects %d elements, but data has %d values", len(places), len(data))
		return
	}
	if v, p := values(data, table, x.argumentShape(tableKey), shape, places); v != nil {
		x.setConstantResultAt(0, mask, nil)
		x.setConstantResultAt(1, v, p)
	}
}

// emitQuantize emits a node that divides by a scale, rounds to the nearest integer, half to even, and adds the
// zero point. The type of the zero point is that of the result in ONNX, where MIL states it.
func emitQuantize(x *operation) {
	to := castTypes[x.textArgument("output_dtype", "")]
	if to != onnx.Int8 && to != onnx.Uint8 {
		x.err = fmt.Errorf("output_dtype is %q; want int8 or uint8", x.textArgument("output_dtype", ""))
		return
	}
	scale := x.inputName("scale")
	zero := x.inputName("zero_point")
	switch {
	case zero == "":
		d := x.dims[scale]
		n := mil.Type{Dims: d}.Elements()
		if n < 0 || n > maxUnpackedElements(x) {
			x.err = fmt.Errorf("scale has shape %v; want a known shape of at most %d elements", d, maxUnpackedElements(x))
			return
		}
		zero = x.newConstant(to, d, make([]float64, n)...)
	case x.elems[zero] != to:
		x.err = fmt.Errorf("zero_point has type %v; want that of the result, %v", x.elems[zero], to)
		return
	}
	a := []attribute{newIntAttr("axis", x.intArgument("axis", 0))}
	x.emitNode("QuantizeLinear", []string{x.inputName("input"), scale, zero}, a...)
}

// maxUnpackedElements returns how many elements packed or missing constants of the operation may
// expand to. The limit grows with the size of the model.
func maxUnpackedElements(x *operation) int {
	return int(min(weights.MaxCoefficients, 64*x.bytes+1<<20))
}

// checkUnpackedSize returns an error if the first result of the operation has a dimension without a
// size, or more elements than packed constants of the operation may expand to.
func checkUnpackedSize(x *operation) error {
	shape := x.Outputs[0].Type.Dims
	if slices.ContainsFunc(shape, func(d int64) bool { return d < 0 }) {
		return fmt.Errorf("result shape %v has an unknown dimension", shape)
	}
	if n, most := x.Outputs[0].Type.Elements(), maxUnpackedElements(x); n < 0 || n > most {
		return fmt.Errorf("result shape %v is too large; want at most %d elements for a model of this size", shape, most)
	}
	return nil
}

// unpackSparseTensor makes the result of the operation a tensor that has the given values where the
// mask is one, and zeros elsewhere. The mask has a byte or a bit for each element.
func unpackSparseTensor(x *operation) {
	values, mask := x.readPackedValues("nonzero_data"), x.readPackedValues("mask")
	if values == nil || mask == nil {
		x.fillAbsentResult()
		return
	}
	n := x.Outputs[0].Type.Elements()
	x.checkStatedShape()
	if x.err = cmp.Or(x.err, checkUnpackedSize(x)); x.err != nil {
		return
	}
	bits := make([]byte, len(mask))
	for i, v := range mask {
		bits[i] = byte(v)
	}
	// Files hold a byte or a bit for each element of the mask. Only the length tells them apart.
	if len(bits) != n {
		if len(bits) != (n+7)/8 {
			x.err = fmt.Errorf("mask has %d bytes for %d elements; want one byte or one bit per element", len(bits), n)
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
			x.err = fmt.Errorf("mask selects too many elements for %d values", len(values))
			return
		}
		out[i] = values[at]
		at++
	}
	p := &graph.Packing{Form: graph.Sparse}
	// The nonzero values may be packed themselves, and the inner form is what the engine's weights can
	// use.
	if of := x.packings[x.constants[x.inputName("nonzero_data")]]; of != nil {
		p = of
	}
	x.setConstantResult(out, p)
}

// unpackBlockwiseWeights makes (data - offset)*scale the result of the operation. Each block of the
// weights has its own scale and offset.
func unpackBlockwiseWeights(x *operation) {
	q, scale := x.readPackedValues("data"), x.readPackedValues("scale")
	if q == nil || scale == nil {
		x.fillAbsentResult()
		return
	}
	if v, p := x.applyBlockScales(q, scale, x.argumentShape("scale"), x.argumentShape("data"), func(i int) int { return i }); v != nil {
		x.setConstantResult(v, p)
	}
}

// applyBlockScales returns (q - offset)*scale for each element of q, in q itself, and how the
// elements were packed; it returns nil after an error. blocks is the number of blocks along each
// axis of a tensor of the given shape, each of which has its own scale. place returns the position
// of element i of q in that tensor.
func (x *operation) applyBlockScales(q, scale []float64, blocks, shape []int64, place func(i int) int) ([]float64, *graph.Packing) {
	offset := x.readPackedValues("offset")
	if x.err != nil {
		return nil, nil
	}
	if !dividesEvenly(shape, blocks) {
		x.err = fmt.Errorf("scale shape %v does not divide weight shape %v into equal blocks", blocks, shape)
		return nil, nil
	}
	if offset != nil && len(offset) != len(scale) {
		x.err = fmt.Errorf("%d offsets for %d scales; want one per scale", len(offset), len(scale))
		return nil, nil
	}
	for i := range q {
		g := blockIndex(shape, blocks, place(i))
		z := 0.0
		if offset != nil {
			z = offset[g]
		}
		q[i] = (q[i] - z) * scale[g]
	}
	return q, graph.Scaled(scale)
}
