package architectures

import (
	"fmt"
	"slices"
	"strings"
)

// A milProgram writes a network as the text of a MIL program, the form that Core ML compiles. Its weights
// are in a file that does not exist, so that they are pseudo-random: values do not affect the time.
type milProgram struct {
	body   strings.Builder
	inputs []string
	n      int
}

// A milTensor is a tensor of a milProgram. Constants have no place in the order of operations.
type milTensor struct {
	name  string
	shape []int
}

func milType(shape []int) string { return fmt.Sprintf("tensor<fp16, %s>", milList(shape)) }

func milList(v []int) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ", ") }

// milInts returns a constant list of integers.
func milInts(v ...int) string { return fmt.Sprintf("tensor<int32, [%d]>(%s)", len(v), milList(v)) }

const milFile = `(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64(64)))`

// newInput adds an input.
func (p *milProgram) newInput(name string, shape ...int) milTensor {
	p.inputs = append(p.inputs, milType(shape)+" "+name)
	return milTensor{name, shape}
}

// add adds an operation with arguments such as "x = a" and returns its result.
func (p *milProgram) add(kind string, shape []int, arguments ...string) milTensor {
	p.n++
	t := milTensor{fmt.Sprintf("t%d", p.n), slices.Clone(shape)}
	fmt.Fprintf(&p.body, "        %s %s = %s(%s)[name = string(%q)];\n", milType(shape), t.name, kind, strings.Join(arguments, ", "), t.name)
	return t
}

// newWeight adds a constant in fp16.
func (p *milProgram) newWeight(shape ...int) milTensor {
	t := p.add("const", shape)
	text := p.body.String()
	p.body.Reset()
	p.body.WriteString(strings.TrimSuffix(text, "];\n") + ", val = " + milType(shape) + milFile + "];\n")
	return t
}

// newPalette adds a constant matrix of the given bits an element, with a palette for each 16 rows.
func (p *milProgram) newPalette(bits, rows, columns int) milTensor {
	return p.add("constexpr_lut_to_dense", []int{rows, columns},
		fmt.Sprintf("indices = tensor<uint%d, %s>%s", bits, milList([]int{rows, columns}), milFile),
		fmt.Sprintf("lut = tensor<fp16, %s>%s", milList([]int{rows / 16, 1, 1 << bits, 1}), milFile))
}

// text returns the program, which has the result y.
func (p *milProgram) text(y milTensor) string {
	return fmt.Sprintf("program(1.3)\n{\n    func main<ios18>(%s) {\n%s    } -> (%s);\n}\n", strings.Join(p.inputs, ", "), p.body.String(), y.name)
}

// unary adds an operation that keeps the shape of its input.
func (p *milProgram) unary(kind string, x milTensor) milTensor {
	return p.add(kind, x.shape, "x = "+x.name)
}

func (p *milProgram) gelu(x milTensor) milTensor {
	return p.add("gelu", x.shape, `mode = string("EXACT")`, "x = "+x.name)
}

// binary adds an operation of two inputs, of which the first has the result's shape.
func (p *milProgram) binary(kind string, x, y milTensor) milTensor {
	return p.add(kind, x.shape, "x = "+x.name, "y = "+y.name)
}

// scale multiplies x by a number.
func (p *milProgram) scale(x milTensor, factor float64) milTensor {
	return p.add("mul", x.shape, "x = "+x.name, fmt.Sprintf("y = fp16(%g)", factor))
}

// linear adds a linear layer with a bias over the last axis.
func (p *milProgram) linear(x milTensor, columns int) milTensor {
	return p.linearBy(p.newWeight(columns, x.shape[len(x.shape)-1]), x)
}

// linearBy adds a linear layer with the given weights and a bias.
func (p *milProgram) linearBy(weight, x milTensor) milTensor {
	shape := slices.Clone(x.shape)
	shape[len(shape)-1] = weight.shape[0]
	return p.add("linear", shape, "bias = "+p.newWeight(weight.shape[0]).name, "weight = "+weight.name, "x = "+x.name)
}

// layerNorm normalizes the last axis.
func (p *milProgram) layerNorm(x milTensor) milTensor {
	n := x.shape[len(x.shape)-1]
	return p.add("layer_norm", x.shape, "axes = "+milInts(-1), "beta = "+p.newWeight(n).name, "epsilon = fp16(0x1.5p-17)", "gamma = "+p.newWeight(n).name, "x = "+x.name)
}

func (p *milProgram) reshape(x milTensor, shape ...int) milTensor {
	return p.add("reshape", shape, "shape = "+milInts(shape...), "x = "+x.name)
}

func (p *milProgram) transpose(x milTensor, perm ...int) milTensor {
	var shape []int
	for _, axis := range perm {
		shape = append(shape, x.shape[axis])
	}
	return p.add("transpose", shape, "perm = "+milInts(perm...), "x = "+x.name)
}

