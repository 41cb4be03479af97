package randomprogram

import (
	"fmt"
	"slices"
	"strings"

	"anesim/internal/network/onnx"
)

// newCopyFunc returns a function that copies, for each element of a result of shape out, the element of
// the input at the index that from returns, which may change and keep its argument.
func newCopyFunc(in, out []int, from func(at []int) []int) func(v [][]float64) [][]float64 {
	return func(v [][]float64) [][]float64 {
		var r []float64
		forEachIndex(out, func(at []int) {
			p := 0
			for i, k := range from(slices.Clone(at)) {
				if k < 0 || k >= in[i] {
					panic(fmt.Sprintf("index %d of axis %d is outside of shape %v", k, i, in))
				}
				p = p*in[i] + k
			}
			r = append(r, v[0][p])
		})
		return [][]float64{r}
	}
}

func keepFirst(in [][]float64) [][]float64 { return [][]float64{in[0]} }

// pickVariable returns a value of a rank from low to high that is no constant, or -1.
func (g *generator) pickVariable(low, high int) int {
	if g.IntN(4) != 0 {
		return g.pickFloatValue(low, high)
	}
	return g.pickValue(func(v *Value) bool {
		return v.Type != onnx.Bool && len(v.Dims) >= low && len(v.Dims) <= high && (v.from < 0 || g.statements[v.from].op != "const")
	})
}

// emitMove emits an operation that only moves elements of x.
func (g *generator) emitMove(op string, x int, out []int, args []string, eval func(in [][]float64) [][]float64) {
	g.emit(op, []int{x}, []result{{g.Values[x].Type, out}}, true, append(args, g.formatValueArgument("x", x)), eval)
}

