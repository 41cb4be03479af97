package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/optimize"

	"anesim/bench/report"
)

// A budget is a goal with its most.
type budget struct {
	goal
	most float64
}

// A Search looks for the best design.
type Search struct {
	*Sweep
	timer  *timer
	knobs  []knob
	least  goal
	limits []budget
	seen   map[string]Candidate
}

// A Candidate is a design: a step of every knob, and what comes of it.
type Candidate struct {
	steps []int
	row   []string
	Rows  [][]string // of each program
	value float64    // of the goal
	over  float64    // by which part the budget is missed, 0 within it
}

// better reports whether a is better than b: within the budget before without.
func (a *Candidate) better(b *Candidate) bool {
	if a.over != b.over {
		return a.over < b.over
	}
	return a.value < b.value
}

// NewSearch reads a description whose axes are ranges of the chip's constants.
func NewSearch(d *Description) (*Search, error) {
	var programs []string
	var err error
	s := &Search{seen: map[string]Candidate{}}
	for _, word := range d.Words {
		if !isAxis(word) {
			programs = append(programs, word)
			continue
		}
		k, err := parseKnob(word)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.knobs, func(other knob) bool { return other.name == k.name }) {
			return nil, wrong("%s is given twice", word)
		}
		s.knobs = append(s.knobs, k)
	}
	if len(s.knobs) == 0 {
		return nil, wrong("missing constants: want chip.NAME=FROM..TO")
	}
	if len(programs) == 0 {
		return nil, wrong("missing program: want a file or an operation with its keys in quotes")
	}
	// The axes have their values set before each point.
	words := slices.Clone(programs)
	for _, k := range s.knobs {
		words = append(words, ChipPrefix+k.name+"="+report.Number(k.low))
	}
	if s.Sweep, err = New(&Description{Words: words, Area: d.Area, Options: d.Options, Open: d.Open}); err != nil {
		return nil, err
	}
	if s.workloads[0].model == nil {
		return nil, wrong("%s: its keys go with it, as in '%[1]s c=64 h=56 w=56'", s.workloads[0].name)
	}
	if err := s.Try(); err != nil {
		return nil, err
	}
	s.timer, err = s.Sweep.timer()
	return s, err
}

// Reduce reads the goal to have the least of.
func (s *Search) Reduce(goal string) error {
	list, err := goals(goal, s.Header())
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return wrong("%s: want one goal", goal)
	}
	s.least = list[0]
	return nil
}

// Keep reads a budget, GOAL=MOST joined by commas.
func (s *Search) Keep(within string) error {
	if within == "" {
		return nil
	}
	for item := range strings.SplitSeq(within, ",") {
		name, most, _ := strings.Cut(item, "=")
		v, err := strconv.ParseFloat(most, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return wrong("%q: want GOAL=MOST", item)
		}
		list, err := goals(name, s.Header())
		if err != nil {
			return err
		}
		s.limits = append(s.limits, budget{list[0], v})
	}
	return nil
}

// at times a design, once.
func (s *Search) at(steps []int) (*Candidate, error) {
	key := fmt.Sprint(steps)
	if c, ok := s.seen[key]; ok {
		return &c, nil
	}
	for i := range s.knobs {
		s.grid[i].values = []string{strconv.FormatFloat(s.knobs[i].at(steps[i]), 'g', -1, 64)}
	}
	c := Candidate{steps: slices.Clone(steps)}
	d := newDesign(s.Header(), len(s.workloads))
	for point := range s.workloads {
		row := s.timer.row(point)
		if why := problem(row); why != "" {
			return nil, fmt.Errorf("%s: %s", s.words(&c), why)
		}
		c.Rows = append(c.Rows, row)
		if whole, ok := d.add(row); ok {
			c.row = whole
		}
	}
	var err error
	if c.value, err = s.least.value(c.row); err != nil {
		return nil, err
	}
	for i := range s.limits {
		v, err := s.limits[i].value(c.row)
		if err != nil {
			return nil, err
		}
		c.over += max(0, v/s.limits[i].most-1)
	}
	s.seen[key] = c
	return &c, nil
}

// maxCandidates bounds the designs that a search times.
const maxCandidates = 1 << 14

