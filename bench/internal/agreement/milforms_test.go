package agreement

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
	"anesim/loader/network"
)

// milForms are layers as Core ML's converters write them, and the same layers in operators of ONNX. Both have
// the inputs of in, and a result y. A line "NAME = TYPE(VALUE)" of the program is a constant.
var milForms = []struct {
	name    string
	in      string // name and shape
	program string
	nodes   []ox.Message
}{
	{"norm of the mean square", "x 1,3,8", `
		axes = tensor<int32, [1]>([-1]); keep = bool(true); eps = fp16(0x1p-6); g = tensor<fp16, [8]>([0.5, 1, 1.5, 0.75, 1.25, 1, 0.5, 2])
		tensor<fp16, [1, 3, 8]> sq = mul(x = x, y = x)
		tensor<fp16, [1, 3, 1]> mean = reduce_mean(axes = axes, keep_dims = keep, x = sq)
		tensor<fp16, [1, 3, 1]> var = add(x = mean, y = eps)
		tensor<fp16, [1, 3, 1]> r = rsqrt(epsilon = fp16(0x1p-24), x = var)
		tensor<fp16, [1, 3, 8]> n = mul(x = x, y = r)
		tensor<fp16, [1, 3, 8]> y = mul(x = n, y = g)`,
		[]ox.Message{ox.Ints("axes", -1), ox.Constant("g", []int{8}, 0.5, 1, 1.5, 0.75, 1.25, 1, 0.5, 2), ox.Constant("eps", nil, 1./64), ox.Node("Mul", "sq", inputNames("x", "x")), ox.Node("ReduceMean", "m", inputNames("sq"), ox.List("axes", -1)),
			ox.Node("Add", "v", inputNames("m", "eps")), ox.Node("Sqrt", "r", inputNames("v")), ox.Node("Div", "n", inputNames("x", "r")), ox.Node("Mul", "y", inputNames("n", "g"))}},
	{"norm of the mean square, by a layer norm of x and -x", "x 1,3,4", `
		neg = fp16(-1); axes = tensor<int32, [1]>([-1]); ax = int32(-1); il = bool(false); eps = fp16(0x1p-6)
		tensor<fp16, [1, 3, 4]> m = mul(x = x, y = neg)
		tensor<fp16, [1, 3, 8]> c = concat(axis = ax, interleave = il, values = (x, m))
		tensor<fp16, [1, 3, 8]> n = layer_norm(axes = axes, epsilon = eps, x = c)
		tensor<fp16, [1, 3, 4]> y = slice_by_index(begin = tensor<int32, [3]>([0, 0, 0]), end = tensor<int32, [3]>([1, 3, 4]), end_mask = tensor<bool, [3]>([true, true, false]), x = n)`,
		[]ox.Message{ox.Constant("eps", nil, 1./64), ox.Node("Mul", "sq", inputNames("x", "x")), ox.Node("ReduceMean", "m", inputNames("sq"), ox.List("axes", -1)),
			ox.Node("Add", "v", inputNames("m", "eps")), ox.Node("Sqrt", "r", inputNames("v")), ox.Node("Div", "y", inputNames("x", "r"))}},
	{"boxes of an image, with samples at corners and in the middle of cells", "x 1,2,6,7", `
		b = tensor<fp16, [2, 4]>([1, 2, 3, 4, 4, 0, 5, 2]); i = tensor<int32, [2]>([0, 0]); roi = tensor<fp16, [2, 1, 5, 1, 1]>([0, 2, 1, 4.5, 3, 0, 1.5, 2, 6, 4]); h = int32(3); w = int32(3); one = int32(0); il = bool(false); ax = tensor<int32, [1]>([1])
		tensor<fp16, [2, 2, 3, 3]> c = crop_resize(x = x, boxes = b, box_indices = i, target_height = h, target_width = w, sampling_mode = string("STRICT_ALIGN_CORNERS"))
		tensor<fp16, [2, 1, 2, 3, 3]> d = crop_resize(x = x, roi = roi, target_height = h, target_width = w, box_coordinate_mode = string("CORNERS_WIDTH_FIRST"), sampling_mode = string("OFFSET_CORNERS"))
		tensor<fp16, [2, 2, 3, 3]> e = squeeze(axes = ax, x = d)
		tensor<fp16, [4, 2, 3, 3]> y = concat(axis = one, interleave = il, values = (c, e))`,
		[]ox.Message{ox.Ints("a", 1, 2), ox.Ints("b", 4, 5), ox.Ints("axes", 2, 3), ox.Node("Slice", "s", inputNames("x", "a", "b", "axes")), ox.Ints("c", 4, 0), ox.Ints("d", 6, 3), ox.Node("Slice", "t", inputNames("x", "c", "d", "axes")),
			ox.Ints("size", 1, 2, 3, 3), ox.Node("Resize", "u", inputNames("t", "", "", "size"), ox.Text("mode", "linear"), ox.Text("coordinate_transformation_mode", "align_corners")),
			ox.Constant("roi", []int{2, 4}, 2, 1, 4.5, 3, 1.5, 2, 6, 4), ox.Ints("i", 0, 0), ox.Node("RoiAlign", "v", inputNames("x", "roi", "i"), ox.Int("output_height", 3), ox.Int("output_width", 3), ox.Int("sampling_ratio", 1), ox.Text("coordinate_transformation_mode", "output_half_pixel")),
			ox.Node("Concat", "y", inputNames("s", "u", "v"), ox.Int("axis", 0))}},
	{"rotated positions", "x 1,2,3,4; cos 1,1,3,4; sin 1,1,3,4", `
		neg = fp16(-1); ax = int32(-1); il = bool(false)
		tensor<fp16, [1, 2, 3, 4]> a = mul(x = x, y = cos)
		tensor<fp16, [1, 2, 3, 2]> low = slice_by_index(begin = tensor<int32, [4]>([0, 0, 0, 0]), end = tensor<int32, [4]>([1, 2, 3, 2]), end_mask = tensor<bool, [4]>([true, true, true, false]), x = x)
		tensor<fp16, [1, 2, 3, 2]> high = slice_by_index(begin = tensor<int32, [4]>([0, 0, 0, 2]), end = tensor<int32, [4]>([1, 2, 3, 4]), end_mask = tensor<bool, [4]>([true, true, true, true]), x = x)
		tensor<fp16, [1, 2, 3, 2]> m = mul(x = high, y = neg)
		tensor<fp16, [1, 2, 3, 4]> t = concat(axis = ax, interleave = il, values = (m, low))
		tensor<fp16, [1, 2, 3, 4]> b = mul(x = t, y = sin)
		tensor<fp16, [1, 2, 3, 4]> y = add(x = a, y = b)`,
		[]ox.Message{ox.Ints("zero", 0), ox.Ints("two", 2), ox.Ints("four", 4), ox.Ints("ax", 3), ox.Node("Slice", "low", inputNames("x", "zero", "two", "ax")), ox.Node("Slice", "high", inputNames("x", "two", "four", "ax")),
			ox.Node("Neg", "m", inputNames("high")), ox.Node("Concat", "t", inputNames("m", "low"), ox.Int("axis", 3)), ox.Node("Mul", "a", inputNames("x", "cos")), ox.Node("Mul", "b", inputNames("t", "sin")), ox.Node("Add", "y", inputNames("a", "b"))}},
	{"attention with a mask, fused", "q 1,2,3,4; k 1,2,5,4; v 1,2,5,4; m 1,1,3,5", `
		tensor<fp16, [1, 2, 3, 4]> y = scaled_dot_product_attention(attn_mask = m, key = k, query = q, value = v)`,
		[]ox.Message{ox.Constant("s", nil, 0.5), ox.Node("Transpose", "t", inputNames("k"), ox.List("perm", 0, 1, 3, 2)), ox.Node("MatMul", "p", inputNames("q", "t")), ox.Node("Mul", "c", inputNames("p", "s")), ox.Node("Add", "a", inputNames("c", "m")),
			ox.Node("Softmax", "e", inputNames("a"), ox.Int("axis", 3)), ox.Node("MatMul", "y", inputNames("e", "v"))}},
	{"attention of grouped heads in pieces", "q 1,4,3,4; k 1,2,5,4; v 1,2,5,4", `
		ax2 = tensor<int32, [1]>([2]); reps = tensor<int32, [5]>([1, 1, 2, 1, 1]); sh = tensor<int32, [4]>([1, 4, 5, 4]); tx = bool(false); ty = bool(true); sc = fp16(0.5); last = int32(-1)
		tensor<fp16, [1, 2, 1, 5, 4]> k1 = expand_dims(axes = ax2, x = k)
		tensor<fp16, [1, 2, 2, 5, 4]> k2 = tile(reps = reps, x = k1)
		tensor<fp16, [1, 4, 5, 4]> k3 = reshape(shape = sh, x = k2)
		tensor<fp16, [1, 2, 1, 5, 4]> v1 = expand_dims(axes = ax2, x = v)
		tensor<fp16, [1, 2, 2, 5, 4]> v2 = tile(reps = reps, x = v1)
		tensor<fp16, [1, 4, 5, 4]> v3 = reshape(shape = sh, x = v2)
		tensor<fp16, [1, 4, 3, 4]> qs = mul(x = q, y = sc)
		tensor<fp16, [1, 4, 3, 5]> p = matmul(transpose_x = tx, transpose_y = ty, x = qs, y = k3)
		tensor<fp16, [1, 4, 3, 5]> e = softmax(axis = last, x = p)
		tensor<fp16, [1, 4, 3, 4]> y = matmul(transpose_x = tx, transpose_y = tx, x = e, y = v3)`,
		[]ox.Message{ox.Constant("s", nil, 0.5), ox.Ints("at", 0, 0, 1, 1), ox.Node("Gather", "k1", inputNames("k", "at"), ox.Int("axis", 1)), ox.Node("Gather", "v1", inputNames("v", "at"), ox.Int("axis", 1)), ox.Node("Transpose", "t", inputNames("k1"), ox.List("perm", 0, 1, 3, 2)),
			ox.Node("Mul", "c", inputNames("q", "s")), ox.Node("MatMul", "p", inputNames("c", "t")), ox.Node("Softmax", "e", inputNames("p"), ox.Int("axis", 3)), ox.Node("MatMul", "y", inputNames("e", "v1"))}},
	{"cache of keys with a slice replaced", "x 1,2,1,4; cache 1,2,6,4", `
		b = tensor<int32, [4]>([0, 0, 3, 0]); e = tensor<int32, [4]>([0, 0, 4, 0]); em = tensor<bool, [4]>([true, true, false, true])
		tensor<fp16, [1, 2, 6, 4]> u = slice_update(begin = b, end = e, end_mask = em, update = x, x = cache)
		tensor<fp16, [1, 2, 4, 4]> y = slice_by_index(begin = tensor<int32, [4]>([0, 0, 0, 0]), end = e, end_mask = em, x = u)`,
		[]ox.Message{ox.Ints("zero", 0), ox.Ints("three", 3), ox.Ints("ax", 2), ox.Node("Slice", "c", inputNames("cache", "zero", "three", "ax")), ox.Node("Concat", "y", inputNames("c", "x"), ox.Int("axis", 2))}},
	{"group norm in pieces", "x 1,4,3,3", `
		sh = tensor<int32, [5]>([1, 2, 2, 3, 3]); axes = tensor<int32, [3]>([2, 3, 4]); keep = bool(true); eps = fp16(0x1p-6); back = tensor<int32, [4]>([1, 4, 3, 3]); g = tensor<fp16, [1, 4, 1, 1]>([0.5, 1, 1.5, 2]); o = tensor<fp16, [1, 4, 1, 1]>([0.25, -0.5, 0, 1])
		tensor<fp16, [1, 2, 2, 3, 3]> r = reshape(shape = sh, x = x)
		tensor<fp16, [1, 2, 1, 1, 1]> m = reduce_mean(axes = axes, keep_dims = keep, x = r)
		tensor<fp16, [1, 2, 2, 3, 3]> c = sub(x = r, y = m)
		tensor<fp16, [1, 2, 2, 3, 3]> s = square(x = c)
		tensor<fp16, [1, 2, 1, 1, 1]> q = reduce_mean(axes = axes, keep_dims = keep, x = s)
		tensor<fp16, [1, 2, 1, 1, 1]> w = add(x = q, y = eps)
		tensor<fp16, [1, 2, 1, 1, 1]> d = sqrt(x = w)
		tensor<fp16, [1, 2, 2, 3, 3]> n = real_div(x = c, y = d)
		tensor<fp16, [1, 4, 3, 3]> f = reshape(shape = back, x = n)
		tensor<fp16, [1, 4, 3, 3]> h = mul(x = f, y = g)
		tensor<fp16, [1, 4, 3, 3]> y = add(x = h, y = o)`,
		[]ox.Message{ox.Ints("sh", 1, 2, 18), ox.Ints("back", 1, 4, 3, 3), ox.Constant("one", []int{2}, 1, 1), ox.Constant("zero", []int{2}, 0, 0), ox.Constant("g", []int{1, 4, 1, 1}, 0.5, 1, 1.5, 2), ox.Constant("o", []int{1, 4, 1, 1}, 0.25, -0.5, 0, 1), ox.Node("Reshape", "r", inputNames("x", "sh")),
			ox.Node("InstanceNormalization", "n", inputNames("r", "one", "zero"), ox.Float("epsilon", 1./64)), ox.Node("Reshape", "f", inputNames("n", "back")), ox.Node("Mul", "h", inputNames("f", "g")), ox.Node("Add", "y", inputNames("h", "o"))}},
	{"pixel shuffle", "x 1,8,2,3", `tensor<fp16, [1, 2, 4, 6]> y = pixel_shuffle(upscale_factor = int32(2), x = x)`,
		[]ox.Message{ox.Node("DepthToSpace", "y", inputNames("x"), ox.Int("blocksize", 2), ox.Text("mode", "CRD"))}},
	{"pixel unshuffle", "x 1,2,4,6", `tensor<fp16, [1, 8, 2, 3]> y = pixel_unshuffle(downscale_factor = uint32(2), x = x)`,
		[]ox.Message{ox.Ints("a", 1, 2, 2, 2, 3, 2), ox.Ints("b", 1, 8, 2, 3), ox.Node("Reshape", "r", inputNames("x", "a")), ox.Node("Transpose", "t", inputNames("r"), ox.List("perm", 0, 1, 3, 5, 2, 4)), ox.Node("Reshape", "y", inputNames("t", "b"))}},
	{"upsampling to the nearest", "x 1,2,3,4", `tensor<fp16, [1, 2, 6, 8]> y = upsample_nearest_neighbor(scale_factor_height = fp32(0x1p+1), scale_factor_width = fp32(0x1p+1), x = x)`,
		[]ox.Message{ox.Constant("s", []int{4}, 1, 1, 2, 2), ox.Node("Resize", "y", inputNames("x", "", "s"), ox.Text("mode", "nearest"), ox.Text("coordinate_transformation_mode", "asymmetric"), ox.Text("nearest_mode", "floor"))}},
	{"upsampling by straight lines, corners aligned", "x 1,2,3,4", `tensor<fp16, [1, 2, 6, 8]> y = upsample_bilinear(align_corners = bool(true), scale_factor_height = fp32(0x1p+1), scale_factor_width = fp32(0x1p+1), x = x)`,
		[]ox.Message{ox.Constant("s", []int{4}, 1, 1, 2, 2), ox.Node("Resize", "y", inputNames("x", "", "s"), ox.Text("mode", "linear"), ox.Text("coordinate_transformation_mode", "align_corners"))}},
	{"upsampling by straight lines between half pixels", "x 1,2,3,4", `tensor<fp16, [1, 2, 6, 8]> y = upsample_bilinear(align_corners = bool(false), half_pixel_centers = bool(true), scale_factor_height = fp32(0x1p+1), scale_factor_width = fp32(0x1p+1), x = x)`,
		[]ox.Message{ox.Constant("s", []int{4}, 1, 1, 2, 2), ox.Node("Resize", "y", inputNames("x", "", "s"), ox.Text("mode", "linear"), ox.Text("coordinate_transformation_mode", "half_pixel"))}},
	{"linear layer and gelu", "x 2,3", `
		w = tensor<fp16, [4, 3]>([0.5, -0.25, 1, 0.125, 0.75, -1, 0.25, 0.5, -0.5, 1, -0.75, 0.375]); b = tensor<fp16, [4]>([0.5, -0.5, 0.25, 0]); mode = string("EXACT")
		tensor<fp16, [2, 4]> l = linear(bias = b, weight = w, x = x)
		tensor<fp16, [2, 4]> y = gelu(mode = mode, x = l)`,
		[]ox.Message{ox.Constant("w", []int{4, 3}, 0.5, -0.25, 1, 0.125, 0.75, -1, 0.25, 0.5, -0.5, 1, -0.75, 0.375), ox.Constant("b", []int{4}, 0.5, -0.5, 0.25, 0), ox.Node("Gemm", "l", inputNames("x", "w", "b"), ox.Int("transB", 1)),
			ox.Constant("c", nil, 1.41421356), ox.Constant("h", nil, 0.5), ox.Constant("i", nil, 1), ox.Node("Div", "d", inputNames("l", "c")), ox.Node("Erf", "e", inputNames("d")), ox.Node("Add", "f", inputNames("e", "i")), ox.Node("Mul", "g", inputNames("l", "f")), ox.Node("Mul", "y", inputNames("g", "h"))}},
	{"gate of halves", "x 1,4,5", `
		ax = int32(1); n = int32(2)
		tensor<fp16, [1, 2, 5]> a, tensor<fp16, [1, 2, 5]> b = split(axis = ax, num_splits = n, x = x)
		tensor<fp16, [1, 2, 5]> s = sigmoid(x = b)
		tensor<fp16, [1, 2, 5]> y = mul(x = a, y = s)`,
		[]ox.Message{ox.Several("Split", inputNames("a", "b"), inputNames("x"), ox.Int("axis", 1)), ox.Node("Sigmoid", "s", inputNames("b")), ox.Node("Mul", "y", inputNames("a", "s"))}},
	{"strided convolution with padding on one side, batch norm and clip", "x 1,1,5,6", `
		w = tensor<fp16, [2, 1, 2, 2]>([0.5, -0.25, 1, 0.125, 0.75, -1, 0.25, 0.5]); pt = string("same"); st = tensor<int32, [2]>([2, 2]); pad = tensor<int32, [4]>([0, 0, 0, 0]); dil = tensor<int32, [2]>([1, 1]); gr = int32(1)
		mean = tensor<fp16, [2]>([0.25, -0.5]); variance = tensor<fp16, [2]>([1, 0.5]); ga = tensor<fp16, [2]>([1.5, 0.5]); be = tensor<fp16, [2]>([0.125, 0.25]); eps = fp16(0x1p-6)
		tensor<fp16, [1, 2, 3, 3]> c = conv(dilations = dil, groups = gr, pad = pad, pad_type = pt, strides = st, weight = w, x = x)
		tensor<fp16, [1, 2, 3, 3]> n = batch_norm(beta = be, epsilon = eps, gamma = ga, mean = mean, variance = variance, x = c)
		tensor<fp16, [1, 2, 3, 3]> y = clip(alpha = fp16(0), beta = fp16(6), x = n)`,
		[]ox.Message{ox.Constant("w", []int{2, 1, 2, 2}, 0.5, -0.25, 1, 0.125, 0.75, -1, 0.25, 0.5), ox.Constant("me", []int{2}, 0.25, -0.5), ox.Constant("va", []int{2}, 1, 0.5), ox.Constant("ga", []int{2}, 1.5, 0.5), ox.Constant("be", []int{2}, 0.125, 0.25), ox.Constant("lo", nil, 0), ox.Constant("hi", nil, 6),
			ox.Node("Conv", "c", inputNames("x", "w"), ox.List("strides", 2, 2), ox.Text("auto_pad", "SAME_UPPER")), ox.Node("BatchNormalization", "n", inputNames("c", "ga", "be", "me", "va"), ox.Float("epsilon", 1./64)), ox.Node("Clip", "y", inputNames("n", "lo", "hi"))}},
	{"product by letters", "q 1,2,3,4; k 1,2,4,5", `
		tensor<fp16, [1, 2, 3, 5]> y = einsum(equation = string("bchw,bcwu->bchu"), values = (q, k))`,
		[]ox.Message{ox.Node("MatMul", "y", inputNames("q", "k"))}},
	{"mean and maximum of tokens", "x 1,3,4", `
		axes = tensor<int32, [1]>([1]); keep = bool(false); ax = int32(1); il = bool(false)
		tensor<fp16, [1, 4]> a = reduce_mean(axes = axes, keep_dims = keep, x = x)
		tensor<fp16, [1, 4]> b = reduce_max(axes = axes, keep_dims = keep, x = x)
		tensor<fp16, [1, 8]> y = concat(axis = ax, interleave = il, values = (a, b))`,
		[]ox.Message{ox.Node("ReduceMean", "a", inputNames("x"), ox.List("axes", 1), ox.Int("keepdims", 0)), ox.Node("ReduceMax", "b", inputNames("x"), ox.List("axes", 1), ox.Int("keepdims", 0)), ox.Node("Concat", "y", inputNames("a", "b"), ox.Int("axis", 1))}},
	{"padding by reflection", "x 1,2,4,5", `
		tensor<fp16, [1, 2, 6, 8]> y = pad(constant_val = fp16(0), mode = string("reflect"), pad = tensor<int32, [8]>([0, 0, 0, 0, 1, 1, 2, 1]), x = x)`,
		[]ox.Message{ox.Ints("p", 0, 0, 1, 2, 0, 0, 1, 1), ox.Node("Pad", "y", inputNames("x", "p"), ox.Text("mode", "reflect"))}},
	{"average pool that leaves out its padding", "x 1,2,4,5", `
		tensor<fp16, [1, 2, 2, 3]> y = avg_pool(ceil_mode = bool(false), exclude_padding_from_average = bool(true), kernel_sizes = tensor<int32, [2]>([3, 3]), pad = tensor<int32, [4]>([1, 1, 1, 1]), pad_type = string("custom"), strides = tensor<int32, [2]>([2, 2]), x = x)`,
		[]ox.Message{ox.Node("AveragePool", "y", inputNames("x"), ox.List("kernel_shape", 3, 3), ox.List("pads", 1, 1, 1, 1), ox.List("strides", 2, 2))}},
	{"instance norm", "x 1,2,3,4", `
		tensor<fp16, [1, 2, 3, 4]> y = instance_norm(beta = tensor<fp16, [2]>([0.5, -1]), epsilon = fp16(0x1p-6), gamma = tensor<fp16, [2]>([2, 0.5]), x = x)`,
		[]ox.Message{ox.Constant("g", []int{2}, 2, 0.5), ox.Constant("b", []int{2}, 0.5, -1), ox.Node("InstanceNormalization", "y", inputNames("x", "g", "b"), ox.Float("epsilon", 1./64))}},
}