func (g *generator) emitReshape() {
	x := g.pickVariable(0, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	var out []int
	for n := onnx.Elements(d); len(out) < 5; {
		f := g.chooseDivisor(n)
		// Keeping an axis is what most reshapes of networks do.
		if g.tossCoin() && len(out) < len(d) && n%d[len(out)] == 0 {
			f = d[len(out)]
		}
		out = append(out, f)
		if n /= f; n == 1 && g.tossCoin() {
			break
		}
	}
	if onnx.Elements(out) != onnx.Elements(d) {
		return
	}
	written := slices.Clone(out)
	if g.tossCoin() {
		written[g.IntN(len(written))] = -1
	}
	if g.IntN(8) == 0 && len(d) > 1 {
		axis := g.IntN(len(d) + 1)
		out = []int{onnx.Elements(d[:axis]), onnx.Elements(d[axis:])}
		if axis == len(d) {
			axis, out = 1, []int{d[0], onnx.Elements(d[1:])}
		}
		g.emitMove("flatten2d", x, out, []string{g.omitDefault(axis == 1, func() string { return g.formatInt("axis", g.maybeNegativeAxis(axis, len(d))) })}, keepFirst)
		return
	}
	g.emitMove("reshape", x, out, []string{g.formatInts("shape", written)}, keepFirst)
}

func (g *generator) emitTranspose() {
	x := g.pickVariable(1, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	perm := g.Perm(len(d))
	out, written := make([]int, len(d)), make([]int, len(d))
	negative := g.IntN(3) == 0
	for i, p := range perm {
		out[i], written[i] = d[p], p
		if negative {
			written[i] = g.maybeNegativeAxis(p, len(d))
		}
	}
	g.emitMove("transpose", x, out, []string{g.formatInts("perm", written)}, newCopyFunc(d, out, func(at []int) []int {
		from := make([]int, len(at))
		for i, p := range perm {
			from[p] = at[i]
		}
		return from
	}))
}

func (g *generator) emitExpand() {
	x := g.pickVariable(0, 4)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	rank := len(d) + 1 + g.IntN(5-len(d))
	var out, written []int
	places := g.Perm(rank)[:rank-len(d)]
	for i, k := 0, 0; i < rank; i++ {
		if slices.Contains(places, i) {
			out = append(out, 1)
		} else {
			out = append(out, d[k])
			k++
		}
	}
	for _, p := range places {
		written = append(written, g.maybeNegativeAxis(p, rank))
	}
	g.emitMove("expand_dims", x, out, []string{g.formatInts("axes", written)}, keepFirst)
}

func (g *generator) emitSqueeze() {
	x := g.pickValue(func(v *Value) bool { return v.Type.IsFloat() && slices.Contains(v.Dims, 1) })
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	out := []int{}
	var written []int
	all := g.IntN(3) == 0
	for i, e := range d {
		if e == 1 && (all || g.tossCoin()) {
			written = append(written, g.maybeNegativeAxis(i, len(d)))
		} else {
			out = append(out, e)
		}
	}
	if written == nil {
		return
	}
	g.Shuffle(len(written), func(i, j int) { written[i], written[j] = written[j], written[i] })
	var args []string
	if !all || g.tossCoin() {
		args = append(args, g.formatInts("axes", written))
	}
	g.emitMove("squeeze", x, out, args, keepFirst)
}

// formatValues returns the text of an argument that is a tuple of values.
func (g *generator) formatValues(v []int) string {
	var names []string
	for _, i := range v {
		names = append(names, g.Values[i].Name)
	}
	return "values = (" + strings.Join(names, ", ") + ")"
}

func (g *generator) emitConcat() {
	x := g.pickFloatValue(1, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	axis := g.IntN(len(d))
	interleave := g.IntN(5) == 0
	parts := []int{x}
	for range 1 + g.IntN(3) {
		y := g.pickValue(func(v *Value) bool {
			if !v.Type.IsFloat() || len(v.Dims) != len(d) {
				return false
			}
			for i := range d {
				// Interleaved parts take turns along the axis, so they must be equally long.
				if v.Dims[i] != d[i] && (i != axis || interleave) {
					return false
				}
			}
			return true
		})
		if y < 0 {
			s := slices.Clone(d)
			if !interleave {
				s[axis] = 1 + g.IntN(4)
			}
			y = g.addConstant(g.float, s, g.chooseNumbers(s))
		}
		parts = append(parts, y)
	}
	g.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	out := slices.Clone(d)
	out[axis] = 0
	var source, within []int // of each index along the axis
	for k, p := range parts {
		n := g.Values[p].Dims[axis]
		out[axis] += n
		for i := range n {
			source, within = append(source, k), append(within, i)
		}
	}
	if interleave {
		for i := range source {
			source[i], within[i] = i%len(parts), i/len(parts)
		}
	}
	shapes := make([][]int, len(parts))
	for k, p := range parts {
		shapes[k] = g.Values[p].Dims
	}
	args := []string{g.formatValues(parts), g.formatInt("axis", g.maybeNegativeAxis(axis, len(d))), g.omitDefault(!interleave, func() string { return g.formatBool("interleave", interleave) })}
	g.emit("concat", parts, []result{{g.float, out}}, true, args, func(in [][]float64) [][]float64 {
		var v []float64
		forEachIndex(out, func(at []int) {
			p := slices.Clone(at)
			k := source[at[axis]]
			p[axis] = within[at[axis]]
			v = append(v, in[k][elementPosition(shapes[k], p)])
		})
		return [][]float64{v}
	})
}

func (g *generator) emitStack() {
	x := g.pickFloatValue(0, 4)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	parts := []int{x}
	for range 1 + g.IntN(3) {
		y := g.pickValue(func(v *Value) bool { return v.Type.IsFloat() && slices.Equal(v.Dims, d) })
		if y < 0 {
			y = g.addConstant(g.float, d, g.chooseNumbers(d))
		}
		parts = append(parts, y)
	}
	axis := g.IntN(len(d) + 1)
	out := slices.Insert(slices.Clone(d), axis, len(parts))
	g.emit("stack", parts, []result{{g.float, out}}, true, []string{g.formatValues(parts), g.formatInt("axis", g.maybeNegativeAxis(axis, len(out)))}, func(in [][]float64) [][]float64 {
		var v []float64
		forEachIndex(out, func(at []int) {
			p := slices.Delete(slices.Clone(at), axis, axis+1)
			o := 0
			for i, k := range p {
				o = o*d[i] + k
			}
			v = append(v, in[at[axis]][o])
		})
		return [][]float64{v}
	})
}

func (g *generator) emitSplit() {
	x := g.pickFloatValue(1, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	axis := g.IntN(len(d))
	if d[axis] < 2 {
		return
	}
	args := []string{g.formatValueArgument("x", x), g.formatInt("axis", g.maybeNegativeAxis(axis, len(d)))}
	var sizes []int
	if n := g.chooseDivisor(d[axis]); n > 1 && n < 6 && g.tossCoin() {
		sizes = slices.Repeat([]int{d[axis] / n}, n)
		args = append(args, g.formatInt("num_splits", n))
	} else {
		for left := d[axis]; left > 0; left -= sizes[len(sizes)-1] {
			sizes = append(sizes, 1+g.IntN(left))
		}
		args = append(args, g.formatInts("split_sizes", sizes))
		if g.tossCoin() {
			args = append(args, g.formatInt("num_splits", len(sizes)))
		}
	}
	var out []result
	var evals []func(in [][]float64) [][]float64
	first := 0
	for _, n := range sizes {
		s := slices.Clone(d)
		s[axis] = n
		// A copy, because the functions run after the loop has ended.
		begin := first
		out = append(out, result{g.float, s})
		evals = append(evals, newCopyFunc(d, s, func(at []int) []int {
			at[axis] += begin
			return at
		}))
		first += n
	}
	g.emit("split", []int{x}, out, true, args, func(in [][]float64) [][]float64 {
		var v [][]float64
		for _, f := range evals {
			v = append(v, f(in)...)
		}
		return v
	})
}

func (g *generator) emitPad() {
	x := g.pickFloatValue(1, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	mode := g.chooseName("constant", "constant", "reflect", "replicate")
	k := 1 + g.IntN(len(d))
	if mode != "constant" {
		// Modes that copy elements support the last two axes only.
		k = min(k, 2)
	}
	first := len(d) - k
	out := slices.Clone(d)
	before := make([]int, len(d))
	var pads []int
	for i := first; i < len(d); i++ {
		most := 3
		if mode == "reflect" {
			// A reflection cannot reach beyond the other end.
			most = min(most, d[i])
		}
		p, q := g.IntN(most), g.IntN(most)
		before[i] = p
		out[i] += p + q
		pads = append(pads, p, q)
	}
	value := 0.0
	args := []string{g.formatValueArgument("x", x), g.formatInts("pad", pads), g.omitDefault(mode == "constant", func() string { return g.formatText("mode", mode) })}
	if g.tossCoin() {
		v := g.chooseEighth(-2, 2)
		if mode == "constant" {
			value = v
		}
		args = append(args, g.formatNumber("constant_val", v))
	}
	g.emit("pad", []int{x}, []result{{g.float, out}}, true, args, func(in [][]float64) [][]float64 {
		var r []float64
		forEachIndex(out, func(at []int) {
			p, inside := slices.Clone(at), true
			for i := range p {
				p[i] -= before[i]
				if p[i] >= 0 && p[i] < d[i] {
					continue
				}
				switch mode {
				case "constant":
					inside = false
				case "replicate":
					p[i] = min(d[i]-1, max(0, p[i]))
				case "reflect":
					if p[i] < 0 {
						p[i] = -p[i]
					} else {
						p[i] = 2*(d[i]-1) - p[i]
					}
				}
			}
			if !inside {
				r = append(r, value)
			} else {
				r = append(r, in[0][elementPosition(d, p)])
			}
		})
		return [][]float64{r}
	})
}

func (g *generator) emitTile() {
	x := g.pickVariable(1, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	reps, out := make([]int, len(d)), make([]int, len(d))
	for i := range d {
		if reps[i] = 1; g.IntN(3) == 0 {
			reps[i] = 1 + g.IntN(3)
		}
		out[i] = d[i] * reps[i]
	}
	g.emitMove("tile", x, out, []string{g.formatInts("reps", reps)}, newCopyFunc(d, out, func(at []int) []int {
		for i := range at {
			at[i] %= d[i]
		}
		return at
	}))
}

func (g *generator) emitReverse() {
	x := g.pickVariable(1, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	axes, written := g.chooseAxes(len(d), 1)
	var args []string
	if len(axes) < len(d) || g.tossCoin() {
		args = append(args, g.formatInts("axes", written))
	}
	g.emitMove("reverse", x, d, args, newCopyFunc(d, d, func(at []int) []int {
		for _, a := range axes {
			at[a] = d[a] - 1 - at[a]
		}
		return at
	}))
}

// emitBlocks emits an operation that exchanges channels with blocks of pixels.
func (g *generator) emitBlocks() {
	x := g.pickFloatValue(4, 4)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	b := 2 + g.IntN(2)
	if up := d[1]%(b*b) == 0; up {
		op := g.chooseName("depth_to_space", "pixel_shuffle")
		c := d[1] / b / b
		key := map[string]string{"depth_to_space": "block_size", "pixel_shuffle": "upscale_factor"}[op]
		out := []int{d[0], c, d[2] * b, d[3] * b}
		g.emitMove(op, x, out, []string{g.formatInt(key, b)}, newCopyFunc(d, out, func(at []int) []int {
			place := at[2]%b*b + at[3]%b
			// The two differ in whether the place in the block or the channel is the outer one.
			if op == "depth_to_space" {
				return []int{at[0], place*c + at[1], at[2] / b, at[3] / b}
			}
			return []int{at[0], at[1]*b*b + place, at[2] / b, at[3] / b}
		}))
		return
	}
	if d[2]%b != 0 || d[3]%b != 0 {
		return
	}
	op := g.chooseName("space_to_depth", "pixel_unshuffle")
	key := map[string]string{"space_to_depth": "block_size", "pixel_unshuffle": "downscale_factor"}[op]
	out := []int{d[0], d[1] * b * b, d[2] / b, d[3] / b}
	g.emitMove(op, x, out, []string{g.formatInt(key, b)}, newCopyFunc(d, out, func(at []int) []int {
		c, place := at[1]%d[1], at[1]/d[1]
		if op == "pixel_unshuffle" {
			c, place = at[1]/b/b, at[1]%(b*b)
		}
		return []int{at[0], c, at[2]*b + place/b, at[3]*b + place%b}
	}))
}

// emitGather emits a gather of elements, rows or slices, at indices of a random shape.
func (g *generator) emitGather() {
	x := g.pickFloatValue(1, 4)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	batch := 0
	if len(d) > 1 && g.IntN(3) == 0 {
		batch = 1 + g.IntN(len(d)-1)
	}
	axis := batch + g.IntN(len(d)-batch)
	var di []int
	for range g.IntN(3) {
		di = append(di, 1+g.IntN(4))
	}
	shape := concatenate(d[:batch], di)
	index := make([]float64, onnx.Elements(shape))
	for i := range index {
		// Indices may count from the end, as axes do.
		index[i] = float64(g.maybeNegativeAxis(g.IntN(d[axis]), d[axis]))
	}
	if shape == nil && g.tossCoin() {
		di, shape = []int{1}, []int{1}
	}
	indices := g.addConstant(onnx.Int32, shape, index)
	out := concatenate(d[:axis], di, d[axis+1:])
	args := []string{g.formatValueArgument("x", x), g.formatValueArgument("indices", indices), g.omitDefault(axis == 0, func() string { return g.formatInt("axis", g.maybeNegativeAxis(axis, len(d))) }), g.omitDefault(batch == 0, func() string { return g.formatInt("batch_dims", batch) })}
	if out == nil {
		out = []int{}
	}
	g.emit("gather", []int{x, indices}, []result{{g.float, out}}, true, args, func(in [][]float64) [][]float64 {
		var r []float64
		forEachIndex(out, func(at []int) {
			k := int(index[elementPosition(shape, concatenate(at[:batch], at[axis:axis+len(di)]))])
			if k < 0 {
				k += d[axis]
			}
			r = append(r, in[0][elementPosition(d, concatenate(at[:axis], []int{k}, at[axis+len(di):]))])
		})
		return [][]float64{r}
	})
}