// Run finds the best design: by simplex from the chip's constants and from the corners of
// smaller and larger ones, then along each constant.
func (s *Search) Run() (start, best *Candidate, err error) {
	at := make([]int, len(s.knobs))
	for i := range s.knobs {
		c, _ := constantOf(&s.Options.Chip, s.knobs[i].name)
		at[i] = s.knobs[i].near(c)
	}
	if start, err = s.at(at); err != nil {
		return nil, nil, err
	}
	best = start
	const quarter, threeQuarters, middle = steps / 4, 3 * steps / 4, steps / 2
	for _, from := range [...]int{-1, middle, quarter, threeQuarters} {
		if from >= 0 {
			for i := range at {
				at[i] = from
			}
		}
		c, err := s.simplex(at)
		if err != nil {
			return nil, nil, err
		}
		if c.better(best) {
			best = c
		}
	}
	if best, err = s.descend(best); err != nil {
		return nil, nil, err
	}
	if best.over > 0 {
		return nil, nil, fmt.Errorf("no design within the budget was found: the nearest, %s, misses it by %.3g%%", s.words(best), 100*best.over)
	}
	return start, best, nil
}

// simplex is the best design on Nelder and Mead's way downhill. A design outside the budget
// costs more than any within, by how far it is outside.
func (s *Search) simplex(from []int) (best *Candidate, err error) {
	if best, err = s.at(from); err != nil {
		return nil, err
	}
	scale := best.value
	outside := 1e3 * max(scale, 1)
	x := make([]float64, len(from))
	for i, v := range from {
		x[i] = float64(v) / steps
	}
	problem := optimize.Problem{Func: func(x []float64) float64 {
		at := make([]int, len(x))
		for i, v := range x {
			// What is half a step but for its last digits, which differ between machines, is half.
			const digits = 1e6
			v = math.Round(digits*steps*min(max(v, 0), 1)) / digits
			at[i] = int(math.Round(v))
		}
		c, e := s.at(at)
		if e != nil {
			err = e
			return math.Inf(1)
		}
		if c.better(best) {
			best = c
		}
		if c.over > 0 {
			return outside * (1 + c.over)
		}
		return c.value
	}}
	settings := &optimize.Settings{FuncEvaluations: 200 * len(from), Converger: &optimize.FunctionConverge{Relative: 1e-6, Iterations: 30}}
	const size = 0.2
	_, e := optimize.Minimize(problem, x, settings, &optimize.NelderMead{SimplexSize: size})
	if err == nil {
		err = e
	}
	return best, err
}

// descend goes along each constant, and along each pair where one gives what the other
// takes, in ever smaller steps, until no neighbour is better.
func (s *Search) descend(best *Candidate) (*Candidate, error) {
	moves := s.moves()
	for stride := steps / 16; stride >= 1; {
		moved := false
		for _, m := range moves {
			at := slices.Clone(best.steps)
			for i, d := range m {
				at[i] = min(max(at[i]+d*stride, 0), steps)
			}
			c, err := s.at(at)
			if err != nil {
				return nil, err
			}
			if c.better(best) {
				best, moved = c, true
			}
		}
		if len(s.seen) > maxCandidates {
			return best, nil
		}
		if !moved {
			stride /= 2
		}
	}
	return best, nil
}

// moves are the directions of descend.
func (s *Search) moves() (list [][]int) {
	n := len(s.knobs)
	for i := range n {
		for _, d := range [...]int{1, -1} {
			m := make([]int, n)
			m[i] = d
			list = append(list, m)
			for j := range n {
				if j != i {
					pair := slices.Clone(m)
					pair[j] = -d
					list = append(list, pair)
				}
			}
		}
	}
	return list
}

// words are a design's constants.
func (s *Search) words(c *Candidate) string {
	var list []string
	for i := range s.knobs {
		list = append(list, fmt.Sprintf("%s=%g", s.knobs[i].name, s.knobs[i].at(c.steps[i])))
	}
	return strings.Join(list, " ")
}

// A Line is a constant, the goal or a limit at two designs.
type Line struct{ Name, Start, Best, Most string }

// Compare is the constants, the goal and the budget at two designs.
func (s *Search) Compare(start, best *Candidate) ([]Line, error) {
	var list []Line
	for i := range s.knobs {
		k := &s.knobs[i]
		list = append(list, Line{ChipPrefix + k.name, fmt.Sprintf("%g", k.at(start.steps[i])), fmt.Sprintf("%g", k.at(best.steps[i])), fmt.Sprintf("%g", k.top)})
	}
	add := func(g *goal, most string) error {
		a, err := g.value(start.row)
		if err != nil {
			return err
		}
		b, err := g.value(best.row)
		list = append(list, Line{g.label(), report.Number(a), report.Number(b), most})
		return err
	}
	if err := add(&s.least, ""); err != nil {
		return nil, err
	}
	for i := range s.limits {
		if err := add(&s.limits[i].goal, report.Number(s.limits[i].most)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Designs is how many designs were timed.
func (s *Search) Designs() int { return len(s.seen) }
