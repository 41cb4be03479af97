package planar

import "github.com/x448/float16"

// A Window describes the windows of a task along one row of results: each covers Columns elements of
// a row, Stride elements after the window before it. The first window begins Before elements ahead
// of the row.
type Window struct{ Columns, Stride, Before int }

// ReduceWindows reduces the elements of each window of a to one element of dst, with c.Kind. Source
// a holds the rows that the windows cover. Elements of a window outside the row do not count: the
// tasks of Apple's compiler that take a maximum set a padding mode of their own. A window
// without an element inside the row gives the result of an empty reduction, such as -Inf for a
// maximum. It computes planar tasks of one source with a window, which no known program has. It
// returns a *[ShapeError] and writes nothing if a does not have one channel or does not match its
// slice, and a *[ConfigError] if the stride is below 1. The slice dst must not overlap a.
func (c *Config) ReduceWindows(dst []float16.Float16, a Source, w Window) error {
	if err := a.checkLength("source 1"); err != nil {
		return err
	}
	if a.Shape.C != 1 {
		return &ShapeError{Operand: "source 1", Got: a.Shape, Have: len(a.Data), Want: Shape{1, a.Shape.H, a.Shape.W}}
	}
	if w.Stride < 1 {
		return &ConfigError{"window stride", uint32(max(0, w.Stride))}
	}
	p := c.newPlan()
	columns := make([]float32, a.Shape.W) // each column reduced
	c.reduceColumns(columns, a, &p)
	if w == (Window{Columns: 1, Stride: 1}) && len(dst) <= len(columns) {
		p.finishRow(dst, columns[:len(dst)])
		return nil
	}
	for i := range dst {
		acc := c.Kind.emptyAccumulator()
		begin := i*w.Stride - w.Before
		for x := max(0, begin); x < min(len(columns), begin+w.Columns); x++ {
			acc.addTerm(columns[x])
		}
		dst[i] = p.finishElement(float64(acc.v))
	}
	return nil
}

// reduceColumns sets each element of acc to the reduction of a column of a, before the stages after
// a reduction.
func (c *Config) reduceColumns(acc []float32, a Source, p *plan) {
	n := a.Shape.W
	if p.bias == 0 && p.scale == 1 && c.Op == Add && !c.Negate1 { // elements are the terms
		accumulateRows(c.Kind, acc, a.Data, n, a.Shape.H)
		return
	}
	for x := range acc {
		sum := c.Kind.emptyAccumulator()
		for y := range a.Shape.H {
			sum.addTerm(float32(p.evalSingleSource(p.loadFirst(a.Data[y*n+x]))))
		}
		acc[x] = sum.v
	}
}
