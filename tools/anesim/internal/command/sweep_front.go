package command

import (
	"slices"
	"strconv"
	"strings"
)

// A front is the points that no other is better than in every goal; less is better.
type front struct {
	columns []int // of the goals in a row
	failure int   // column of the reason why a point has no figures
	points  []frontPoint
}

type frontPoint struct {
	row   []string
	goals []float64
}

// goalColumns are the columns of the goals that have names of their own.
var goalColumns = map[string]string{"time": "time_ns", "energy": "energy_nj", "dma": "dma_bytes"}

// front is an empty front over goals joined by commas.
func (s *sweep) front(goals string) (*front, error) {
	header := s.header()
	f := &front{failure: len(header) - 1}
	for goal := range strings.SplitSeq(goals, ",") {
		name, ok := goalColumns[goal]
		if !ok && strings.HasPrefix(goal, chipKey) {
			name = goal
		}
		i := slices.Index(header, name)
		switch {
		case i < 0:
			return nil, usage("--pareto %s: a goal is time, energy, dma or a chip. key of the sweep", goal)
		case slices.Contains(f.columns, i):
			return nil, usage("--pareto %s is given twice", goal)
		}
		f.columns = append(f.columns, i)
	}
	if len(f.columns) < 2 {
		return nil, usage("--pareto %s: requires two goals or more", goals)
	}
	return f, nil
}

// add takes in a row, and takes out those that it is better than. Of rows that are equal
// in every goal all stay. A row without figures is none of the front's.
func (f *front) add(row []string) {
	if row[f.failure] != "" {
		return
	}
	p := frontPoint{row: row}
	for _, c := range f.columns {
		v, err := strconv.ParseFloat(row[c], 64)
		if err != nil {
			return
		}
		p.goals = append(p.goals, v)
	}
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
