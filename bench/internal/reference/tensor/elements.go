package tensor

import (
	"fmt"
	"slices"

	"anesim/internal/network/onnx"
)

// MapElements returns a tensor with the type and the shape of t whose elements are f(v) for each
// element v of t.
func (t *Tensor) MapElements(f func(float64) float64) *Tensor {
	out := t.ZerosLike()
	for i, v := range t.Data {
		out.Data[i] = f(v)
	}
	return out
}

// MapLines returns a copy of t after f changed, in place, each line of elements along the given
// axis.
func (t *Tensor) MapLines(axis int, f func(line []float64)) (*Tensor, error) {
	moved, length, err := t.MoveAxesLast([]int{axis})
	if err != nil || length == 0 {
		return moved, err
	}
	for line := range slices.Chunk(moved.Data, length) {
		f(line)
	}
	return moved.Transpose(InvertPermutation(PermutationToEnd(len(t.Dims), axis))...)
}

// MapRuns returns a copy of t in which f has changed each run of length consecutive elements in
// place. The number of elements must be a multiple of length. If length is 0, f is not called.
func (t *Tensor) MapRuns(length int, f func(line []float64)) *Tensor {
	out := t.MapElements(func(v float64) float64 { return v })
	if length > 0 {
		for line := range slices.Chunk(out.Data, length) {
			f(line)
		}
	}
	return out
}

// MapChannels returns a tensor of f(v, p) for each element v of t. The slice p holds one value of
// each of the given parameters: the value for the element's channel (axis 1).
func (t *Tensor) MapChannels(f func(v float64, parameters []float64) float64, parameters ...*Tensor) (*Tensor, error) {
	channels := 1
	if len(t.Dims) > 1 {
		channels = t.Dims[1]
	}
	for _, p := range parameters {
		if len(p.Data) != channels {
			return nil, fmt.Errorf("parameter has shape %v; want one element for each of %d channels", p.Dims, channels)
		}
	}
	out := t.ZerosLike()
	if len(t.Data) == 0 {
		return out, nil
	}
	area := 1
	if len(t.Dims) > 2 {
		area = CountValidElements(t.Dims[2:])
	}
	values := make([]float64, len(parameters))
	for i := range t.Data {
		for k, p := range parameters {
			values[k] = p.Data[i/area%channels]
		}
		out.Data[i] = f(t.Data[i], values)
	}
	return out, nil
}

// AddChannelBias returns t with bias[c] added to every element of channel c (axis 1). If bias is
// nil, it returns t itself.
func (t *Tensor) AddChannelBias(bias *Tensor) (*Tensor, error) {
	if bias == nil {
		return t, nil
	}
	return t.MapChannels(func(v float64, b []float64) float64 { return v + b[0] }, bias)
}

// ReduceAxes returns t with the elements along the given axes replaced by f(elements). These axes
// have length 1 in the result.
func (t *Tensor) ReduceAxes(axes []int, f func(line []float64) float64) (*Tensor, error) {
	dims := slices.Clone(t.Dims)
	for _, a := range axes {
		dims[a] = 1
	}
	out, err := New(t.Type, dims...)
	if err != nil {
		return nil, err
	}
	moved, length, err := t.MoveAxesLast(axes)
	if err != nil {
		return nil, err
	}
	for i := range out.Data {
		out.Data[i] = f(moved.Data[i*length : (i+1)*length])
	}
	return out, nil
}

// ScaleAndAddBias returns t*scale + bias, with both broadcast to the shape of t. A nil bias adds
// nothing.
func (t *Tensor) ScaleAndAddBias(scale, bias *Tensor) (*Tensor, error) {
	scale, err := scale.BroadcastTo(t.Dims)
	if err != nil {
		return nil, err
	}
	if t, err = Combine(t.Type, t, scale, func(v, s float64) float64 { return v * s }); err != nil || bias == nil {
		return t, err
	}
	if bias, err = bias.BroadcastTo(t.Dims); err != nil {
		return nil, err
	}
	return Add(t, bias)
}

// Combine applies f to each pair of elements of a and b, broadcast to a common shape, and
// returns the results as a tensor of type t.
func Combine(t onnx.DataType, a, b *Tensor, f func(a, b float64) float64) (*Tensor, error) {
	dims, err := BroadcastDims(a.Dims, b.Dims)
	if err != nil {
		return nil, err
	}
	if a, err = a.BroadcastTo(dims); err != nil {
		return nil, err
	}
	if b, err = b.BroadcastTo(dims); err != nil {
		return nil, err
	}
	out := a.ZerosLike()
	out.Type = t
	for i, x := range a.Data {
		out.Data[i] = f(x, b.Data[i])
	}
	return out, nil
}

// Add returns a + b, broadcast to a common shape, as a tensor of a's type.
func Add(a, b *Tensor) (*Tensor, error) {
	return Combine(a.Type, a, b, func(x, y float64) float64 { return x + y })
}

func Sum(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total
}

func (t *Tensor) ContainsValue(v float64) bool {
	for _, x := range t.Data {
		if x == v {
			return true
		}
	}
	return false
}

// SampleRegion interpolates a channel of an image bilinearly at (y, x). It returns the value and
// the largest of the four weighted elements, which the mode max needs. Both are 0 more than one
// element outside the image.
func (t *Tensor) SampleRegion(image, channel int, y, x float64) (value, greatest float64) {
	h, w := t.Dims[2], t.Dims[3]
	if !(y >= -1 && y <= float64(h) && x >= -1 && x <= float64(w)) || h == 0 || w == 0 {
		return 0, 0
	}
	y, x = min(max(y, 0), float64(h-1)), min(max(x, 0), float64(w-1))
	top, left := int(y), int(x)
	fy, fx := y-float64(top), x-float64(left)
	bottom, right := min(top+1, h-1), min(left+1, w-1)
	plane := t.Data[(image*t.Dims[1]+channel)*h*w:]
	corners := [...]float64{
		(1 - fy) * (1 - fx) * plane[top*w+left], (1 - fy) * fx * plane[top*w+right],
		fy * (1 - fx) * plane[bottom*w+left], fy * fx * plane[bottom*w+right],
	}
	return Sum(corners[:]), slices.Max(corners[:])
}
