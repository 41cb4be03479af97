package planar

import (
	"math"

	"github.com/x448/float16"
)

// A Reduction combines the terms of a reducing task. The values equal those of the compiler's
// ZinIrReductionType. The compiler's value 3, the mean, has no constant here, because it is a sum
// with FinalScale 1/N.
type Reduction uint8

const (
	ReduceSum Reduction = iota
	ReduceMin
	ReduceMax
)

// An accumulator combines the terms of one element of a reduction's result.
type accumulator struct {
	kind Reduction
	v    float32
}

// emptyAccumulator returns the accumulator of a reduction of kind k before its first term.
func (k Reduction) emptyAccumulator() accumulator {
	switch k {
	case ReduceMin:
		return accumulator{k, float32(math.Inf(1))}
	case ReduceMax:
		return accumulator{k, float32(math.Inf(-1))}
	}
	return accumulator{k, 0}
}

// addTerm combines the term t with the terms that the accumulator holds.
func (s *accumulator) addTerm(t float32) {
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

// Reduce reduces a over axes with c.Kind, in row-major order, and writes the elements of the result
// to dst. The result has the shape a.Shape.Without(axes). The slice dst must not overlap a. Reduce
// returns a *[ShapeError] and writes nothing if a shape does not match its slice. It computes
// planar tasks that reduce one source (Common.Cfg 0x51), such as reduce_mean.
func (c *Config) Reduce(dst []float16.Float16, axes Axes, a Source) error {
	out := a.Shape.without(axes)
	if err := a.checkLength("source 1"); err != nil {
		return err
	}
	if err := (Source{dst, out}).checkLength("destination"); err != nil {
		return err
	}
	p := c.newPlan()
	if p.bias == 0 && p.scale == 1 && c.Op == Add && !c.Negate1 { // elements are the terms
		if axes&AxisW != 0 {
			c.reduceRuns(dst, a, axes, &p)
		} else {
			c.reduceRows(dst, a, axes, &p)
		}
		return nil
	}
	// The general case, element by element: the fast loops above must give the same bits.
	span := reducedExtents(a.Shape, out)
	s := a.Shape.strides()
	i := 0
	for z := range out.C {
		for y := range out.H {
			for x := range out.W {
				acc := c.Kind.emptyAccumulator()
				corner := z*s.c + y*s.h + x*s.w
				for dz := range span.C {
					for dy := range span.H {
						row := corner + dz*s.c + dy*s.h
						for dx := range span.W {
							acc.addTerm(float32(p.evalSingleSource(p.loadFirst(a.Data[row+dx*s.w]))))
						}
					}
				}
				dst[i] = p.finishElement(float64(acc.v))
				i++
			}
		}
	}
	return nil
}

// reduceRows reduces over axes that do not include the width, for a task that does not change the
// elements before the reduction. It adds one row of elements after the other to a row of
// accumulators.
func (c *Config) reduceRows(dst []float16.Float16, a Source, axes Axes, p *plan) {
	s := a.Shape
	count, rows, n := s.C, s.H, s.W // rows of accumulators, rows reduced into each, and elements per row
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
			accumulateRows(c.Kind, acc, a.Data[z*rows*n+x:], n, rows)
			p.finishRow(dst[z*n+x:], acc)
		}
	}
}

// rowBlock is the number of accumulators that are processed at a time: 4 KB, which stay in the
// first-level cache together with prefetched rows.
const rowBlock = 1024

// lanes is the number of runs that are reduced at the same time. The order within a sum is fixed,
// so only different sums can be computed in parallel.
const lanes = 16

// reduceRuns reduces over axes that include the width, for a task that does not change the elements
// before the reduction. A sum consists of one or more runs of adjacent elements, which start at
// equal distances.
func (c *Config) reduceRuns(dst []float16.Float16, a Source, axes Axes, p *plan) {
	s := a.Shape
	count, n := s.C*s.H, s.W // runs, and elements per run
	pieces := 1              // pieces per run, one plane apart
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
			first = min(first, count-lanes) // compute the last ones again
		}
		acc := room[:min(count, lanes)]
		for i := range acc {
			acc[i] = c.Kind.emptyAccumulator().v
		}
		for piece := range pieces {
			accumulateRuns(c.Kind, acc, a.Data[piece*s.H*s.W+first*n:], n)
		}
		p.finishRow(dst[first:], acc)
	}
}

