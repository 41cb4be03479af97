package sweep

import (
	"fmt"
	"math"
	"slices"
)

// A Front is the Pareto front of a sweep: the designs that no other design dominates. One design
// dominates another if it is no worse in any goal, such as time or energy, and better in at least
// one. Smaller values are better. A design is a row of the sweep or, if the sweep has several
// programs, the sum of their rows.
type Front struct {
	Header  []string
	goals   []goal
	design  *design
	designs []frontDesign
	cloud   cloud // sample of all designs, for a picture
}

// A frontDesign is a design's row and its goals' values.
type frontDesign struct {
	row   []string
	goals []float64
}

// NewFront returns an empty front. The argument list names two or more goals, joined by commas,
// such as "time,energy,chip.Engines". The argument header names the columns of rows, and programs
// is the number of programs in the sweep. NewFront returns an *[ArgumentError] if list has a single
// goal, or a goal is repeated, unknown, or without a column in header.
func NewFront(list string, header []string, programs int) (*Front, error) {
	g, err := parseGoals(list, header)
	if err != nil {
		return nil, err
	}
	if len(g) < 2 {
		return nil, argumentErrorf("only one goal, %q; want two or more", list)
	}
	return &Front{Header: header, goals: g, design: newDesign(header, programs)}, nil
}

// Add adds a row to the front, unless another design dominates it. It then removes the designs that
// the row dominates. Designs with equal goals are all kept. If the sweep has several programs, Add
// sums consecutive rows, one per program, and adds the sum. It ignores rows with an error or
// without figures.
func (f *Front) Add(row []string) {
	row, ok := f.design.addRow(row)
	if !ok || rowProblem(row) != "" {
		return
	}
	p := frontDesign{row: row}
	for i := range f.goals {
		v, err := f.goals[i].computeFromRow(row)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		p.goals = append(p.goals, v)
	}
	f.cloud.countDesign(p.goals)
	if slices.ContainsFunc(f.designs, func(q frontDesign) bool { return q.dominates(&p) }) {
		return
	}
	f.designs = slices.DeleteFunc(f.designs, func(q frontDesign) bool { return p.dominates(&q) })
	f.designs = append(f.designs, p)
}

// dominates reports whether p is no worse than q in every goal and better in at least one.
func (p *frontDesign) dominates(q *frontDesign) bool {
	better := false
	for i, v := range p.goals {
		if v > q.goals[i] {
			return false
		}
		better = better || v < q.goals[i]
	}
	return better
}

// Write writes the rows of the front's designs to out, in the order in which they were added. The
// caller must call [Output.Finish].
func (f *Front) Write(out *Output) error {
	for _, p := range f.designs {
		if err := out.Write(p.row); err != nil {
			return err
		}
	}
	return nil
}

// ReadFront returns the front of a sweep whose rows are in the named files, one file per shard. The
// argument goals names the goals, joined by commas; see [NewFront]. The argument programs is the
// number of programs in the sweep. ReadFront returns an error if a point occurs twice or is
// missing, or if the files belong to different sweeps.
func ReadFront(goals string, programs int, names []string) (*Front, error) {
	files, closeAll, err := openShards(names)
	defer closeAll()
	if err != nil {
		return nil, err
	}
	if err := files[0].readHeader(); err != nil {
		return nil, err
	}
	best, err := NewFront(goals, files[0].row, programs)
	if err != nil {
		return nil, err
	}
	total, err := mergeRows(files, func(m *shardFile) error {
		best.Add(m.row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if total%programs != 0 {
		return nil, fmt.Errorf("files have %d rows; want a multiple of %d, the number of programs", total, programs)
	}
	return best, nil
}

// A Plane holds the points of a plot whose axes are the first two goals of a front.
type Plane struct {
	X, Y string       // titles of the axes, such as "time, ns"
	All  [][2]float64 // a sample of all designs
	Best [][2]float64 // the designs of the front
	Of   int          // number of designs from which All was sampled
}

// Plane returns the points for a plot of the front: its designs, and an even sample of at most
// 8,192 of all designs that were added.
func (f *Front) Plane() Plane {
	two := func(goals []float64) [2]float64 { return [2]float64{goals[0], goals[1]} }
	p := Plane{X: f.goals[0].axisTitle(), Y: f.goals[1].axisTitle(), Of: f.cloud.seen}
	for _, goals := range f.cloud.points {
		p.All = append(p.All, two(goals))
	}
	for i := range f.designs {
		p.Best = append(p.Best, two(f.designs[i].goals))
	}
	return p
}

// maxCloud is the largest number of designs in a plot.
const maxCloud = 1 << 13

// A cloud is an even sample of designs: every step-th one. The step doubles whenever the
// sample grows beyond maxCloud.
type cloud struct {
	points [][]float64
	step   int
	seen   int
}

// countDesign counts a design of the sweep. If the design belongs to the sample for the plot, it also
// keeps the values of its goals.
func (c *cloud) countDesign(goals []float64) {
	c.step = max(c.step, 1)
	if c.seen++; (c.seen-1)%c.step != 0 {
		return
	}
	if c.points = append(c.points, goals); len(c.points) <= maxCloud {
		return
	}
	c.step *= 2
	kept := c.points[:0]
	for i := 0; i < len(c.points); i += 2 {
		kept = append(kept, c.points[i])
	}
	c.points = kept
}
