package sweep

import (
	"fmt"
	"slices"

	"anesim/bench/report"
)

// A Front holds the designs that no other design dominates; less is better in every goal. A
// design is a row, or the sum of one row per program if a sweep has several programs.
type Front struct {
	Header []string
	goals  []goal
	design *design
	points []frontPoint
	cloud  cloud // sample of all designs, for a picture
}

type frontPoint struct {
	row   []string
	goals []float64
}

// NewFront returns an empty front for goals that are joined by commas.
func NewFront(list string, header []string, programs int) (*Front, error) {
	g, err := parseGoals(list, header)
	if err != nil {
		return nil, err
	}
	if len(g) < 2 {
		return nil, argumentErrorf("%s: want two goals or more", list)
	}
	return &Front{Header: header, goals: g, design: newDesign(header, programs)}, nil
}

// Add adds a row and removes the rows that it dominates. Rows that are equal in every goal
// all stay. A row with an error is ignored.
func (f *Front) Add(row []string) {
	row, ok := f.design.addRow(row)
	if !ok || rowProblem(row) != "" {
		return
	}
	p := frontPoint{row: row}
	for i := range f.goals {
		v, err := f.goals[i].value(row)
		if err != nil {
			return
		}
		p.goals = append(p.goals, v)
	}
	f.cloud.add(p.goals)
	if slices.ContainsFunc(f.points, func(q frontPoint) bool { return q.dominates(&p) }) {
		return
	}
	f.points = slices.DeleteFunc(f.points, func(q frontPoint) bool { return p.dominates(&q) })
	f.points = append(f.points, p)
}

// dominates reports whether p is no worse than q in every goal and better in one.
func (p *frontPoint) dominates(q *frontPoint) bool {
	better := false
	for i, v := range p.goals {
		if v > q.goals[i] {
			return false
		}
		better = better || v < q.goals[i]
	}
	return better
}

// Write writes the rows of the front.
func (f *Front) Write(out *Output) error {
	for _, p := range f.points {
		if err := out.Write(p.row); err != nil {
			return err
		}
	}
	return nil
}

// ReadFront returns the front of a sweep's rows in files, one for each shard. goals are
// joined by commas.
func ReadFront(goals string, programs int, names []string) (*Front, error) {
	files, closing, err := openShards(names)
	defer closing()
	if err != nil {
		return nil, err
	}
	if err := files[0].start(); err != nil {
		return nil, err
	}
	best, err := NewFront(goals, files[0].row, programs)
	if err != nil {
		return nil, argumentErrorf("goal %v", err)
	}
	total, err := mergeRows(files, func(m *shardFile) error {
		best.Add(m.row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if total%programs != 0 {
		return nil, fmt.Errorf("found %d rows; want a multiple of %s", total, report.Plural(programs, "program"))
	}
	return best, nil
}
