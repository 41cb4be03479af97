package probe

import (
	"math"
	"slices"
	"sync"

	"anesim/internal/network/mil"
	"anesim/internal/numpy"
)

// theModel returns the probe's model, which nobody may change.
var theModel = sync.OnceValue(newModel)

// newModel returns the probe's model. It is the same whenever it is made: random values come from
// numpy's default generator with the seeds here.
func newModel() *builder {
	b := &builder{}
	b.askSums()
	b.askBiases()
	b.askOneChannel()
	b.askLinear()
	b.askConvolution()
	b.askProduct()
	b.askElementwise()
	b.askTables()
	b.askReductions()
	b.askNorms()
	b.askScale()
	b.askQuantized()
	return b
}

// weights lists the weights of the output channels of the single sums. All terms of a sum have the same
// weight. Several are close to the limit below which products are dropped.
var weights = []float64{
	1, -1, 3, 16, 256, 4096, 0.25, 0.2, 0.125, 0x1p-4, 0x1p-8, 0x1p-12,
	1.875 * 0x1p-3, 1.99 * 0x1p-3, 1.5 * 0x1p-4, 1.9375 * 0x1p-5,
}

// listSingleSums returns the inputs of the single sums. With the weights above, they include the
// sums that the 751K study asked an M4 and an M6 for, and sums that show the loss of large terms on an M1.
func listSingleSums() (list [][]float64) {
	for _, x := range []float64{
		0, 1, 3, 127, 127.9375, 128, 129, 2047, 2048, 16, 4096, 7.99609375, 8, // with weights from 16 to 4096
		16384, 24576, 30000, 32000, 32736, 32752, 32768, 32784, 40000, 49152, 65504, -32752, -32768, -65504,
		0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-8, 0x1p-10, 0x1p-11, 0x1p-12,
		1.875 * 0x1p-14, 1.99 * 0x1p-14, 1.9 * 0x1p-13, 1.9375 * 0x1p-12, 0.99 * 0x1p-14, 1.5 * 0x1p-13, 0.5 * 0x1p-14,
		math.Inf(1), math.Inf(-1), math.NaN(),
	} {
		list = append(list, []float64{x})
	}
	for k := 13; k <= 24; k++ {
		list = append(list, []float64{math.Ldexp(1, -k)}, []float64{math.Ldexp(1.5, -k)})
	}
	list = append(list,
		[]float64{16000, 16000}, []float64{16376, 16376}, []float64{16384, 16368}, []float64{16384, 16376}, []float64{16384, 16384},
		[]float64{30000, 2752}, []float64{30000, 2768}, // around the limit
		[]float64{16384, 16384, -16384, -16384, 1}, []float64{16384, 16384, 16384, -16384, -16384, -16384, 1}, []float64{30000, 30000, -30000, -30000, 1},
		[]float64{2048, 1}, []float64{-2048, -1}, []float64{2050, 1}, []float64{-2050, -1}, []float64{4096, 2}, []float64{4096, 6}, []float64{-4096, -2},
		[]float64{1, 0x1p-11}, []float64{-1, -0x1p-11}, []float64{1, 0x1p-12},
		[]float64{1, 0x1p-11, 0x1p-13}, []float64{1, 0x1p-11, -0x1p-13}, // ties, and nearly ties
		[]float64{math.Inf(1), math.Inf(-1), 1},
	)
	for _, large := range []float64{1024, 16384} {
		// The middle term is lost as soon as the sum has no bits for it beside the large one: the result
		// shows the width of the accumulator.
		for k := 0; k < 26; k += 2 {
			list = append(list, []float64{large, math.Ldexp(1, -k), -large})
		}
	}
	for _, large := range []float64{1024, 3000, 4090, 4096, 8000, 16000, 30000} {
		list = append(list, slices.Repeat([]float64{large, -large, 1}, 16), slices.Repeat([]float64{large, 1, -large}, 16))
	}
	return list
}

// newPixels returns x [1][channels][1][len(list)], whose pixel i has the terms of list[i] and zeros
// in the channels after them.
func newPixels(list [][]float64, channels int) []half {
	x := make([]half, channels*len(list))
	for i, terms := range list {
		for c, v := range terms {
			x[c*len(list)+i] = toHalf(v)
		}
	}
	return x
}

func (b *builder) askSums() {
	const channels = 48
	list := listSingleSums()
	x := b.addInput("sums_x", newPixels(list, channels), 1, channels, 1, len(list))
	var w []half
	for _, v := range weights {
		w = append(w, slices.Repeat([]half{toHalf(v)}, channels)...)
	}
	b.askConvolutionOf("sums", x, w, 1, nil, false)
}

