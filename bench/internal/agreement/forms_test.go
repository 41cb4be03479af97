package agreement

import (
	"testing"

	ox "anesim/internal/network/onnxtest"
)

// TestForms compares forms of operators that exporters rarely write with the definition. Each graph
// has an input x, and sometimes inputs w and b, which the engine would take as constants.
func TestForms(t *testing.T) {
	in := func(names ...string) []string { return names }
	image, sequence, volume := ox.Input("x", 2, 4, 5, 6), ox.Input("x", 1, 3, 7), ox.Input("x", 1, 2, 3, 4, 3)
	// A product of integers that fp16 does not hold, in a tensor p, and a node that reads it.
	product := func(reader ox.Message) []ox.Message {
		return []ox.Message{image, ox.Node("Abs", "a", in("x")), ox.Constant("c", nil, 100), ox.Node("Mul", "m", in("a", "c")), ox.Node("Floor", "f", in("m")), ox.Node("Cast", "u", in("f"), ox.Int("to", 2)),
			ox.Whole("w", 3, 1, []int{6, 2}, 100, -90, 110, -95, 120, -80, 105, -85, 115, -75, 125, -100), ox.Node("MatMulInteger", "p", in("u", "w")), ox.Whole("k", 6, 4, []int{1}, 3), reader}
	}
	for _, tc := range []struct {
		name  string
		parts []ox.Message
	}{
		{"Div of an integer product", product(ox.Node("Div", "y", in("p", "k")))},
		{"Abs of an integer product", product(ox.Node("Abs", "y", in("p")))},
		{"Mul of an integer product", product(ox.Node("Mul", "y", in("k", "p")))},
		{"Add of an integer product", product(ox.Node("Add", "y", in("p", "k")))},
		{"Conv with computed weights and bias", []ox.Message{image, ox.Input("w", 6, 4, 3, 2), ox.Input("b", 6),
			ox.Node("Conv", "y", in("x", "w", "b"), ox.List("strides", 2, 1), ox.List("dilations", 1, 2), ox.List("pads", 1, 0, 0, 1))}},
		{"Conv with computed weights in groups", []ox.Message{image, ox.Input("w", 4, 2, 1, 3), ox.Node("Conv", "y", in("x", "w"), ox.Int("group", 2))}},
		{"Conv with a computed weight for each channel", []ox.Message{sequence, ox.Input("w", 3, 1, 3), ox.Node("Conv", "y", in("x", "w"), ox.Int("group", 3), ox.Text("auto_pad", "SAME_UPPER"))}},
		{"Conv with a computed bias", []ox.Message{image, ox.Input("b", 3), weightConstant("w", 3, 4, 1, 1), ox.Node("Conv", "y", in("x", "w", "b"))}},
		{"Reshape of blocks to rows of another length", []ox.Message{ox.Input("x", 2, 8, 7, 3), ox.Ints("shape", 2, 8, 3, 7), ox.Node("Reshape", "r", in("x", "shape")), ox.Node("Softmax", "y", in("r"), ox.Int("axis", 3))}},
		{"Reshape of blocks that shifts rows", []ox.Message{ox.Input("x", 1, 4, 9, 17), ox.Node("Relu", "a", in("x")), ox.Ints("shape", 1, 4, 17, 9), ox.Node("Reshape", "r", in("a", "shape")),
			ox.Ints("start", 1), ox.Ints("end", 17), ox.Ints("axis", 2), ox.Node("Slice", "s", in("r", "start", "end", "axis")), ox.Ints("back", 1, 4, 9, 16), ox.Node("Reshape", "b", in("s", "back")), ox.Node("ReduceMax", "y", in("b"), ox.List("axes", 3))}},
		{"Conv whose outer taps see only padding", []ox.Message{image, weightConstant("w", 3, 4, 3, 3), weightConstant("b", 3), ox.Node("Conv", "y", in("x", "w", "b"), ox.List("dilations", 36, 36), ox.List("pads", 36, 36, 36, 36))}},
		{"Conv whose taps are far apart", []ox.Message{ox.Input("x", 2, 3, 20, 24), weightConstant("w", 5, 3, 3, 3), weightConstant("b", 5), ox.Node("Conv", "y", in("x", "w", "b"), ox.List("dilations", 18, 17), ox.List("pads", 18, 17, 18, 17))}},
		{"Conv whose rows are far apart, with a stride", []ox.Message{ox.Input("x", 1, 3, 40, 7), weightConstant("w", 2, 3, 2, 3), ox.Node("Conv", "y", in("x", "w"), ox.List("dilations", 33, 2), ox.List("pads", 0, 2, 3, 2), ox.List("strides", 2, 3))}},
		{"Conv whose taps see nothing", []ox.Message{ox.Input("x", 1, 3, 4, 4), weightConstant("w", 2, 3, 2, 2), weightConstant("b", 2), ox.Node("Conv", "y", in("x", "w", "b"), ox.List("dilations", 40, 40), ox.List("pads", 20, 20, 20, 20))}},
		{"Conv in groups with a stride of 4", []ox.Message{ox.Input("x", 1, 4, 9, 11), weightConstant("w", 4, 2, 3, 3), ox.Node("Conv", "y", in("x", "w"), ox.Int("group", 2), ox.List("strides", 2, 4), ox.List("pads", 1, 1, 1, 1))}},
		{"ConvTranspose with computed weights", []ox.Message{image, ox.Input("w", 4, 3, 3, 2), ox.Input("b", 6),
			ox.Node("ConvTranspose", "y", in("x", "w", "b"), ox.Int("group", 2), ox.List("strides", 2, 3), ox.List("pads", 1, 0, 0, 1), ox.List("output_padding", 1, 2))}},
		{"ConvTranspose of a volume", []ox.Message{volume, weightConstant("w", 2, 3, 3, 2, 2), ox.Node("ConvTranspose", "y", in("x", "w"), ox.List("strides", 2, 1, 3), ox.List("dilations", 1, 2, 1))}},
		{"ConvTranspose whose result is larger than its window reaches", []ox.Message{sequence, weightConstant("w", 3, 2, 1), ox.Node("ConvTranspose", "y", in("x", "w"), ox.List("strides", 3), ox.Text("auto_pad", "SAME_UPPER"))}},
		{"BatchNormalization with a computed scale", []ox.Message{image, ox.Input("w", 4), weightConstant("m", 4), ox.Constant("v", []int{4}, 1, 2, 3, 4), ox.Node("BatchNormalization", "y", in("x", "w", "m", "m", "v"))}},
		{"BatchNormalization of a vector", []ox.Message{ox.Input("x", 7), ox.Constant("c", []int{1}, 2), ox.Node("BatchNormalization", "y", in("x", "c", "c", "c", "c"))}},
		{"GlobalLpPool of squares", []ox.Message{image, ox.Node("GlobalLpPool", "y", in("x"))}},
		{"GlobalLpPool of cubes", []ox.Message{sequence, ox.Node("GlobalLpPool", "y", in("x"), ox.Int("p", 3))}},
		{"LpPool whose last window ends after the padding", []ox.Message{sequence, ox.Node("LpPool", "y", in("x"), ox.List("kernel_shape", 3), ox.List("strides", 3), ox.Int("ceil_mode", 1))}},
		{"Einsum that sums labels of one input alone", []ox.Message{image, ox.Input("w", 5, 3, 2), ox.Node("Einsum", "y", in("x", "w"), ox.Text("equation", "abcd,cef->fac"))}},
		{"Einsum of ellipses that broadcast", []ox.Message{image, ox.Input("w", 3, 2, 1, 5, 6), ox.Node("Einsum", "y", in("w", "x"), ox.Text("equation", "...i,...i->..."))}},
		{"Einsum of an ellipsis of one element", []ox.Message{image, ox.Input("w", 1, 6), ox.Node("Einsum", "y", in("x", "w"), ox.Text("equation", "...i,...i->...i"))}},
		{"Einsum of three inputs", []ox.Message{image, ox.Input("w", 6, 3), ox.Input("b", 2, 3), ox.Node("Einsum", "y", in("x", "w", "b"), ox.Text("equation", "abcd,de,ae->bae"))}},
		{"Einsum of a diagonal", []ox.Message{ox.Input("x", 2, 3, 3), ox.Node("Einsum", "y", in("x"), ox.Text("equation", "aii->ia"))}},
		{"Einsum of a trace and a vector", []ox.Message{ox.Input("x", 4, 4), ox.Input("w", 5), ox.Node("Einsum", "y", in("x", "w"), ox.Text("equation", "ii,j->j"))}},
		{"Mod of integers with the sign of the dividend", []ox.Message{image, ox.Node("Floor", "f", in("x")), ox.Node("Cast", "i", in("f"), ox.Int("to", 7)), ox.Ints("three", 3), ox.Node("Mod", "y", in("i", "three"), ox.Int("fmod", 1))}},
		{"Cast from uint8 to int8", []ox.Message{image, ox.Node("Abs", "a", in("x")), ox.Node("Floor", "f", in("a")), ox.Constant("c", nil, 130), ox.Node("Mul", "m", in("f", "c")),
			ox.Node("Cast", "u", in("m"), ox.Int("to", 2)), ox.Node("Cast", "y", in("u"), ox.Int("to", 3))}},
		{"Pad of integers", []ox.Message{image, ox.Node("Floor", "f", in("x")), ox.Node("Cast", "i", in("f"), ox.Int("to", 7)), ox.Ints("pads", 0, 0, 2, 0, 0, 0, 1, 1), ox.Node("Pad", "y", in("i", "pads"), ox.Text("mode", "reflect"))}},
		{"Slice backwards from a start before the axis", []ox.Message{image, ox.Ints("start", -9), ox.Ints("end", -100), ox.Ints("axis", 3), ox.Ints("step", -1), ox.Node("Slice", "y", in("x", "start", "end", "axis", "step"))}},
		{"Resize of a region", []ox.Message{image, ox.Constant("roi", []int{8}, 0, 0, 0.25, -0.5, 1, 1, 0.75, 1), ox.Ints("sizes", 2, 4, 3, 5),
			ox.Node("Resize", "y", in("x", "roi", "", "sizes"), ox.Text("mode", "linear"), ox.Text("coordinate_transformation_mode", "tf_crop_and_resize"), ox.Float("extrapolation_value", 2))}},
		{"Resize without aliasing", []ox.Message{image, ox.Constant("scales", []int{4}, 1, 1, 0.6, 0.5), ox.Node("Resize", "y", in("x", "", "scales"), ox.Text("mode", "cubic"), ox.Int("antialias", 1))}},
		{"Resize that keeps the aspect ratio", []ox.Message{image, ox.Ints("sizes", 7, 20), ox.Node("Resize", "y", in("x", "", "", "sizes"), ox.List("axes", 2, 3), ox.Text("keep_aspect_ratio_policy", "not_larger"))}},
	} {
		t.Run(tc.name, func(t *testing.T) { compareFile(t, ox.Model(append(tc.parts, ox.Output("y"))...)) })
	}
}
