package randomprogram

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"anesim/internal/network/onnx"
)

const (
	maxElements  = 800 // of a tensor
	maxMagnitude = 200 // of an element
	maxSquares   = 3e4 // of a sum of squares or a product within an operation, which fp16 must hold
)

// A generator builds a program one statement at a time.
type generator struct {
	*rand.Rand
	Program
	float onnx.DataType // type of all floating-point tensors
	lines []string      // constants of the next statement
	names int
}

// New returns a random program, generated in at most the given number of steps. Each step adds one
// operation or a few related ones, such as a cast and an operation on its result. The same
// arguments always give the same program. New panics if steps is not positive.
func New(seed uint64, steps int) *Program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 3)), float: onnx.Float16}
	if g.IntN(5) == 0 {
		g.float = onnx.Float
	}
	for range 1 + g.IntN(2) {
		dims := g.chooseShape(1 + g.IntN(5))
		g.Inputs = append(g.Inputs, g.addValue(g.float, dims, g.chooseNumbers(dims), true))
	}
	n := 1 + g.IntN(steps)
	// An emitter that finds no suitable value adds nothing, and the values may suit none of them.
	for tries := 0; n > 0 && tries < 100; tries++ {
		before := len(g.statements)
		emitters[g.IntN(len(emitters))](g)
		if len(g.statements) > before {
			n--
		}
		g.lines = nil
	}
	used := map[int]bool{}
	for _, s := range g.statements {
		for _, i := range s.in {
			used[i] = true
		}
	}
	var out []int
	for i, v := range g.Values {
		// All results that nothing reads become outputs, so that every statement counts.
		if v.from >= 0 && !used[i] && g.statements[v.from].op != "const" {
			out = append(out, i)
		}
	}
	return g.Program.Select(out...)
}

func (g *generator) tossCoin() bool { return g.IntN(2) == 0 }

// chooseShape returns a random shape.
func (g *generator) chooseShape(rank int) []int {
	for {
		d := make([]int, rank)
		for i := range d {
			d[i] = 1 + g.IntN(7)
			if g.IntN(6) == 0 {
				d[i] = 1 + g.IntN(20)
			}
		}
		if rank > 3 && g.IntN(4) != 0 {
			d[0] = 1
		}
		if onnx.Elements(d) <= maxElements/2 {
			return d
		}
	}
}

// chooseNumbers returns multiples of 1/8 from -3 to 3, one for each element of a shape.
func (g *generator) chooseNumbers(dims []int) []float64 {
	v := make([]float64, onnx.Elements(dims))
	for i := range v {
		v[i] = float64(g.IntN(49)-24) / 8
	}
	return v
}

func (g *generator) addValue(t onnx.DataType, dims []int, data []float64, exact bool) int {
	prefix := "v"
	g.names++
	g.Values = append(g.Values, &Value{Name: fmt.Sprint(prefix, g.names), Type: t, Dims: dims, data: data, exact: exact, from: -1})
	return len(g.Values) - 1
}

// A result declares the type and shape of a value that a statement computes.
type result struct {
	t    onnx.DataType
	dims []int
}

// emit appends a statement that calls op with the given arguments, unless a result is too large.
// It returns the numbers of the results, or nil. The results are exact if keeps is set, the inputs
// are exact, and fp16 holds the results.
func (g *generator) emit(op string, in []int, out []result, keeps bool, arguments []string, eval func(in [][]float64) [][]float64) []int {
	args := make([][]float64, len(in))
	for i, v := range in {
		args[i] = g.Values[v].data
		keeps = keeps && g.Values[v].exact
	}
	for _, o := range out {
		if n := onnx.Elements(o.dims); n > maxElements && len(in) > 0 || n < 1 || len(o.dims) > 5 {
			return nil
		}
	}
	values := eval(args)
	for k, v := range values {
		if len(v) != onnx.Elements(out[k].dims) {
			panic(fmt.Sprintf("%s computes %d elements for shape %v", op, len(v), out[k].dims))
		}
		for _, x := range v {
			// Negated, so that NaN is refused too.
			if !(math.Abs(x) <= maxMagnitude) {
				return nil
			}
			// Multiples of 1/64 below 16 have at most ten bits: fp16 holds them, and sums of a few.
			keeps = keeps && x*64 == math.Trunc(x*64) && math.Abs(x) < 16
		}
	}
	var numbers []int
	var declarations []string
	for k, o := range out {
		i := g.addValue(o.t, o.dims, values[k], keeps || !o.t.IsFloat())
		g.Values[i].from = len(g.statements)
		numbers = append(numbers, i)
		declarations = append(declarations, g.Values[i].formatDeclaration())
	}
	arguments = slices.DeleteFunc(slices.Clone(arguments), func(s string) bool { return s == "" })
	g.Shuffle(len(arguments), func(i, j int) { arguments[i], arguments[j] = arguments[j], arguments[i] })
	line := fmt.Sprintf("%s = %s(%s)[name = string(%q)]", strings.Join(declarations, ", "), op, strings.Join(arguments, ", "), g.Values[numbers[0]].Name)
	if op == "const" {
		line = fmt.Sprintf("%s = const()[%s]", declarations[0], arguments[0])
	}
	g.statements = append(g.statements, statement{op, in, numbers, append(g.lines, line), eval})
	g.lines = nil
	return numbers
}

// addConstant adds a constant tensor and returns its number.
func (g *generator) addConstant(t onnx.DataType, dims []int, data []float64) int {
	lines := g.lines
	g.lines = nil
	i := g.emit("const", nil, []result{{t, dims}}, true, []string{"val = " + formatConstant(t, dims, data)}, func([][]float64) [][]float64 { return [][]float64{data} })
	g.lines = lines
	if i == nil {
		panic("constant is not valid")
	}
	return i[0]
}

