package neural

import (
	"slices"

	"github.com/x448/float16"

	"anesim/internal/network/graph"
)

// largestPlane limits the height and width of an input of an inner product that is computed as a
// convolution with a window of that size. A larger one is reshaped to a row.
const largestPlane = 7

// addInnerProduct adds a product with a constant matrix. The input of a network of planes has one vector of
// all its channels, rows and columns; with fewer axes, the vectors are along the last.
func addInnerProduct(x *layer) []*graph.Value {
	in, out := x.integer(1, 0), x.integer(2, 0)
	v := x.in[0]
	if x.bool(22) {
		x.refusef("products of quantized activations (int8DynamicQuantize) are not supported")
	}
	k := len(v.Dims)
	if in < 1 || in > graph.MaxElements || out < 1 || out > graph.MaxElements || k == 0 {
		x.refusef("%d input channels and %d output channels are out of range", in, out)
		return nil
	}
	weights := func(dims ...int) (w, bias *graph.Value) {
		if w = x.weights(x.message, 20, dims...); w == nil {
			w = x.absent(dims...)
		}
		if x.bool(10) {
			if bias = x.weights(x.message, 21, out); bias == nil {
				bias = x.absent(out)
			}
		}
		return w, bias
	}
	if k < 4 {
		if v.Dims[k-1] != in {
			x.refusef("input has shape %v; want %d elements along the last axis, as the weights have", v.Dims, in)
			return nil
		}
		w, bias := weights(out, in)
		return []*graph.Value{x.emit("Linear", nil, v, w, bias)}
	}
	c, height, width := v.Dims[k-3], v.Dims[k-2], v.Dims[k-1]
	if c*height*width != in { // shapes have at most 2^40 elements
		x.refusef("input has shape %v and %d elements in a sample; the weights have %d", v.Dims, c*height*width, in)
		return nil
	}
	return []*graph.Value{x.onPlanes(v, func(v *graph.Value) *graph.Value {
		// A convolution over the whole plane reads it where it is. Flattened, it would be transposed
		// first.
		if height <= largestPlane && width <= largestPlane {
			w, bias := weights(out, c, height, width)
			return x.emit("Conv", attrs{"kernel_shape": newInts(height, width)}, v, w, bias)
		}
		w, bias := weights(out, in)
		y := x.emit("Linear", nil, x.reshape(v, v.Dims[0], in), w, bias)
		return x.reshape(y, v.Dims[0], out, 1, 1)
	})}
}

// A transposed reads a constant matrix with rows and columns exchanged. rows is the number of rows in the file.
type transposed struct {
	graph.Source
	rows, columns int
}

func (t transposed) Each(set func(i int, v float64)) error {
	return t.Source.Each(func(i int, v float64) { set(i%t.columns*t.rows+i/t.columns, v) })
}

func (t transposed) Numbers() ([]float64, error) {
	v := make([]float64, t.rows*t.columns)
	err := t.Each(func(i int, x float64) { v[i] = x })
	return v, err
}

func (t transposed) Halves() ([]float16.Float16, error) {
	v := make([]float16.Float16, t.rows*t.columns)
	err := t.Each(func(i int, x float64) { v[i] = float16.Fromfloat32(float32(x)) })
	return v, err
}

// lookUp returns the rows of the layer's table that the elements of v select, plus a bias. The table has
// the given numbers of entries and of elements of each, and is stored transposed.
func (x *layer) lookUp(v *graph.Value, entries, size int, hasBias bool) *graph.Value {
	if entries < 1 || entries > graph.MaxElements || size < 1 || size > graph.MaxElements {
		x.refusef("table of %d entries of %d elements is out of range", entries, size)
		return v
	}
	w := x.weights(x.message, 20, size, entries)
	if w == nil {
		w = x.absent(size, entries)
	}
	if x.why != nil || x.err != nil {
		return v
	}
	table := x.constant(&graph.Const{Dims: []int{entries, size}, Type: graph.Float, Source: transposed{w.Const.Source, size, entries}})
	x.consts = slices.DeleteFunc(x.consts, func(v *graph.Value) bool { return v == w })
	y := x.emit("Gather", nil, table, x.emit("Cast", attrs{"to": newInt(int(graph.Int32))}, v))
	if hasBias {
		y = x.emit("Add", nil, y, x.weights(x.message, 21, size))
	}
	return y
}

func addEmbedding(x *layer) []*graph.Value {
	v := x.in[0]
	if k := len(v.Dims); k < 4 || v.Dims[k-1] != 1 || v.Dims[k-2] != 1 || v.Dims[k-3] != 1 {
		x.refusef("input has shape %v; want a single channel, row and column", v.Dims)
		return nil
	}
	entries, size, bias := x.integer(1, 0), x.integer(2, 0), x.bool(10)
	return []*graph.Value{x.onPlanes(v, func(v *graph.Value) *graph.Value {
		n := v.Dims[0]
		return x.reshape(x.lookUp(x.reshape(v, n), entries, size, bias), n, size, 1, 1)
	})}
}

func addEmbeddingND(x *layer) []*graph.Value {
	v := x.in[0]
	k := len(v.Dims)
	if k < 1 || v.Dims[k-1] != 1 {
		x.refusef("input has shape %v; want a last axis of one element", v.Dims)
		return nil
	}
	return []*graph.Value{x.lookUp(x.reshape(v, v.Dims[:k-1]...), x.integer(1, 0), x.integer(2, 0), x.bool(3))}
}

// addBatchedMatMul adds a product of two inputs. The order in which the weights of a product with one
// input are stored is not certain, so it is not supported.
func addBatchedMatMul(x *layer) []*graph.Value {
	if len(x.in) != 2 {
		x.refusef("a product with constant weights is not supported")
		return nil
	}
	in := slices.Clone(x.in)
	for i, swap := range []bool{x.bool(1), x.bool(2)} {
		k := len(in[i].Dims)
		if k < 2 {
			x.refusef("input has %d axes; want at least 2", k)
			return nil
		}
		if swap {
			perm := make([]int, k)
			for j := range perm {
				perm[j] = j
			}
			perm[k-1], perm[k-2] = k-2, k-1
			in[i] = x.emit("Transpose", attrs{"perm": newInts(perm...)}, in[i])
		}
	}
	return []*graph.Value{x.emit("MatMul", nil, in...)}
}
