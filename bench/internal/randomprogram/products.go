package randomprogram

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"anesim/internal/network/onnx"
)

// multiplyMatrices returns the product of matrices a and b, of shapes da and db, whose leading axes
// broadcast. The matrices are stored with swapped axes if ta or tb is set.
func multiplyMatrices(a, b []float64, da, db []int, ta, tb bool, out []int) []float64 {
	n := len(out)
	k := da[len(da)-1]
	if ta {
		k = da[len(da)-2]
	}
	var v []float64
	forEachIndex(out, func(at []int) {
		p, q := slices.Clone(at), slices.Clone(at)
		sum := 0.0
		for i := range k {
			p[n-2], p[n-1] = at[n-2], i
			if ta {
				p[n-2], p[n-1] = i, at[n-2]
			}
			q[n-2], q[n-1] = i, at[n-1]
			if tb {
				q[n-2], q[n-1] = at[n-1], i
			}
			sum += a[elementPosition(da, p)] * b[elementPosition(db, q)]
		}
		v = append(v, sum)
	})
	return v
}

func swapLastAxes(d []int) []int {
	d = slices.Clone(d)
	n := len(d)
	d[n-2], d[n-1] = d[n-1], d[n-2]
	return d
}

func (g *generator) emitMatmul() {
	x := g.pickFloatValue(2, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	ta, tb := g.IntN(3) == 0, g.IntN(3) == 0
	left := d
	if ta {
		left = swapLastAxes(d)
	}
	n := len(d)
	right := []int{left[n-1], 1 + g.IntN(8)}
	for i := n - 3; i >= 0 && g.IntN(3) != 0; i-- {
		e := d[i]
		if g.IntN(3) == 0 {
			e = 1
		}
		right = append([]int{e}, right...)
	}
	stored := right
	if tb {
		stored = swapLastAxes(right)
	}
	if onnx.Elements(stored) > maxElements {
		return
	}
	y := -1
	if g.tossCoin() {
		y = g.pickValue(func(v *Value) bool { return v.Type.IsFloat() && slices.Equal(v.Dims, stored) })
	}
	if y < 0 && g.IntN(4) == 0 && n == len(d) { // a product of a tensor with itself
		if len(d) >= 2 && !ta {
			y, stored, tb, right = x, d, true, swapLastAxes(d)
		}
	}
	if y < 0 {
		y = g.addConstant(g.float, stored, g.chooseNumbers(stored))
	}
	first := g.IntN(4) == 0 && !tb && !ta && len(right) == 2 && n == 2 // the constant on the left
	lead := broadcastDims(left[:n-2], right[:len(right)-2])
	if len(lead) != n-2 {
		return
	}
	out := concatenate(lead, []int{left[n-2], right[len(right)-1]})
	if first { // y' x' = (x y)'
		out = []int{stored[1], d[0]}
		g.emit("matmul", []int{y, x}, []result{{g.float, out}}, true, []string{g.formatValueArgument("x", y), g.formatValueArgument("y", x), g.formatBool("transpose_x", true), g.formatBool("transpose_y", true)}, func(in [][]float64) [][]float64 {
			return [][]float64{multiplyMatrices(in[0], in[1], stored, d, true, true, out)}
		})
		return
	}
	args := []string{g.formatValueArgument("x", x), g.formatValueArgument("y", y), g.omitDefault(!ta, func() string { return g.formatBool("transpose_x", ta) }), g.omitDefault(!tb, func() string { return g.formatBool("transpose_y", tb) })}
	g.emit("matmul", []int{x, y}, []result{{g.float, out}}, true, args, func(in [][]float64) [][]float64 {
		return [][]float64{multiplyMatrices(in[0], in[1], d, stored, ta, tb, out)}
	})
}

func (g *generator) emitLinear() {
	x := g.pickFloatValue(1, 3)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	wd := []int{1 + g.IntN(9), d[len(d)-1]}
	w := g.addConstant(g.float, wd, g.chooseNumbers(wd))
	in, args := []int{x, w}, []string{g.formatValueArgument("x", x), g.formatValueArgument("weight", w)}
	var bias []float64
	if g.tossCoin() {
		bias = g.chooseNumbers(wd[:1])
		b := g.addConstant(g.float, wd[:1], bias)
		in, args = append(in, b), append(args, g.formatValueArgument("bias", b))
	}
	out := concatenate(d[:len(d)-1], wd[:1])
	g.emit("linear", in, []result{{g.float, out}}, true, args, func(in [][]float64) [][]float64 {
		v := make([]float64, onnx.Elements(out))
		for i := range v {
			row, column := i/wd[0], i%wd[0]
			for k := range wd[1] {
				v[i] += in[0][row*wd[1]+k] * in[1][column*wd[1]+k]
			}
			if bias != nil {
				v[i] += bias[column]
			}
		}
		return [][]float64{v}
	})
}

// emitEinsum emits a product of two tensors with random letters for the axes.
func (g *generator) emitEinsum() {
	x := g.pickFloatValue(2, 4)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	letters := "abcd"[:len(d)]
	extent := map[byte]int{}
	for i := range d {
		extent[letters[i]] = d[i]
	}
	var other []byte
	for i := range letters {
		if g.IntN(3) != 0 {
			other = append(other, letters[i])
		}
	}
	if g.tossCoin() {
		extent['e'] = 1 + g.IntN(5)
		other = append(other, 'e')
	}
	if len(other) == 0 {
		return
	}
	g.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
	var dy []int
	for _, c := range other {
		dy = append(dy, extent[c])
	}
	var kept []byte
	for c := byte('a'); c <= 'e'; c++ {
		// A label of one input is always kept, because a sum over it alone is not a matmul.
		shared := strings.IndexByte(letters, c) >= 0 && slices.Contains(other, c)
		if extent[c] > 0 && (!shared || g.tossCoin()) {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 || len(kept) > 4 || len(other) > 4 || onnx.Elements(dy) > maxElements {
		return
	}
	g.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
	y := g.addConstant(g.float, dy, g.chooseNumbers(dy))
	var out, all []int
	var order []byte
	for _, c := range kept {
		out, all, order = append(out, extent[c]), append(all, extent[c]), append(order, c)
	}
	for c := byte('a'); c <= 'e'; c++ {
		if extent[c] > 0 && !slices.Contains(order, c) {
			all, order = append(all, extent[c]), append(order, c)
		}
	}
	equation := letters + "," + string(other) + "->" + string(kept)
	args := []string{fmt.Sprintf("values = (%s, %s)", g.Values[x].Name, g.Values[y].Name), g.formatText("equation", equation)}
	g.emit("einsum", []int{x, y}, []result{{g.float, out}}, true, args, func(in [][]float64) [][]float64 {
		v := make([]float64, onnx.Elements(out))
		index := func(names []byte, dims, at []int) int {
			o := 0
			for i, c := range names {
				o = o*dims[i] + at[slices.Index(order, c)]
			}
			return o
		}
		forEachIndex(all, func(at []int) {
			v[index(kept, out, at)] += in[0][index([]byte(letters), d, at)] * in[1][index(other, dy, at)]
		})
		return [][]float64{v}
	})
}

// applySoftmax replaces v by its softmax.
func applySoftmax(v []float64) {
	most := slices.Max(v)
	sum := 0.0
	for i := range v {
		v[i] = math.Exp(v[i] - most)
		sum += v[i]
	}
	for i := range v {
		v[i] /= sum
	}
}

func (g *generator) emitAttention() {
	q := g.pickFloatValue(3, 4)
	if q < 0 {
		return
	}
	d := g.Values[q].Dims
	n := len(d)
	dk := slices.Clone(d)
	dk[n-2] = 1 + g.IntN(6)
	dv := slices.Clone(dk)
	dv[n-1] = 1 + g.IntN(6)
	if onnx.Elements(dk) > maxElements || onnx.Elements(dv) > maxElements {
		return
	}
	k, v := g.addConstant(g.float, dk, g.chooseNumbers(dk)), g.addConstant(g.float, dv, g.chooseNumbers(dv))
	in := []int{q, k, v}
	args := []string{g.formatValueArgument("query", q), g.formatValueArgument("key", k), g.formatValueArgument("value", v)}
	scores := slices.Clone(d)
	scores[n-1] = dk[n-2]
	if onnx.Elements(scores) > maxElements {
		return
	}
	var masked func(i int, s float64) float64
	if g.tossCoin() {
		dm := slices.Clone(scores)
		for i := range n - 2 {
			if g.tossCoin() {
				dm[i] = 1
			}
		}
		for g.tossCoin() && len(dm) > 2 && dm[0] == 1 {
			dm = dm[1:]
		}
		m := g.chooseNumbers(dm)
		t := g.float
		if g.tossCoin() {
			t = onnx.Bool
			for i := range m {
				m[i] = float64(g.IntN(2))
				if i%dm[len(dm)-1] == 0 {
					m[i] = 1 // no row without any
				}
			}
		}
		mask := g.addConstant(t, dm, m)
		in, args = append(in, mask), append(args, g.formatValueArgument("attn_mask", mask))
		var places []int
		forEachIndex(scores, func(at []int) { places = append(places, elementPosition(dm, at)) })
		masked = func(i int, s float64) float64 {
			switch x := m[places[i]]; {
			case t != onnx.Bool:
				return s + x
			case x == 0:
				return math.Inf(-1)
			}
			return s
		}
	}
	out := slices.Clone(d)
	out[n-1] = dv[n-1]
	g.emit("scaled_dot_product_attention", in, []result{{g.float, out}}, false, args, func(in [][]float64) [][]float64 {
		s := multiplyMatrices(in[0], in[1], d, dk, false, true, scores)
		for i := range s {
			if s[i] /= math.Sqrt(float64(d[n-1])); masked != nil {
				s[i] = masked(i, s[i])
			}
		}
		for at := 0; at < len(s); at += scores[n-1] {
			applySoftmax(s[at : at+scores[n-1]])
		}
		return [][]float64{multiplyMatrices(s, in[2], scores, dv, false, false, out)}
	})
}

func (g *generator) emitSoftmax() {
	x := g.pickFloatValue(1, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	axis := g.IntN(len(d))
	args := []string{g.formatValueArgument("x", x), g.omitDefault(axis == len(d)-1, func() string { return g.formatInt("axis", g.maybeNegativeAxis(axis, len(d))) })}
	g.emit("softmax", []int{x}, g.resultLike(x), false, args, func(in [][]float64) [][]float64 {
		out := make([]float64, len(in[0]))
		forEachReduction(d, []int{axis}, func(places []int) {
			v := make([]float64, len(places))
			for i, p := range places {
				v[i] = in[0][p]
			}
			applySoftmax(v)
			for i, p := range places {
				out[p] = v[i]
			}
		})
		return [][]float64{out}
	})
}

func (g *generator) emitReduce() {
	x := g.pickFloatValue(1, 5)
	if x < 0 {
		return
	}
	op := g.chooseName("reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_l1_norm", "reduce_l2_norm", "reduce_sum_square", "reduce_log_sum", "reduce_log_sum_exp")
	if op == "reduce_log_sum" {
		if x = g.emitPositive(x, 0.5); x < 0 {
			return
		}
	}
	d := g.Values[x].Dims
	axes, written := g.chooseAxes(len(d), 1)
	keep := g.tossCoin()
	args := []string{g.formatValueArgument("x", x), g.omitDefault(!keep, func() string { return g.formatBool("keep_dims", keep) })}
	if len(axes) < len(d) || g.tossCoin() {
		args = append(args, g.formatInts("axes", written))
	}
	out := []int{}
	for i, e := range d {
		if !slices.Contains(axes, i) {
			out = append(out, e)
		} else if keep {
			out = append(out, 1)
		}
	}
	fold := func(v []float64) float64 {
		sum, squares, magnitudes, product, exps := 0.0, 0.0, 0.0, 1.0, 0.0
		for _, x := range v {
			sum, squares, magnitudes, product, exps = sum+x, squares+x*x, magnitudes+math.Abs(x), product*x, exps+math.Exp(x)
		}
		switch op {
		case "reduce_mean":
			return sum / float64(len(v))
		case "reduce_max":
			return slices.Max(v)
		case "reduce_min":
			return slices.Min(v)
		case "reduce_prod":
			return product
		case "reduce_l1_norm":
			return magnitudes
		case "reduce_l2_norm":
			return math.Sqrt(squares)
		case "reduce_sum_square":
			return squares
		case "reduce_log_sum":
			return math.Log(sum)
		case "reduce_log_sum_exp":
			return math.Log(exps)
		}
		return sum
	}
	// The norm may be small enough for fp16 although the sum of squares, which the engine also holds in
	// fp16, is not.
	if most := largestMagnitude(g.Values[x].data); op == "reduce_l2_norm" && float64(len(g.Values[x].data))*most*most > maxSquares {
		return
	}
	if most := largestMagnitude(g.Values[x].data); op == "reduce_prod" && math.Pow(max(1, most), float64(len(g.Values[x].data)/onnx.Elements(out))) > maxSquares {
		return // a product of some of the elements may be too large
	}
	exact := op == "reduce_sum" || op == "reduce_max" || op == "reduce_min" || op == "reduce_l1_norm" || op == "reduce_sum_square"
	g.emit(op, []int{x}, []result{{g.float, out}}, exact, args, func(in [][]float64) [][]float64 {
		var r []float64
		forEachReduction(d, axes, func(places []int) {
			v := make([]float64, len(places))
			for i, p := range places {
				v[i] = in[0][p]
			}
			r = append(r, fold(v))
		})
		return [][]float64{r}
	})
}

func (g *generator) emitCumsum() {
	x := g.pickFloatValue(1, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	axis, exclusive, reverse := g.IntN(len(d)), g.tossCoin(), g.tossCoin()
	args := []string{g.formatValueArgument("x", x), g.omitDefault(axis == 0, func() string { return g.formatInt("axis", g.maybeNegativeAxis(axis, len(d))) }),
		g.omitDefault(!exclusive, func() string { return g.formatBool("exclusive", exclusive) }), g.omitDefault(!reverse, func() string { return g.formatBool("reverse", reverse) })}
	g.emit("cumsum", []int{x}, g.resultLike(x), true, args, func(in [][]float64) [][]float64 {
		out := make([]float64, len(in[0]))
		forEachReduction(d, []int{axis}, func(places []int) {
			sum := 0.0
			for i := range places {
				p := places[i]
				if reverse {
					p = places[len(places)-1-i]
				}
				if exclusive {
					out[p] = sum
				}
				if sum += in[0][p]; !exclusive {
					out[p] = sum
				}
			}
		})
		return [][]float64{out}
	})
}

func (g *generator) emitBandPart() {
	x := g.pickFloatValue(2, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	lower, upper := g.IntN(5)-1, g.IntN(5)-1
	args := []string{g.formatValueArgument("x", x), g.omitDefault(lower == -1, func() string { return g.formatInt("lower", lower) }), g.omitDefault(upper == -1, func() string { return g.formatInt("upper", upper) })}
	g.emit("band_part", []int{x}, g.resultLike(x), true, args, func(in [][]float64) [][]float64 {
		out := slices.Clone(in[0])
		rows, columns := d[len(d)-2], d[len(d)-1]
		for i := range out {
			row, column := i/columns%rows, i%columns
			if lower >= 0 && row-column > lower || upper >= 0 && column-row > upper {
				out[i] = 0
			}
		}
		return [][]float64{out}
	})
}