// finishRow applies the stages after a reduction to every accumulator in acc.
func (p *plan) finishRow(dst []float16.Float16, acc []float32) {
	dst = dst[:len(acc)]
	if !p.tailless {
		for i, v := range acc {
			dst[i] = p.finishElement(float64(v))
		}
		return
	}
	narrowRow(dst, acc, p.relu)
}

// narrowRowGo rounds the accumulators acc to fp16 in dst, after ReLU if relu is set.
func narrowRowGo(dst []float16.Float16, acc []float32, relu bool) {
	for i, v := range acc {
		v += 0 // -0 becomes +0
		if relu {
			v = max(v, 0)
		}
		dst[i] = narrowToHalf(v)
	}
}

// accumulateRowsGo adds the given number of rows of a, which start stride elements apart, to the
// accumulators in acc.
func accumulateRowsGo(k Reduction, acc []float32, a []float16.Float16, stride, rows int) {
	for i := range acc {
		acc[i] = k.emptyAccumulator().v
	}
	for row := range rows {
		accumulateRow(k, acc, a[row*stride:])
	}
}

// accumulateRow adds a[i] to acc[i] for every i.
func accumulateRow(k Reduction, acc []float32, a []float16.Float16) {
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

// accumulateRunsGo adds n adjacent elements of a to each accumulator in acc.
func accumulateRunsGo(k Reduction, acc []float32, a []float16.Float16, n int) {
	for i := range acc {
		acc[i] = accumulateRun(k, acc[i], a[i*n:][:n])
	}
}

// accumulateRun returns v combined with all elements of a.
func accumulateRun(k Reduction, v float32, a []float16.Float16) float32 {
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

// ReduceTwo combines a and b, repeating axes of extent 1 as Config.applyTile does, and reduces
// the combination over axes as [Config.Reduce] does. It computes planar tasks that reduce two
// sources (Common.Cfg 0x61), such as the sum of (x - mean)^2 in layer norm.
func (c *Config) ReduceTwo(dst []float16.Float16, axes Axes, a, b Source) error {
	full := broadcastShape(a.Shape, b.Shape)
	out := full.without(axes)
	if err := a.checkFits(full, "source 1"); err != nil {
		return err
	}
	if err := b.checkFits(full, "source 2"); err != nil {
		return err
	}
	if err := (Source{dst, out}).checkLength("destination"); err != nil {
		return err
	}
	p := c.newPlan()
	span := reducedExtents(full, out)
	as, bs := a.Shape.strides(), b.Shape.strides()
	i := 0
	for z := range out.C {
		for y := range out.H {
			for x := range out.W {
				// Sums are float32, so their order decides the result: columns innermost, as in Reduce.
				acc := c.Kind.emptyAccumulator()
				ac, bc := z*as.c+y*as.h+x*as.w, z*bs.c+y*bs.h+x*bs.w
				for dz := range span.C {
					for dy := range span.H {
						ai, bi := ac+dz*as.c+dy*as.h, bc+dz*bs.c+dy*bs.h
						for range span.W {
							acc.addTerm(float32(p.combineSources(p.loadFirst(a.Data[ai]), p.loadSecond(b.Data[bi]))))
							ai += as.w
							bi += bs.w
						}
					}
				}
				dst[i] = p.finishElement(float64(acc.v))
				i++
			}
		}
	}
	return nil
}

// reducedExtents returns how many elements along each axis are reduced to one. full is the shape of
// a tensor, and out the shape of its reduction.
func reducedExtents(full, out Shape) Shape {
	return Shape{full.C / out.C, full.H / out.H, full.W / out.W}
}