// biases lists the biases of the output channels of the sums with a bias.
var biases = []float64{
	0, 1, 32, 2048, 1000.5, -1000, 0.1, 0.333, -16384, -32752,
	0x1p-17, -0x1p-17, 0x1p-18, 3 * 0x1p-18, 0x1p-20, 0x1p-24,
}

// biasedSums lists the inputs of the sums with a bias. Their weights are 1.
var biasedSums = [][]float64{
	{0}, {1}, {-0.3}, {1000}, {0.25}, {0x1p-11}, {0x1p-17}, {32736}, {32752}, {16384, 16384}, {16384, 16384, 16384}, {-16384, -16384, 16384},
}

func (b *builder) askBiases() {
	const channels = 16
	x := b.addInput("biased_x", newPixels(biasedSums, channels), 1, channels, 1, len(biasedSums))
	b.askConvolutionOf("biased", x, slices.Repeat([]half{toHalf(1)}, channels*len(biases)), 1, toHalves(biases), false)
}

// askOneChannel asks for products to which nothing is added.
func (b *builder) askOneChannel() {
	x := toHalves([]float64{
		1, 3, 0x1p-16, 0x1p-17, 0x1p-18, 0x1p-24, 100, 1024.5, 8192, 16000, 16368, 16376, 16384, 16400, 17000, 20000,
		24576, 28000, 30000, 31000, 32000, 32736, 32752, 32768, -16376, -16384, -20000, -32000, -32752, -32768, -1, 0,
	})
	b.askConvolutionOf("one_channel", b.addInput("one_channel_x", x, 1, 1, 1, len(x)), toHalves([]float64{2}), 1, nil, false)
}

// askConvolutionOf asks for a convolution of x [1][cin][h][w] with weights [cout][cin][k][k]. A border of k/2
// zeros surrounds x.
func (b *builder) askConvolutionOf(name string, x input, weights []half, k int, bias []half, relu bool) {
	cin, h, w := x.shape[1], x.shape[2], x.shape[3]
	taps := cin * k * k
	cout := len(weights) / taps
	q := &question{name: name, shape: []int{1, cout, h, w}, relu: relu}
	q.operands = func(i int) (float32, []half, []half) {
		channel, row, column := i/(h*w), i/w%h, i%w
		window := make([]half, 0, taps)
		for c := range cin {
			for dy := range k {
				for dx := range k {
					v, y, x0 := half(0), row+dy-k/2, column+dx-k/2
					if y >= 0 && y < h && x0 >= 0 && x0 < w {
						v = x.data[(c*h+y)*w+x0]
					}
					window = append(window, v)
				}
			}
		}
		first := float32(0)
		if bias != nil {
			first = bias[channel].Float32()
		}
		return first, window, weights[channel*taps:][:taps]
	}
	from := arguments{
		"x": x.name, "weight": b.addConstant(newHalves(weights, cout, cin, k, k)),
		"strides": b.addConstant(newIntegers(1, 1)), "dilations": b.addConstant(newIntegers(1, 1)), "groups": b.addConstant(newInteger(1)),
		"pad_type": b.addConstant(newText("custom")), "pad": b.addConstant(newIntegers(k/2, k/2, k/2, k/2)),
	}
	if bias != nil {
		from["bias"] = b.addConstant(newHalves(bias, cout))
	}
	// The ReLU is an operation of its own, as a converter writes it; the engine is expected to merge it.
	if relu {
		b.ask(q, "relu", arguments{"x": b.addOperation("conv", name+"_sum", q.shape, from)})
		return
	}
	b.ask(q, "conv", from)
}

// Sizes of the linear layer, whose relative error chips printed.
const linearRows, linearColumns = 64, 256

// newLinearData returns the inputs [64][256] and weights [256][256] of the published linear layer, before
// they are rounded to fp16.
func newLinearData() (x, w []float32) {
	g := numpy.New(0)
	x, w = g.Normals32(linearRows*linearColumns), g.Normals32(linearColumns*linearColumns)
	for _, list := range [][]float32{x, w} {
		for i := range list {
			list[i] /= 16 // the root of linearColumns
		}
	}
	return x, w
}

func (b *builder) askLinear() {
	x32, w32 := newLinearData()
	x, w := toHalves(x32), toHalves(w32)
	q := &question{name: "linear", shape: []int{linearRows, linearColumns}}
	q.operands = newRowOperands(x, w, linearColumns, linearColumns)
	b.ask(q, "linear", arguments{
		"x":      b.addInput("linear_x", x, linearRows, linearColumns).name,
		"weight": b.addConstant(newHalves(w, linearColumns, linearColumns)),
		"bias":   b.addConstant(newHalves(make([]half, linearColumns), linearColumns)),
	})
}