// slice takes the elements from begin to end of an axis.
func (p *milProgram) slice(x milTensor, axis, begin, end int) milTensor {
	from, to := make([]int, len(x.shape)), slices.Clone(x.shape)
	from[axis], to[axis] = begin, end
	shape := slices.Clone(x.shape)
	shape[axis] = end - begin
	return p.add("slice_by_index", shape, "begin = "+milInts(from...), "end = "+milInts(to...), "x = "+x.name)
}

// concat joins tensors along an axis.
func (p *milProgram) concat(axis int, list ...milTensor) milTensor {
	shape := slices.Clone(list[0].shape)
	shape[axis] = 0
	var names []string
	for _, x := range list {
		shape[axis] += x.shape[axis]
		names = append(names, x.name)
	}
	return p.add("concat", shape, fmt.Sprintf("axis = int32(%d)", axis), "interleave = bool(false)", fmt.Sprintf("values = (%s)", strings.Join(names, ", ")))
}

// matmul multiplies the last two axes of x and y, of which y may be stored transposed.
func (p *milProgram) matmul(x, y milTensor, transposed bool) milTensor {
	shape := slices.Clone(x.shape)
	last := len(shape) - 1
	shape[last] = y.shape[last]
	if transposed {
		shape[last] = y.shape[last-1]
	}
	return p.add("matmul", shape, "transpose_x = bool(false)", fmt.Sprintf("transpose_y = bool(%t)", transposed), "x = "+x.name, "y = "+y.name)
}

// softmax normalizes an axis, of which -1 is the last.
func (p *milProgram) softmax(x milTensor, axis int) milTensor {
	return p.add("softmax", x.shape, fmt.Sprintf("axis = int32(%d)", axis), "x = "+x.name)
}

// multiplyPlanes multiplies, for each row, a matrix of channels and columns with one of as many channels as the
// first has columns.
func (p *milProgram) multiplyPlanes(x, y milTensor) milTensor {
	return p.add("einsum", []int{x.shape[0], x.shape[1], x.shape[2], y.shape[3]}, `equation = string("nchw,nwhu->nchu")`, fmt.Sprintf("values = (%s, %s)", x.name, y.name))
}

// normalizeChannels normalizes the channels of each pixel by single operations, as a program does that has no
// norm over this axis.
func (p *milProgram) normalizeChannels(x milTensor) milTensor {
	one := slices.Clone(x.shape)
	one[1] = 1
	mean := func(x milTensor) milTensor {
		return p.add("reduce_mean", one, "axes = "+milInts(1), "keep_dims = bool(true)", "x = "+x.name)
	}
	x = p.binary("sub", x, mean(x))
	deviation := p.add("rsqrt", one, "epsilon = fp16(0x1.5p-17)", "x = "+mean(p.binary("mul", x, x)).name)
	x = p.binary("mul", x, deviation)
	channels := func() milTensor { return p.newWeight(1, x.shape[1], 1, 1) }
	return p.binary("mul", p.binary("add", x, channels()), channels())
}

// A milWindow is the window of a convolution: its size, stride and padding before and after, on every
// spatial axis.
type milWindow struct{ size, stride, pad int }

// conv adds a convolution with a bias on the axes after the channels.
func (p *milProgram) conv(x milTensor, channels, groups int, w milWindow) milTensor {
	shape, kernel := []int{x.shape[0], channels}, []int{channels, x.shape[1] / groups}
	var ones, strides, pads []int
	for _, n := range x.shape[2:] {
		shape = append(shape, (n+2*w.pad-w.size)/w.stride+1)
		kernel, ones, strides, pads = append(kernel, w.size), append(ones, 1), append(strides, w.stride), append(pads, w.pad, w.pad)
	}
	return p.add("conv", shape, "bias = "+p.newWeight(channels).name, "dilations = "+milInts(ones...), fmt.Sprintf("groups = int32(%d)", groups),
		"pad = "+milInts(pads...), `pad_type = string("custom")`, "strides = "+milInts(strides...), "weight = "+p.newWeight(kernel...).name, "x = "+x.name)
}

// addUpsampling adds a transposed convolution whose window is as large as its stride: a 1x1 convolution with the
// channels of each pixel of a window, which then go to their pixels.
func (p *milProgram) addUpsampling(x milTensor, stride int) milTensor {
	c := x.shape[1]
	y := p.conv(x, c*stride*stride, 1, milWindow{1, 1, 0})
	return p.add("pixel_shuffle", []int{1, c, x.shape[2] * stride, x.shape[3] * stride}, fmt.Sprintf("upscale_factor = int32(%d)", stride), "x = "+y.name)
}

// resize interpolates rows and columns linearly between aligned corners.
func (p *milProgram) resize(x milTensor, height, width int) milTensor {
	return p.add("resize_bilinear", []int{1, x.shape[1], height, width}, `sampling_mode = string("STRICT_ALIGN_CORNERS")`,
		fmt.Sprintf("target_size_height = int32(%d)", height), fmt.Sprintf("target_size_width = int32(%d)", width), "x = "+x.name)
}
