package randomprogram

import (
	"fmt"
	"slices"

	"anesim/internal/network/onnx"
)

func formatUint(v int) string { return fmt.Sprintf("uint32(%d)", v) }

// formatIntegers returns the text of a tensor of whole numbers.
func formatIntegers(elem string, dims, v []int) string {
	return fmt.Sprintf("tensor<%s, %s>(%s)", elem, listInts(dims), listInts(v))
}

// blockPosition returns the position in a tensor of the given shape of blocks of the block that the
// element at an index is in.
func blockPosition(dims, blocks, at []int) int {
	o := 0
	for i := range dims {
		o = o*blocks[i] + at[i]/(dims[i]/blocks[i])
	}
	return o
}

// emitPackedLayer emits a linear layer or a convolution whose weights a file would store in a packed form.
func (g *generator) emitPackedLayer() {
	x := g.pickFloatValue(2, 4)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	// The smallest layers that read weights: the packing is under test, not the layer.
	op, wd := "linear", []int{1 + g.IntN(12), d[len(d)-1]}
	if len(d) == 4 {
		op, wd = "conv", []int{1 + g.IntN(12), d[1], 1, 1}
	}
	weights := g.emitPackedWeights(wd)
	if weights < 0 {
		return
	}
	args := []string{g.formatValueArgument("x", x), g.formatValueArgument("weight", weights)}
	out := concatenate(d[:len(d)-1], wd[:1])
	inner := 1
	if op == "conv" {
		out, inner = []int{d[0], wd[0], d[2], d[3]}, d[2]*d[3]
	}
	g.emit(op, []int{x, weights}, []result{{g.float, out}}, true, args, func(in [][]float64) [][]float64 {
		v := make([]float64, onnx.Elements(out))
		for i := range v {
			row, channel, place := i/inner/wd[0], i/inner%wd[0], i%inner
			for k := range wd[1] {
				v[i] += in[0][(row*wd[1]+k)*inner+place] * in[1][channel*wd[1]+k]
			}
		}
		return [][]float64{v}
	})
}

// emitPackedWeights returns a tensor of weights, or -1.
func (g *generator) emitPackedWeights(wd []int) int {
	n := onnx.Elements(wd)
	weights := make([]float64, n)
	draw := func(n, low, high int) []int {
		v := make([]int, n)
		for i := range v {
			v[i] = low + g.IntN(high-low+1)
		}
		return v
	}
	blocks := make([]int, len(wd))
	for i := range blocks {
		// Blocks must divide the axis, or the program is invalid.
		if blocks[i] = 1; g.tossCoin() {
			blocks[i] = g.chooseDivisor(wd[i])
		}
	}
	at := func(f func(i int, at []int)) {
		i := 0
		forEachIndex(wd, func(p []int) {
			f(i, p)
			i++
		})
	}
	fixed := func(op string, args []string) int {
		i := g.emit(op, nil, []result{{g.float, wd}}, true, args, func([][]float64) [][]float64 { return [][]float64{weights} })
		if i == nil {
			return -1
		}
		return i[0]
	}
	scales := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = g.chooseNumber(0.125, 0.25, 0.0625, 0.5)
		}
		return v
	}
	switch g.IntN(4) {
	case 0:
		axis := g.IntN(2)
		scaled := 1
		perAxis := g.tossCoin()
		if perAxis {
			scaled = wd[axis]
		}
		q, s := draw(n, 100, 156), scales(scaled)
		zero := draw(1, 120, 136)
		at(func(i int, p []int) {
			k := 0
			if perAxis {
				k = p[axis]
			}
			weights[i] = float64(q[i]-zero[0]) * s[k]
		})
		scale := "scale = " + formatConstant(g.float, []int{scaled}, s)
		if !perAxis {
			scale = "scale = " + formatConstant(g.float, nil, s)
		}
		return fixed("constexpr_affine_dequantize", []string{g.formatArgument("quantized_data", fmt.Sprintf("tensor<uint8, %s>", listInts(wd)), formatIntegers("uint8", wd, q)),
			scale, fmt.Sprintf("zero_point = uint8(%d)", zero[0]), g.formatInt("axis", g.maybeNegativeAxis(axis, len(wd)))})
	case 1:
		bits := []int{1, 2, 3, 4, 6, 8}[g.IntN(6)]
		q := draw(n, 0, 1<<bits-1)
		ld := append(slices.Clone(blocks), 1<<bits, 1)
		if onnx.Elements(ld) > maxElements {
			return -1
		}
		lut := g.chooseNumbers(ld)
		at(func(i int, p []int) { weights[i] = lut[blockPosition(wd, blocks, p)<<bits+q[i]] })
		return fixed("constexpr_lut_to_dense", []string{fmt.Sprintf("indices = %s", formatIntegers(fmt.Sprint("uint", bits), wd, q)), "lut = " + formatConstant(g.float, ld, lut)})
	case 2:
		q, s := draw(n, -7, 7), scales(onnx.Elements(blocks))
		offset := draw(onnx.Elements(blocks), -2, 2)
		elem := g.chooseName("int8", "int4")
		hasOffset := g.tossCoin()
		at(func(i int, p []int) {
			k := blockPosition(wd, blocks, p)
			if weights[i] = float64(q[i]) * s[k]; hasOffset {
				weights[i] -= float64(offset[k]) * s[k]
			}
		})
		args := []string{"data = " + formatIntegers(elem, wd, q), "scale = " + formatConstant(g.float, blocks, s)}
		if hasOffset {
			args = append(args, "offset = "+formatIntegers(elem, blocks, offset))
		}
		return fixed("constexpr_blockwise_shift_scale", args)
	default:
		mask := draw(n, 0, 1)
		var values []float64
		for i, m := range mask {
			if m == 1 {
				weights[i] = g.chooseEighth(-2, 2)
				values = append(values, weights[i])
			}
		}
		if len(values) == 0 {
			return -1
		}
		return fixed("constexpr_sparse_to_dense", []string{"mask = " + formatIntegers("uint1", wd, mask), "nonzero_data = " + formatConstant(g.float, []int{len(values)}, values)})
	}
}
