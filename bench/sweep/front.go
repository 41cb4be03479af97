package sweep

import (
	"fmt"
	"slices"

	"anesim/bench/report"
)

// A Front is the designs that no other is better than in every goal; less is better. A
// design is a row, or the sums of one for each program where a sweep has several.
type Front struct {
	Header []string
	goals  []goal
	design *design
	points []frontPoint
	cloud  cloud // of all designs, for a picture
}

type frontPoint struct {
	row   []string
	goals []float64
}

// NewFront is an empty front over goals joined by commas.
func NewFront(list string, header []string, programs int) (*Front, error) {
	g, err := goals(list, header)
	if err != nil {
		return nil, err
	}
	if len(g) < 2 {
		return nil, wrong("%s: requires two goals or more", list)
	}
	return &Front{Header: header, goals: g, design: newDesign(header, programs)}, nil
}

// Add takes in a row, and takes out those that it is better than. Of rows that are equal
// in every goal all stay. A row without figures is none of the front's.
func (f *Front) Add(row []string) {
	row, ok := f.design.add(row)
	if !ok || problem(row) != "" {
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

// Write writes the front's rows.
func (f *Front) Write(out *Output) error {
	for _, p := range f.points {
		if err := out.Write(p.row); err != nil {
			return err
		}
	}
	return nil
}

// ReadFront is the front over goals, joined by commas, of the rows of a sweep in files, one
// for each shard.
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
		return nil, wrong("goal %v", err)
	}
	total, err := mergeRows(files, func(m *shardFile) error {
		best.Add(m.row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if total%programs != 0 {
		return nil, fmt.Errorf("%d rows are not those of %s", total, report.Plural(programs, "program"))
	}
	return best, nil
}
