package command

import (
	"anesim/bench/report"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A goal is what a design should have little of.
type goal struct {
	name   string
	unit   string
	column int // of the header
	over   int // the column that it is divided by, -1 for none
}

// goals reads names joined by commas: of columns of a sweep's header.
func goals(list, flag string, header []string) ([]goal, error) {
	var out []goal
	for name := range strings.SplitSeq(list, ",") {
		g, ok := goalOf(name, header)
		switch {
		case !ok && name == areaColumn:
			return nil, usage("%s %s: requires --area, what the chip's constants take", flag, name)
		case !ok:
			return nil, usage("%s %s: a goal is time, energy, power, dma, area or a chip. key of the sweep", flag, name)
		case slices.ContainsFunc(out, func(o goal) bool { return o.name == name }):
			return nil, usage("%s %s is given twice", flag, name)
		}
		out = append(out, g)
	}
	return out, nil
}

func goalOf(name string, header []string) (goal, bool) {
	g := goal{name: name, over: -1}
	column := name
	switch name {
	case "time":
		column, g.unit = "time_ns", "ns"
	case "energy":
		column, g.unit = "energy_nj", "nJ"
	case "power":
		column, g.unit, g.over = "energy_nj", "W", slices.Index(header, "time_ns")
	case "dma":
		column, g.unit = "dma_bytes", "B"
	case areaColumn:
	default:
		if !strings.HasPrefix(name, chipKey) {
			return g, false
		}
	}
	g.column = slices.Index(header, column)
	return g, g.column >= 0
}

// value is a row's.
func (g *goal) value(row []string) (float64, error) {
	v, err := strconv.ParseFloat(row[g.column], 64)
	if err != nil || g.over < 0 {
		return v, err
	}
	over, err := strconv.ParseFloat(row[g.over], 64)
	if err == nil && over == 0 {
		err = strconv.ErrRange
	}
	return v / over, err
}

// label names a goal's axis in a picture.
func (g *goal) label() string {
	switch {
	case g.unit == "":
		return g.name
	default:
		return fmt.Sprintf("%s, %s", g.name, g.unit)
	}
}

// A front is the designs that no other is better than in every goal; less is better. A
// design is a row, or the sums of one for each program where a sweep has several.
type front struct {
	goals   []goal
	design  *design
	failure int // column of the reason why a row has no figures, or not those of the whole
	points  []frontPoint
	cloud   cloud // of all designs, for a picture
}

type frontPoint struct {
	row   []string
	goals []float64
}

// newFront is an empty front over goals joined by commas.
func newFront(list, flag string, header []string, programs int) (*front, error) {
	g, err := goals(list, flag, header)
	if err != nil {
		return nil, err
	}
	if len(g) < 2 {
		return nil, usage("%s %s: requires two goals or more", flag, list)
	}
	return &front{goals: g, design: newDesign(header, programs), failure: len(header) - 1}, nil
}

// add takes in a row, and takes out those that it is better than. Of rows that are equal
// in every goal all stay. A row without figures is none of the front's.
func (f *front) add(row []string) {
	row, ok := f.design.add(row)
	if !ok || row[f.failure] != "" {
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

// A design adds the rows of a sweep's programs up, which stand together.
type design struct {
	programs int
	columns  map[string]int
	first    []string // the row so far
	rows     int
}

func newDesign(header []string, programs int) *design {
	d := &design{programs: programs, columns: map[string]int{}}
	for i, name := range header {
		d.columns[name] = i
	}
	return d
}

// sums are the columns that add up.
var sums = [...]string{"descriptors", "cycles", "dma_bytes", "time_ns", "energy_nj", "dispatch_energy_nj", "macs", "time_ns_low", "time_ns_high"}

// add takes in a row and returns the design that it completes.
func (d *design) add(row []string) ([]string, bool) {
	if d.programs == 1 {
		return row, true
	}
	if d.rows == 0 {
		d.first = slices.Clone(row)
		d.first[1] = fmt.Sprintf("%d programs", d.programs)
		d.first[d.columns["bound"]] = ""
	} else {
		d.sum(row)
	}
	if d.rows++; d.rows < d.programs {
		return nil, false
	}
	d.rows = 0
	at := func(name string) float64 {
		v, _ := strconv.ParseFloat(d.first[d.columns[name]], 64)
		return v
	}
	if t := at("time_ns"); t > 0 {
		d.first[d.columns["tflops"]] = report.Number(2 * at("macs") / t / 1e3)
	}
	return d.first, true
}

// sum adds a row to the design. What one of the programs fails with, the design does.
func (d *design) sum(row []string) {
	failure := d.columns["error"]
	if d.first[failure] == "" {
		d.first[failure] = row[failure]
	}
	for _, name := range sums {
		i := d.columns[name]
		a, err1 := strconv.ParseUint(d.first[i], 10, 64)
		b, err2 := strconv.ParseUint(row[i], 10, 64)
		if err1 == nil && err2 == nil && (name == "descriptors" || name == "cycles" || name == "dma_bytes" || name == "macs") {
			d.first[i] = strconv.FormatUint(a+b, 10)
			continue
		}
		x, _ := strconv.ParseFloat(d.first[i], 64)
		y, _ := strconv.ParseFloat(row[i], 64)
		d.first[i] = report.Number(x + y)
	}
}

// maxCloud bounds the designs that a picture shows.
const maxCloud = 1 << 13

// A cloud is designs evenly picked out of any number: each step-th, where step doubles
// whenever there are too many.
type cloud struct {
	points [][]float64
	step   int
	seen   int
}

func (c *cloud) add(goals []float64) {
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
