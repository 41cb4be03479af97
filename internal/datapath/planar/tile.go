package planar

import "github.com/x448/float16"

// applyTile is like [Config.Apply], but axes of extent 1 of either source are repeated to the
// extent of the other source. The slice dst receives the result in the common shape. It may be the
// data of a source that has this shape. applyTile returns a *[ShapeError] and writes nothing if the
// shapes do not match.
func (c *Config) applyTile(dst []float16.Float16, a, b Source) error {
	full := broadcastShape(a.Shape, b.Shape)
	if err := checkOperands(dst, full, a, b); err != nil {
		return err
	}
	p := c.newPlan()
	g := grid{full, a.Shape.strides(), b.Shape.strides()}
	g.mergeAxes()
	as, bs := g.a, g.b
	i := 0
	for z := range g.C {
		for y := range g.H {
			ai, bi := z*as.c+y*as.h, z*bs.c+y*bs.h
			row := dst[i : i+g.W]
			i += g.W
			switch {
			case as.w == 1 && bs.w == 1:
				p.applyToPairs(row, a.Data[ai:ai+g.W], b.Data[bi:bi+g.W])
			case as.w == 1 && bs.w == 0:
				p.applyToConst(row, a.Data[ai:ai+g.W], b.Data[bi])
			default: // source 1 is constant along the row
				first := p.loadFirst(a.Data[ai])
				for x := range row {
					row[x] = p.finishElement(p.combineSources(first, p.loadSecond(b.Data[bi+x*bs.w])))
				}
			}
		}
	}
	return nil
}

// A grid is the common shape of two sources, with the distance between their elements on each axis.
type grid struct {
	Shape
	a, b steps
}

// mergeAxes combines axes to make rows as long as possible. If no axis is repeated, a row becomes
// the whole tensor; if each channel has a single value, it becomes a whole channel.
func (g *grid) mergeAxes() {
	if g.W == 1 {
		g.W, g.H = g.H, 1
		g.a.w, g.b.w = g.a.h, g.b.h
	} else if g.a.h == g.a.w*g.W && g.b.h == g.b.w*g.W {
		g.W, g.H = g.W*g.H, 1
	}
	if g.H != 1 {
		return
	}
	if g.W == 1 {
		g.W, g.C = g.C, 1
		g.a.w, g.b.w = g.a.c, g.b.c
	} else if g.a.c == g.a.w*g.W && g.b.c == g.b.w*g.W {
		g.W, g.C = g.W*g.C, 1
	}
}

// ApplyChannel sets dst to (±a ± addend) * factor, followed by the later stages of c. The sources
// addend and factor replace Bias and Scale, and their axes of extent 1 are repeated to the shape of
// a. ApplyChannel computes planar tasks whose source 2 holds a row of addends and a row of factors
// (Common.Cfg 0x41), such as the normalization in layer norm. It returns a *[ShapeError] and writes
// nothing if the shapes do not match.
func (c *Config) ApplyChannel(dst []float16.Float16, a, addend, factor Source) error {
	// All shapes are checked before anything is written.
	if err := checkOperands(dst, a.Shape, a, addend); err != nil {
		return err
	}
	if err := factor.checkFits(a.Shape, "factor"); err != nil {
		return err
	}
	p := c.newPlan()
	bs, fs := addend.Shape.strides(), factor.Shape.strides()
	i := 0
	for z := range a.Shape.C {
		for y := range a.Shape.H {
			bi, fi := z*bs.c+y*bs.h, z*fs.c+y*fs.h
			if bs.w == 0 && fs.w == 0 { // a row with one Bias and one Scale
				p.op = Add
				p.setBiasAndScale(p.loadSecond(addend.Data[bi]), float64(wide[factor.Data[fi]]))
				applySingle(dst[i:i+a.Shape.W], a.Data[i:i+a.Shape.W], &p)
				i += a.Shape.W
				continue
			}
			for range a.Shape.W {
				v := p.addBiasAndScale(p.loadFirst(a.Data[i]), p.loadSecond(addend.Data[bi]), float64(wide[factor.Data[fi]]))
				dst[i] = p.finishElement(v)
				i++
				bi += bs.w
				fi += fs.w
			}
		}
	}
	return nil
}

// checkOperands returns a *[ShapeError] unless a and b can be repeated to shape full and dst has as
// many elements.
func checkOperands(dst []float16.Float16, full Shape, a, b Source) error {
	if err := a.checkFits(full, "source 1"); err != nil {
		return err
	}
	if err := b.checkFits(full, "source 2"); err != nil {
		return err
	}
	return Source{dst, full}.checkLength("destination")
}