// formatConstant returns the text of a constant.
func formatConstant(t onnx.DataType, dims []int, data []float64) string {
	var s []string
	for _, v := range data {
		switch t {
		case onnx.Bool:
			s = append(s, fmt.Sprint(v != 0))
		case onnx.Int32:
			s = append(s, fmt.Sprint(int(v)))
		default:
			s = append(s, fmt.Sprintf("%x", v))
		}
	}
	if dims == nil {
		return fmt.Sprintf("%s(%s)", typeNames[t], s[0])
	}
	return fmt.Sprintf("tensor<%s, %s>([%s])", typeNames[t], listInts(dims), strings.Join(s, ", "))
}

// formatArgument returns key = text, in which the text is a constant of its own with probability 1/2.
func (g *generator) formatArgument(key, typ, text string) string {
	if g.tossCoin() {
		return key + " = " + text
	}
	g.names++
	name := fmt.Sprint("c", g.names)
	g.lines = append(g.lines, fmt.Sprintf("%s %s = const()[val = %s]", typ, name, text))
	return key + " = " + name
}

func (g *generator) formatInts(key string, v []int) string {
	f := make([]float64, len(v))
	for i, n := range v {
		f[i] = float64(n)
	}
	return g.formatArgument(key, fmt.Sprintf("tensor<int32, [%d]>", len(v)), formatConstant(onnx.Int32, []int{len(v)}, f))
}

func (g *generator) formatInt(key string, v int) string {
	return g.formatArgument(key, "int32", fmt.Sprintf("int32(%d)", v))
}

func (g *generator) formatBool(key string, v bool) string {
	return g.formatArgument(key, "bool", fmt.Sprintf("bool(%t)", v))
}

func (g *generator) formatBools(key string, v []bool) string {
	f := make([]float64, len(v))
	for i, b := range v {
		if b {
			f[i] = 1
		}
	}
	return g.formatArgument(key, fmt.Sprintf("tensor<bool, [%d]>", len(v)), formatConstant(onnx.Bool, []int{len(v)}, f))
}

func (g *generator) formatText(key, v string) string {
	return g.formatArgument(key, "string", fmt.Sprintf("string(%q)", v))
}

func (g *generator) formatNumber(key string, v float64) string {
	return g.formatArgument(key, typeNames[g.float], formatConstant(g.float, nil, []float64{v}))
}

// omitDefault returns the text of an argument, or sometimes "" if it is the default.
func (g *generator) omitDefault(isDefault bool, text func() string) string {
	if isDefault && g.IntN(3) != 0 {
		return ""
	}
	return text()
}

func (g *generator) formatValueArgument(key string, v int) string {
	return key + " = " + g.Values[v].Name
}

// pickValue returns the number of a random value that ok accepts, or -1. Recent ones are more likely.
func (g *generator) pickValue(ok func(v *Value) bool) int {
	for range 12 {
		n := len(g.Values)
		i := g.IntN(n)
		if g.tossCoin() {
			i = n - 1 - g.IntN(min(3, n))
		}
		if ok(g.Values[i]) {
			return i
		}
	}
	return -1
}

// pickFloatValue returns the number of a random value with floating-point elements and a rank from low
// to high, which is seldom a constant, or -1.
func (g *generator) pickFloatValue(low, high int) int {
	constants := g.IntN(20) == 0
	return g.pickValue(func(v *Value) bool {
		return v.Type.IsFloat() && len(v.Dims) >= low && len(v.Dims) <= high && (constants || v.from < 0 || len(g.statements[v.from].in) > 0) && onnx.Elements(v.Dims) <= maxElements
	})
}

// maybeNegativeAxis returns a number for an axis, which sometimes counts from the end.
func (g *generator) maybeNegativeAxis(axis, rank int) int {
	if g.tossCoin() {
		return axis - rank
	}
	return axis
}

// chooseAxes returns the numbers of several random axes in order, and the numbers for the text, some of
// which count from the end.
func (g *generator) chooseAxes(rank, least int) (axes, written []int) {
	axes = g.Perm(rank)[:least+g.IntN(rank-least+1)]
	for _, a := range axes {
		written = append(written, g.maybeNegativeAxis(a, rank))
	}
	axes = slices.Clone(axes)
	slices.Sort(axes)
	if g.tossCoin() {
		slices.Sort(written)
	}
	return axes, written
}

var emitters = []func(g *generator){
	(*generator).emitUnary, (*generator).emitUnary, (*generator).emitBinary, (*generator).emitBinary, (*generator).emitActivation, (*generator).emitComparison, (*generator).emitDiscontinuous, (*generator).emitIntegerOperation,
	(*generator).emitConv, (*generator).emitConv, (*generator).emitConvTranspose, (*generator).emitPool, (*generator).emitPool, (*generator).emitNorm, (*generator).emitNorm, (*generator).emitLayerNorm,
	(*generator).emitMatmul, (*generator).emitLinear, (*generator).emitEinsum, (*generator).emitAttention, (*generator).emitPackedLayer,
	(*generator).emitReduce, (*generator).emitReduce, (*generator).emitSoftmax, (*generator).emitCumsum, (*generator).emitBandPart,
	(*generator).emitReshape, (*generator).emitTranspose, (*generator).emitTranspose, (*generator).emitExpand, (*generator).emitSqueeze, (*generator).emitConcat, (*generator).emitStack, (*generator).emitSplit,
	(*generator).emitSlice, (*generator).emitSlice, (*generator).emitSliceBySize, (*generator).emitPad, (*generator).emitTile, (*generator).emitReverse, (*generator).emitBlocks,
	(*generator).emitResize, (*generator).emitResize, (*generator).emitGather, (*generator).emitCrop,
}