// TestMILConverterForms compares layers as Core ML's converters write them with ONNX's definition of the same.
func TestMILConverterForms(t *testing.T) {
	for _, tc := range milForms {
		t.Run(tc.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(51, 1))
			inputs := map[string]*tensor.Tensor{}
			parts := append([]ox.Message{ox.Output("y")}, tc.nodes...)
			var ports []string
			for in := range strings.SplitSeq(tc.in, "; ") {
				name, shape, _ := strings.Cut(in, " ")
				x := &tensor.Tensor{Type: onnx.Float}
				n := 1
				for text := range strings.SplitSeq(shape, ",") {
					var d int
					fmt.Sscan(text, &d)
					x.Dims = append(x.Dims, d)
					n *= d
				}
				for range n {
					x.Data = append(x.Data, float64(2*r.IntN(128)-127)/64)
				}
				inputs[name] = x
				parts = append(parts, ox.Input(name, x.Dims...))
				ports = append(ports, fmt.Sprintf("tensor<fp16, [%s]> %s", strings.ReplaceAll(shape, ",", ", "), name))
			}
			want, err := Read(ox.Model(parts...), inputs)
			if err != nil {
				t.Fatal(err)
			}
			n, err := network.ReadMIL([]byte(writeMIL(ports, tc.program)), network.Options{})
			if err != nil {
				t.Fatal(err)
			}
			results, _, err := runNetwork(n, inputs)
			if err != nil {
				t.Fatal(err)
			}
			y := results["y"]
			if y == nil || y.Data == nil {
				t.Fatalf("not computed: %s", strings.Join(n.Notes, "; "))
			}
			y.Type = want.Exact["y"].Type.String() // fp16 in the program
			if what := want.compare(results); what != "" {
				t.Error(what)
			}
		})
	}
}

// writeMIL returns a program with the given inputs, the constants and operations of text, and the result y.
func writeMIL(ports []string, text string) string {
	var body strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if head, _, _ := strings.Cut(line, " = "); strings.Contains(head, " ") {
			fmt.Fprintf(&body, "        %s[name = string(\"op\")];\n", line)
			continue
		}
		for c := range strings.SplitSeq(line, "; ") {
			if name, value, ok := strings.Cut(c, " = "); ok {
				kind, _, _ := strings.Cut(value, "(")
				fmt.Fprintf(&body, "        %s %s = const()[name = string(%q), val = %s];\n", kind, name, name, value)
			}
		}
	}
	return fmt.Sprintf("program(1.3)\n{\n    func main<ios18>(%s) {\n%s    } -> (y);\n}\n", strings.Join(ports, ", "), body.String())
}
