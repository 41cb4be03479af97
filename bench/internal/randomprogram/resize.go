package randomprogram

import "math"

// newSampler returns the positions along an axis of in elements from which an axis of out elements is
// interpolated.
func newSampler(mode string, in, out int) func(i int) float64 {
	n, m := float64(in), float64(out)
	return func(i int) float64 {
		p := 0.0
		switch mode {
		case "STRICT_ALIGN_CORNERS":
			if out > 1 {
				p = float64(i) * (n - 1) / (m - 1)
			}
		case "ALIGN_CORNERS":
			if p = (n - 1) / 2; out > 1 {
				p = float64(i) * (n - 1) / (m - 1)
			}
		case "DEFAULT":
			if out > 1 {
				p = float64(i) * (n - n/m) / (m - 1)
			}
		case "OFFSET_CORNERS":
			delta := max(1, n-1) / m
			p = float64(i)*delta + delta/2
		case "UNALIGN_CORNERS":
			p = float64(i)*n/m + n/m/2 - 0.5
		}
		return min(n-1, max(0, p))
	}
}

func (g *generator) emitResize() {
	x := g.pickFloatValue(3, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	n := len(d)
	h, w := 1+g.IntN(9), 1+g.IntN(9)
	mode := g.chooseName("DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "OFFSET_CORNERS", "UNALIGN_CORNERS")
	linear := true
	axes := 2
	args := []string{g.formatValueArgument("x", x)}
	op := g.chooseName("resize", "resize_bilinear", "resize_nearest_neighbor", "upsample_bilinear", "upsample_nearest_neighbor")
	switch op {
	case "resize":
		axes = 1 + g.IntN(2)
		shape := []int{h, w}[2-axes:]
		for len(shape) < n && g.IntN(3) == 0 {
			shape = append([]int{d[n-1-len(shape)]}, shape...)
		}
		if g.IntN(4) == 0 {
			linear, mode = false, "DEFAULT"
			args = append(args, g.formatText("interpolation_mode", "NEAREST_NEIGHBOR"))
		}
		args = append(args, g.formatInts("shape", shape), g.formatArgument("resized_dims", "uint32", formatUint(axes)), g.omitDefault(mode == "DEFAULT", func() string { return g.formatText("sampling_mode", mode) }))
		if axes == 1 {
			h = d[n-2]
		}
	case "resize_bilinear", "resize_nearest_neighbor":
		args = append(args, g.formatInt("target_size_height", h), g.formatInt("target_size_width", w))
		if linear = op == "resize_bilinear"; linear {
			args = append(args, g.omitDefault(mode == "DEFAULT", func() string { return g.formatText("sampling_mode", mode) }))
		} else {
			mode = "DEFAULT"
		}
	default:
		sh, sw := 1+g.IntN(3), 1+g.IntN(3)
		h, w = d[n-2]*sh, d[n-1]*sw
		if linear = op == "upsample_bilinear"; linear {
			corners, centers := g.tossCoin(), false
			mode = "STRICT_ALIGN_CORNERS"
			args = append(args, g.omitDefault(corners, func() string { return g.formatBool("align_corners", corners) }))
			if !corners {
				mode = "UNALIGN_CORNERS"
				if centers = true; g.tossCoin() {
					if centers = g.tossCoin(); !centers {
						mode = "DEFAULT"
					}
					args = append(args, g.formatBool("half_pixel_centers", centers))
				}
			}
		} else {
			mode = "DEFAULT"
		}
		args = append(args, g.omitDefault(sh == 1, func() string { return g.formatInt("scale_factor_height", sh) }), g.omitDefault(sw == 1, func() string { return g.formatInt("scale_factor_width", sw) }))
	}
	out := concatenate(d[:n-2], []int{h, w})
	rows, columns := newSampler(mode, d[n-2], h), newSampler(mode, d[n-1], w)
	if axes == 1 {
		rows = func(i int) float64 { return float64(i) }
	}
	g.emit(op, []int{x}, []result{{g.float, out}}, !linear, args, func(in [][]float64) [][]float64 {
		var r []float64
		forEachIndex(out, func(at []int) {
			y, x := rows(at[n-2]), columns(at[n-1])
			// The small number keeps a position that should be whole from falling to the element before
			// it.
			if !linear {
				y, x = math.Floor(y+1e-9), math.Floor(x+1e-9)
			}
			sum := 0.0
			for i := range 2 {
				for j := range 2 {
					p, q := min(int(y)+i, d[n-2]-1), min(int(x)+j, d[n-1]-1)
					share := math.Abs(1-float64(i)-(y-math.Floor(y))) * math.Abs(1-float64(j)-(x-math.Floor(x)))
					sum += share * in[0][elementPosition(d, concatenate(at[:n-2], []int{p, q}))]
				}
			}
			r = append(r, sum)
		})
		return [][]float64{r}
	})
}