// newRowOperands returns the operands of products of rows x[][k] with rows w[n][k].
func newRowOperands(x, w []half, n, k int) func(int) (float32, []half, []half) {
	return func(i int) (float32, []half, []half) { return 0, x[i/n*k:][:k], w[i%n*k:][:k] }
}

// Sizes of the 3x3 convolution, whose relative error chips printed.
const imageChannels, imageOutputs, imageSize = 16, 64, 32

// newImageData returns the image [16][32][32] and the weights [64][16][3][3] of the published convolution,
// before they are rounded to fp16.
func newImageData() (x []float32, w []float64) {
	g := numpy.New(1)
	x = g.Normals32(imageChannels * imageSize * imageSize)
	w = make([]float64, imageOutputs*imageChannels*9)
	scale := math.Sqrt(2.0 / (9 * imageChannels))
	for i := range w {
		w[i] = float64(float32(g.Normal())) * scale
	}
	return x, w
}

func (b *builder) askConvolution() {
	x, w := newImageData()
	b.askConvolutionOf("convolution", b.addInput("image", toHalves(x), 1, imageChannels, imageSize, imageSize), toHalves(w), 3, nil, true)
}

// askProduct asks for a product of two tensors that are both inputs. Many products of its sums are
// small enough to be dropped.
func (b *builder) askProduct() {
	const m, k, n = 32, 64, 32
	g := numpy.New(48)
	x, y := newNormals(g, m*k, 1), newNormals(g, k*n, 0x1p-8)
	columns := make([]half, 0, n*k)
	for c := range n {
		for r := range k {
			columns = append(columns, y[r*n+c])
		}
	}
	q := &question{name: "product", shape: []int{1, 1, m, n}, operands: newRowOperands(x, columns, n, k)}
	no := b.addConstant(newBool(false))
	b.ask(q, "matmul", arguments{
		"x": b.addInput("product_x", x, 1, 1, m, k).name, "y": b.addInput("product_y", y, 1, 1, k, n).name,
		"transpose_x": no, "transpose_y": no,
	})
}

// newNormals returns n normally distributed numbers with the given deviation.
func newNormals(g *numpy.Generator, n int, deviation float64) []half {
	list := make([]half, n)
	for i := range list {
		list[i] = toHalf(g.Normal() * deviation)
	}
	return list
}

// newNumber returns a random number with a random sign whose exponent is uniform in [low, high].
func newNumber(g *numpy.Generator, low, high int) float64 {
	bits := g.Uint64()
	v := math.Ldexp(1+float64(bits&0x3ff)/1024, low+int(bits>>11%uint64(high-low+1)))
	if bits>>10&1 != 0 {
		return -v
	}
	return v
}

// askElementwise asks for sums whose operands are close enough to need rounding, and for products of
// which half are denormal.
func (b *builder) askElementwise() {
	shape := []int{1, 64, 1, 64}
	n := countShapeElements(shape)
	g := numpy.New(49)
	sum, product := [2][]half{}, [2][]half{}
	for i := range n {
		x := newNumber(g, -14, 14)
		_, e := math.Frexp(x)
		sum[0] = append(sum[0], toHalf(x))
		// An exponent within 12 of the other: operands far apart give the larger one, and show no
		// rounding.
		sum[1] = append(sum[1], toHalf(math.Ldexp(newNumber(g, -12, 2), e-1)))
		y := newNumber(g, -12, 4)
		_, e = math.Frexp(y)
		product[0] = append(product[0], toHalf(y))
		if i%2 == 0 {
			product[1] = append(product[1], toHalf(newNumber(g, -3, 10)))
		} else {
			product[1] = append(product[1], toHalf(newNumber(g, -26-e+1, -14-e+1)))
		}
	}
	for _, x := range []struct {
		name, op string
		data     [2][]half
		exact    func(x, y float64) float64
	}{
		{"sum", "add", sum, func(x, y float64) float64 { return x + y }},
		{"multiplication", "mul", product, func(x, y float64) float64 { return x * y }},
	} {
		q := &question{name: x.name, shape: shape, of: x.data[:]}
		for i := range n {
			q.exact = append(q.exact, x.exact(toFloat64(x.data[0][i]), toFloat64(x.data[1][i])))
		}
		b.ask(q, x.op, arguments{
			"x": b.addInput(x.name+"_x", x.data[0], shape...).name, "y": b.addInput(x.name+"_y", x.data[1], shape...).name,
		})
	}
}

