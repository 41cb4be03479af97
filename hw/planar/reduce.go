package planar

import (
	"math"

	"github.com/x448/float16"
)

// Reduction is how a reducing task joins its terms. The numbers are the
// compiler's ZinIrReductionType; its 3, the mean, is a sum with FinalScale 1/N.
type Reduction uint8

const (
	ReduceSum Reduction = iota
	ReduceMin
	ReduceMax
)

// Mean returns the task that averages n terms.
func Mean(n int) Config {
	c := Neutral(Add)
	c.FinalScale = 1 / float32(n)
	return c
}

// accumulator joins the terms of one output element.
type accumulator struct {
	kind Reduction
	v    float32
}

func (k Reduction) start() accumulator {
	switch k {
	case ReduceMin:
		return accumulator{k, float32(math.Inf(1))}
	case ReduceMax:
		return accumulator{k, float32(math.Inf(-1))}
	}
	return accumulator{k, 0}
}

func (s *accumulator) take(t float32) {
	switch s.kind {
	case ReduceSum:
		s.v += t
		if s.v != s.v {
			s.v = 0
		}
	case ReduceMin:
		s.v = min(s.v, t)
	case ReduceMax:
		s.v = max(s.v, t)
	}
}

// Reduce joins the elements of a over axes with c.Kind and writes
// a.Shape.Without(axes) elements. The order is row-major over the reduced
// elements. dst must not overlap a. A shape that does not fit is a
// [*ShapeError].
//
// Source: Common.Cfg 0x51; reduce_mean over H and W, reduce_sum over W.
func (c *Config) Reduce(dst []float16.Float16, axes Axes, a Source) error {
	out := a.Shape.Without(axes)
	if err := a.check("source 1"); err != nil {
		return err
	}
	if err := (Source{dst, out}).check("destination"); err != nil {
		return err
	}
	p := c.plan()
	bare := p.bias == 0 && p.scale == 1 && c.Op == Add && !c.Negate1
	span := spans(a.Shape, out)
	s := a.Shape.steps()
	if bare && span.W == 1 && s.w == 1 {
		c.reduceRows(dst, a.Data, out, span, s, &p)
		return nil
	}
	i := 0
	for z := range out.C {
		for y := range out.H {
			for x := range out.W {
				acc := c.Kind.start()
				corner := z*s.c + y*s.h + x*s.w
				for dz := range span.C {
					for dy := range span.H {
						row := corner + dz*s.c + dy*s.h
						if bare && span.W > 1 {
							acc.row(a.Data[row : row+span.W])
							continue
						}
						for dx := range span.W {
							acc.take(float32(p.single(p.first(a.Data[row+dx*s.w]))))
						}
					}
				}
				dst[i] = p.back(float64(acc.v))
				i++
			}
		}
	}
	return nil
}

// reduceRows is Reduce where whole rows join element by element, with neither bias nor
// scale before: a row of accumulators takes one row after the other, each in the
// order of the definition.
func (c *Config) reduceRows(dst, src []float16.Float16, out, span Shape, s steps, p *plan) {
	acc := make([]float32, out.W)
	start := c.Kind.start()
	for z := range out.C {
		for y := range out.H {
			for x := range acc {
				acc[x] = start.v
			}
			for dz := range span.C {
				for dy := range span.H {
					start.rows(acc, src[(z+dz)*s.c+(y+dy)*s.h:])
				}
			}
			for x, v := range acc {
				dst[x] = p.back(float64(v))
			}
			dst = dst[out.W:]
		}
	}
}

// rows takes one element of a into each of acc.
func (s *accumulator) rows(acc []float32, a []float16.Float16) {
	a = a[:len(acc)]
	switch s.kind {
	case ReduceSum:
		for x, h := range a {
			v := acc[x] + wide[h]
			if v != v {
				v = 0
			}
			acc[x] = v
		}
	case ReduceMin:
		for x, h := range a {
			acc[x] = min(acc[x], wide[h])
		}
	case ReduceMax:
		for x, h := range a {
			acc[x] = max(acc[x], wide[h])
		}
	}
}

// row takes neighbours as they are.
func (s *accumulator) row(a []float16.Float16) {
	v := s.v
	switch s.kind {
	case ReduceSum:
		for _, h := range a {
			v += wide[h]
			if v != v {
				v = 0
			}
		}
	case ReduceMin:
		for _, h := range a {
			v = min(v, wide[h])
		}
	case ReduceMax:
		for _, h := range a {
			v = max(v, wide[h])
		}
	}
	s.v = v
}

// ReduceTwo joins c(a, b) over axes, the joined shape of a and b.
//
// Source: Common.Cfg 0x61; layer norm's 2nd task, sum of (x - mean)^2.
func (c *Config) ReduceTwo(dst []float16.Float16, axes Axes, a, b Source) error {
	full := join(a.Shape, b.Shape)
	out := full.Without(axes)
	if err := a.fits(full, "source 1"); err != nil {
		return err
	}
	if err := b.fits(full, "source 2"); err != nil {
		return err
	}
	if err := (Source{dst, out}).check("destination"); err != nil {
		return err
	}
	p := c.plan()
	span := spans(full, out)
	as, bs := a.Shape.steps(), b.Shape.steps()
	i := 0
	for z := range out.C {
		for y := range out.H {
			for x := range out.W {
				acc := c.Kind.start()
				ac, bc := z*as.c+y*as.h+x*as.w, z*bs.c+y*bs.h+x*bs.w
				for dz := range span.C {
					for dy := range span.H {
						ai, bi := ac+dz*as.c+dy*as.h, bc+dz*bs.c+dy*bs.h
						for range span.W {
							acc.take(float32(p.front(p.first(a.Data[ai]), p.second(b.Data[bi]))))
							ai += as.w
							bi += bs.w
						}
					}
				}
				dst[i] = p.back(float64(acc.v))
				i++
			}
		}
	}
	return nil
}

// spans is how many elements meet along each axis.
func spans(full, out Shape) Shape {
	return Shape{full.C / out.C, full.H / out.H, full.W / out.W}
}
