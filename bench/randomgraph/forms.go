package randomgraph

import (
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// addRareExporterOperator adds an operator that exporters write rarely and that is made of others: the center
// of a tensor, the image of its blocks, or a product with a window of samples. It returns false if the
// operator does not fit x.
func addRareExporterOperator(b *builder, x string) bool {
	switch v := b.findValue(x); pickRandom(b, "CenterCropPad", "Col2Im", "Window") {
	case "CenterCropPad":
		return addCenterCropPad(b, x)
	case "Col2Im":
		return addCol2Im(b, x)
	default:
		if len(v.Dims) == 0 {
			return false
		}
		size := b.addConstant(onnx.Int64, nil, []float64{float64(v.Dims[len(v.Dims)-1])})
		window := onnxgraph.Value{Type: onnx.Float, Dims: v.Dims[len(v.Dims)-1:], Low: -0.1, High: 1}
		w := b.addNode(pickRandom(b, "HannWindow", "HammingWindow", "BlackmanWindow"), []string{size}, window, newIntAttribute("periodic", b.rng.IntN(2)))
		most := b.tensorMagnitude(x)
		b.addNode("Mul", []string{x, w}, v.WithRange(-most, most))
		return true
	}
}

// addCenterCropPad adds a CenterCropPad of some axes of x, which become up to 3 larger, or smaller.
func addCenterCropPad(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if n == 0 {
		return false
	}
	var axes, sizes []int
	dims := slices.Clone(v.Dims)
	for axis := range n {
		if b.randomBool(50) && axis < n-1 {
			continue
		}
		dims[axis] = b.randomInt(1, v.Dims[axis]+3)
		axes, sizes = append(axes, b.maybeNegativeAxis(axis, n)), append(sizes, dims[axis])
	}
	if onnx.Elements(dims) > maxElements {
		return false
	}
	out := v.WithDims(dims...)
	out.Low, out.High = min(0, v.Low), max(0, v.High)
	b.addNode("CenterCropPad", []string{x, b.addIntVector(sizes...)}, out, newIntsAttribute("axes", axes...))
	return true
}

// addCol2Im adds a Col2Im of the blocks in x, of shape [batch][channels*block][blocks], along a row.
func addCol2Im(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) != 3 {
		return false
	}
	block := b.randomInt(1, 3)
	if v.Dims[1]%block != 0 || b.tensorMagnitude(x)*float64(block) > maxMagnitude {
		return false
	}
	stride := b.randomInt(1, 3)
	extent := (v.Dims[2]-1)*stride + block + b.rng.IntN(stride)
	dims := []int{v.Dims[0], v.Dims[1] / block, extent}
	if onnx.Elements(dims) > maxElements {
		return false
	}
	most := b.tensorMagnitude(x) * float64(block)
	b.addNode("Col2Im", []string{x, b.addIntVector(extent), b.addIntVector(block)}, v.WithDims(dims...).WithRange(-most, most), newIntsAttribute("strides", stride))
	return true
}