// Core ML adds inverseEpsilon to the operand of an inverse by default, in fp16.
var inverseEpsilon = toHalf(1e-4)

// askTables asks for functions that the engine interpolates in a table.
func (b *builder) askTables() {
	shape := []int{1, 32, 1, 64}
	g := numpy.New(50)
	signed, positive := make([]half, countShapeElements(shape)), make([]half, countShapeElements(shape))
	for i := range signed {
		// The range reaches beyond all knots of the tables, so the lines outside are asked for too.
		signed[i], positive[i] = toHalf(newNumber(g, -16, 3)), toHalf(math.Abs(newNumber(g, -14, 15)))
	}
	anySign, above := b.addInput("signed", signed, shape...), b.addInput("positive", positive, shape...)
	none := b.addConstant(newHalves([]half{0}))
	for _, f := range []struct {
		name  string
		x     input
		more  arguments
		exact func(float64) float64
	}{
		{"sigmoid", anySign, nil, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
		{"tanh", anySign, nil, math.Tanh},
		{"gelu", anySign, arguments{"mode": b.addConstant(newText("EXACT"))}, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }},
		{"silu", anySign, nil, func(x float64) float64 { return x / (1 + math.Exp(-x)) }},
		{"exp", anySign, nil, math.Exp},
		{"sqrt", above, nil, math.Sqrt},
		{"rsqrt", above, arguments{"epsilon": none}, func(x float64) float64 { return 1 / math.Sqrt(x) }},
		{"inverse", above, arguments{"epsilon": b.addConstant(newHalves([]half{inverseEpsilon}))}, func(x float64) float64 { return 1 / (x + toFloat64(inverseEpsilon)) }},
		{"log", above, arguments{"epsilon": none}, math.Log},
	} {
		q := &question{name: f.name, shape: shape, of: [][]half{f.x.data}}
		for _, v := range f.x.data {
			q.exact = append(q.exact, f.exact(toFloat64(v)))
		}
		from := arguments{"x": f.x.name}
		for key, name := range f.more {
			from[key] = name
		}
		b.ask(q, f.name, from)
	}
}

// newReductionRows returns rows of which each shows a part of the order in which a row is added. Some are
// normally distributed. In the others, all but three elements are 0: 2048 at the start, 1 at each of
// the given places, and -2048 at the middle or the end. Their sum is 1, unless 2048 and 1 meet first,
// which gives 2050.
func newReductionRows(g *numpy.Generator, normal, columns int, places []int) []half {
	x := newNormals(g, normal*columns, 1)
	for _, last := range []int{columns / 2, columns - 1} {
		for _, place := range places {
			row := make([]half, columns)
			row[0], row[last] = toHalf(2048), toHalf(-2048)
			row[place] = toHalf(1)
			x = append(x, row...)
		}
	}
	return x
}

// askReductions asks for sums of rows of two lengths. Chips printed relative errors for the longer one.
func (b *builder) askReductions() {
	var near, far []int
	for place := 1; place < 255; place += 2 {
		near = append(near, place)
	}
	for place := 1; place < 2048; place *= 2 {
		far = append(far, place, place+2048)
	}
	b.askReduction("reduce_sum", 256, newReductionRows(numpy.New(11), 10, 256, near))
	b.askReduction("reduce_sum_4096", 4096, newReductionRows(numpy.New(11), 8, 4096, far))
}

func (b *builder) askReduction(name string, columns int, x []half) {
	rows := len(x) / columns
	q := &question{name: name, shape: []int{1, 1, rows, 1}, of: [][]half{x}}
	for r := range rows {
		total := 0.0
		for _, v := range x[r*columns:][:columns] {
			total += toFloat64(v)
		}
		q.exact = append(q.exact, total)
	}
	b.ask(q, "reduce_sum", arguments{
		"x":    b.addInput(name+"_x", x, 1, 1, rows, columns).name,
		"axes": b.addConstant(newIntegers(-1)), "keep_dims": b.addConstant(newBool(true)),
	})
}

