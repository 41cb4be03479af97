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
	if p.bias == 0 && p.scale == 1 && c.Op == Add && !c.Negate1 { // elements are the terms
		if axes&AxisW != 0 {
			c.reduceRuns(dst, a, axes, &p)
		} else {
			c.reduceRows(dst, a, axes, &p)
		}
		return nil
	}
	span := spans(a.Shape, out)
	s := a.Shape.steps()
	i := 0
	for z := range out.C {
		for y := range out.H {
			for x := range out.W {
				acc := c.Kind.start()
				corner := z*s.c + y*s.h + x*s.w
				for dz := range span.C {
					for dy := range span.H {
						row := corner + dz*s.c + dy*s.h
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

// reduceRows is Reduce of elements as they are over axes without the width: a row of
// accumulators takes one row after the other, each in the order of the definition.
func (c *Config) reduceRows(dst []float16.Float16, a Source, axes Axes, p *plan) {
	s := a.Shape
	count, rows, n := s.C, s.H, s.W // rows of accumulators, rows of each, and elements
	switch axes {
	case 0:
		count, rows = s.C*s.H, 1
	case AxisC:
		count, rows, n = 1, s.C, s.H*s.W
	case AxisC | AxisH:
		count, rows = 1, s.C*s.H
	}
	room := make([]float32, min(n, rowBlock))
	for z := range count {
		for x := 0; x < n; x += len(room) {
			acc := room[:min(len(room), n-x)]
			joinRows(c.Kind, acc, a.Data[z*rows*n+x:], n, rows)
			p.backRow(dst[z*n+x:], acc)
		}
	}
}

// rowBlock is how many accumulators a row has at a time: 4 KB, which stay in the first-level
// cache with the rows that are asked for ahead.
const rowBlock = 1024

// lanes is how many runs are joined beside each other: a sum has an order, so that only
// sums of their own can go on at a time.
const lanes = 16

// reduceRuns is Reduce of elements as they are over axes with the width: elements of a run lie
// behind each other, and runs at equal distances.
func (c *Config) reduceRuns(dst []float16.Float16, a Source, axes Axes, p *plan) {
	s := a.Shape
	count, n := s.C*s.H, s.W // runs, and elements of each
	pieces := 1              // a plane apart
	switch axes &^ AxisW {
	case AxisH:
		count, n = s.C, s.H*s.W
	case AxisC | AxisH:
		count, n = 1, s.C*s.H*s.W
	case AxisC:
		count, pieces = s.H, s.C
	}
	var room [lanes]float32
	for first := 0; first < count; first += lanes {
		first := first
		if count > lanes {
			first = min(first, count-lanes) // the last ones again
		}
		acc := room[:min(count, lanes)]
		for i := range acc {
			acc[i] = c.Kind.start().v
		}
		for piece := range pieces {
			joinRuns(c.Kind, acc, a.Data[piece*s.H*s.W+first*n:], n)
		}
		p.backRow(dst[first:], acc)
	}
}

// backRow is back of every accumulator.
func (p *plan) backRow(dst []float16.Float16, acc []float32) {
	dst = dst[:len(acc)]
	if !p.tailless {
		for i, v := range acc {
			dst[i] = p.back(float64(v))
		}
		return
	}
	narrowRow(dst, acc, p.relu)
}

// narrowRowGo rounds what nothing but a ReLU comes behind.
func narrowRowGo(dst []float16.Float16, acc []float32, relu bool) {
	for i, v := range acc {
		v += 0 // -0 becomes +0
		if relu {
			v = max(v, 0)
		}
		dst[i] = narrow(v)
	}
}

// joinRowsGo joins each of acc with an element of each of some rows, stride elements apart.
func joinRowsGo(k Reduction, acc []float32, a []float16.Float16, stride, rows int) {
	for i := range acc {
		acc[i] = k.start().v
	}
	for row := range rows {
		joinRow(k, acc, a[row*stride:])
	}
}

// joinRow takes one element of a into each of acc.
func joinRow(k Reduction, acc []float32, a []float16.Float16) {
	a = a[:len(acc)]
	switch k {
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

// joinRunsGo takes n elements of a into each of acc, those of the next one behind them.
func joinRunsGo(k Reduction, acc []float32, a []float16.Float16, n int) {
	for i := range acc {
		acc[i] = joinRun(k, acc[i], a[i*n:][:n])
	}
}

// joinRun takes all of a into v.
func joinRun(k Reduction, v float32, a []float16.Float16) float32 {
	switch k {
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
	return v
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
