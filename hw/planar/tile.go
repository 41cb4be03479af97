package planar

import "github.com/x448/float16"

// ApplyTile is [Config.Apply] on tiles whose extents of 1 repeat. dst takes the
// joined shape of a and b; it may be the data of a source that has this shape.
// A shape that does not fit is a [*ShapeError] and nothing is written.
//
// Source: env_bcast_add runtime, softmax 2nd and 5th task.
func (c *Config) ApplyTile(dst []float16.Float16, a, b Source) error {
	full := join(a.Shape, b.Shape)
	if err := checkAll(dst, full, a, b); err != nil {
		return err
	}
	p := c.plan()
	g := grid{full, a.Shape.steps(), b.Shape.steps()}
	g.merge()
	as, bs := g.a, g.b
	i := 0
	for z := range g.C {
		for y := range g.H {
			ai, bi := z*as.c+y*as.h, z*bs.c+y*bs.h
			row := dst[i : i+g.W]
			i += g.W
			switch {
			case as.w == 1 && bs.w == 1:
				p.apply(row, a.Data[ai:ai+g.W], b.Data[bi:bi+g.W])
			case as.w == 1 && bs.w == 0:
				p.applyConst(row, a.Data[ai:ai+g.W], b.Data[bi])
			default: // source 1 stands still along the row
				first := p.first(a.Data[ai])
				for x := range row {
					row[x] = p.back(p.front(first, p.second(b.Data[bi+x*bs.w])))
				}
			}
		}
	}
	return nil
}

// grid is the joined shape of two sources and how each walks it.
type grid struct {
	Shape
	a, b steps
}

// merge makes rows as long as both walks allow: whole tiles when nothing
// repeats, whole planes when one value serves a channel.
func (g *grid) merge() {
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

// ApplyChannel is the form with a row of addends and a row of factors as source
// 2, Common.Cfg 0x41: (±a ± addend) * factor, in the places of Bias and Scale,
// which are then not used. Addend and factor repeat to the shape of a.
//
// Source: env_bcast_mul blob (per-channel addends 0 and factors) and layer
// norm's 3rd task (mean and 1/deviation, Negate2 set).
func (c *Config) ApplyChannel(dst []float16.Float16, a, addend, factor Source) error {
	if err := checkAll(dst, a.Shape, a, addend); err != nil {
		return err
	}
	if err := factor.fits(a.Shape, "factor"); err != nil {
		return err
	}
	p := c.plan()
	bs, fs := addend.Shape.steps(), factor.Shape.steps()
	i := 0
	for z := range a.Shape.C {
		for y := range a.Shape.H {
			bi, fi := z*bs.c+y*bs.h, z*fs.c+y*fs.h
			if bs.w == 0 && fs.w == 0 { // a row of one Bias and one Scale
				p.op = Add
				p.rescale(p.second(addend.Data[bi]), float64(wide[factor.Data[fi]]))
				single(dst[i:i+a.Shape.W], a.Data[i:i+a.Shape.W], &p)
				i += a.Shape.W
				continue
			}
			for range a.Shape.W {
				v := p.scaled(p.first(a.Data[i]), p.second(addend.Data[bi]), float64(wide[factor.Data[fi]]))
				dst[i] = p.back(v)
				i++
				bi += bs.w
				fi += fs.w
			}
		}
	}
	return nil
}

func checkAll(dst []float16.Float16, full Shape, a, b Source) error {
	if err := a.fits(full, "source 1"); err != nil {
		return err
	}
	if err := b.fits(full, "source 2"); err != nil {
		return err
	}
	return Source{dst, full}.check("destination")
}