// askNorms asks for a softmax and a layer norm of the same rows.
func (b *builder) askNorms() {
	// One seed for both, so that a difference between the two is not one of their data.
	const rows, columns = 32, 256
	g := numpy.New(51)
	data := newNormals(g, rows*columns, 1)
	gamma, beta := newNormals(g, columns, 1), newNormals(g, columns, 1)
	x := b.addInput("rows", data, 1, 1, rows, columns)
	softmax := &question{name: "softmax", shape: x.shape, of: [][]half{data}}
	norm := &question{name: "layer_norm", shape: x.shape, of: [][]half{data}}
	const epsilon = 1e-5
	for r := range rows {
		row := data[r*columns:][:columns]
		total, mean, variance := 0.0, 0.0, 0.0
		for _, v := range row {
			total += math.Exp(toFloat64(v))
			mean += toFloat64(v) / columns
		}
		for _, v := range row {
			variance += (toFloat64(v) - mean) * (toFloat64(v) - mean) / columns
		}
		for c, v := range row {
			softmax.exact = append(softmax.exact, math.Exp(toFloat64(v))/total)
			norm.exact = append(norm.exact, float64((toFloat64(v)-mean)/math.Sqrt(variance+epsilon)*toFloat64(gamma[c]))+toFloat64(beta[c]))
		}
	}
	last := b.addConstant(newInteger(-1))
	b.ask(softmax, "softmax", arguments{"x": x.name, "axis": last})
	b.ask(norm, "layer_norm", arguments{
		"x": x.name, "axes": b.addConstant(newIntegers(-1)), "epsilon": b.addConstant(newHalves([]half{toHalf(epsilon)})),
		"gamma": b.addConstant(newHalves(gamma, columns)), "beta": b.addConstant(newHalves(beta, columns)),
	})
}

// The scaled sums are multiplied by scale.
var scale = toHalf(0.3)

// askScale asks for sums that are multiplied by a constant, which a compiler may do in the same task.
func (b *builder) askScale() {
	const channels, pixels = 16, 64
	g := numpy.New(52)
	x := b.addInput("scaled_x", newNormals(g, channels*pixels, 1), 1, channels, 1, pixels)
	w := newNormals(g, channels*channels, 0.25)
	q := &question{name: "scaled", shape: []int{1, channels, 1, pixels}}
	columns := make([]half, 0, channels*pixels)
	for p := range pixels {
		for c := range channels {
			columns = append(columns, x.data[c*pixels+p])
		}
	}
	q.operands = func(i int) (float32, []half, []half) {
		return 0, columns[i%pixels*channels:][:channels], w[i/pixels*channels:][:channels]
	}
	sum := b.addOperation("conv", "scaled_sum", q.shape, arguments{
		"x": x.name, "weight": b.addConstant(newHalves(w, channels, channels, 1, 1)),
		"strides": b.addConstant(newIntegers(1, 1)), "dilations": b.addConstant(newIntegers(1, 1)), "groups": b.addConstant(newInteger(1)),
		"pad_type": b.addConstant(newText("valid")), "pad": b.addConstant(newIntegers(0, 0, 0, 0)),
	})
	b.ask(q, "mul", arguments{"x": sum, "y": b.addConstant(newHalves([]half{scale}))})
}

// Sizes and scale of the linear layer with 8-bit weights.
const codeRows, codeColumns, codeOutputs = 32, 64, 32

var codeScale = toHalf(0.0074768)

// newQuantizedWeights returns the 8-bit weights [32][64] of the quantized layer.
func newQuantizedWeights() []int8 {
	g := numpy.New(53)
	list := make([]int8, codeOutputs*codeColumns)
	for i := range list {
		list[i] = int8(g.Uint64())
	}
	return list
}

func (b *builder) askQuantized() {
	x := newNormals(numpy.New(54), codeRows*codeColumns, 1)
	list := newQuantizedWeights()
	data, w := make([]byte, len(list)), make([]half, len(list))
	for i, v := range list {
		data[i], w[i] = byte(v), toHalf(float64(v))
	}
	dense := b.appendOperation(mil.Operation{Type: "constexpr_affine_dequantize", Attributes: map[string]mil.Value{
		"quantized_data": {Type: newType("int8", codeOutputs, codeColumns), Data: data},
		"scale":          newHalves([]half{codeScale}),
		"zero_point":     {Type: newType("int8"), Data: []byte{0}},
		"axis":           newInteger(0),
	}}, "quantized_weights", newType("fp16", codeOutputs, codeColumns))
	q := &question{name: "quantized", shape: []int{codeRows, codeOutputs}, operands: newRowOperands(x, w, codeOutputs, codeColumns)}
	b.ask(q, "linear", arguments{
		"x": b.addInput("quantized_x", x, codeRows, codeColumns).name, "weight": dense,
		"bias": b.addConstant(newHalves(make([]half, codeOutputs), codeOutputs)),
	})
}
