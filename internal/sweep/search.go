package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/optimize"

	"anesim/hw/chip"
	"anesim/internal/report"
)

// A budget is an upper limit for a goal.
type budget struct {
	goal
	most float64
}

// A Search looks for values of the chip's constants that minimize a goal, such as time, while other
// goals stay within budgets. It divides the range of each constant into 4,096 steps of equal ratio.
// It times no design twice.
type Search struct {
	*Sweep
	timer  *timer
	knobs  []knob
	least  goal
	limits []budget
	seen   map[string]Candidate
}

// A Candidate is a design that a search has timed: one value for each constant that the search
// varies.
type Candidate struct {
	steps  []int
	row    []string
	Rows   [][]string // one row for each program, under Sweep.Header
	value  float64    // value of the goal
	excess float64    // relative excess over the budget, 0 within it
}

// isBetterThan reports whether design a is better than b. It is better if it exceeds the budgets by
// less, or if it exceeds them equally and has a lower value of the goal.
func (a *Candidate) isBetterThan(b *Candidate) bool {
	if a.excess != b.excess {
		return a.excess < b.excess
	}
	return a.value < b.value
}

// NewSearch returns a search for the best chip constants for the programs that d lists. Each axis
// of d must be a range of a chip constant, in the form "chip.NAME=FROM..TO" with 0 < FROM < TO. The
// caller must call [Search.SetGoal] before [Search.Run], and may call [Search.SetBudget]. NewSearch
// returns an *[ArgumentError] if d is invalid.
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
			return nil, argumentErrorf("duplicate constant %q", word)
		}
		s.knobs = append(s.knobs, k)
	}
	if len(s.knobs) == 0 {
		return nil, argumentErrorf("missing chip constant; want chip.NAME=FROM..TO")
	}
	if len(programs) == 0 {
		return nil, argumentErrorf("missing program; want a file or an operation with its keys in quotes")
	}
	// The values of the axes are set before each point.
	words := slices.Clone(programs)
	for _, k := range s.knobs {
		words = append(words, chipPrefix+k.name+"="+report.Number(k.low))
	}
	if s.Sweep, err = New(&Description{Words: words, Area: d.Area, Options: d.Options, Open: d.Open, Dims: d.Dims}); err != nil {
		return nil, err
	}
	if s.workloads[0].model == nil {
		return nil, argumentErrorf("missing keys for operation %s; quote the operation with its keys, such as '%[1]s c=64 h=56 w=56'", s.workloads[0].name)
	}
	if err := s.CheckFirstPoint(); err != nil {
		return nil, err
	}
	s.timer, err = s.Sweep.newTimer()
	return s, err
}

// SetGoal sets the goal that [Search.Run] minimizes: "time", "energy", "power", "dma", "area" or a
// constant of the chip, such as "chip.Clock". It returns an *[ArgumentError] if the goal is unknown
// or there are several.
func (s *Search) SetGoal(goal string) error {
	list, err := parseGoals(goal, s.Header())
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return argumentErrorf("too many goals %q; want one", goal)
	}
	s.least = list[0]
	return nil
}

// SetBudget sets upper limits for goals, such as "power=2,area=40". The units are those of the
// rows: nanoseconds, nanojoules, watts and bytes. An empty string sets no limits.
func (s *Search) SetBudget(limits string) error {
	if limits == "" {
		return nil
	}
	for item := range strings.SplitSeq(limits, ",") {
		name, most, _ := strings.Cut(item, "=")
		v, err := strconv.ParseFloat(most, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return argumentErrorf("malformed budget %q; want GOAL=MOST, where MOST is a positive number", item)
		}
		list, err := parseGoals(name, s.Header())
		if err != nil {
			return err
		}
		s.limits = append(s.limits, budget{list[0], v})
	}
	return nil
}

// timeDesign times the programs on the design in which each constant i has the value at step
// steps[i] of its range. If the design was timed before, it returns the earlier result.
func (s *Search) timeDesign(steps []int) (*Candidate, error) {
	key := fmt.Sprint(steps)
	// Both searches come back to the same steps often.
	if c, ok := s.seen[key]; ok {
		return &c, nil
	}
	for i := range s.knobs {
		s.grid[i].values = []string{strconv.FormatFloat(s.knobs[i].valueAt(steps[i]), 'g', -1, 64)}
	}
	c := Candidate{steps: slices.Clone(steps)}
	d := newDesign(s.Header(), len(s.workloads))
	for point := range s.workloads {
		row := s.timer.timeRow(point)
		if why := rowProblem(row); why != "" {
			return nil, fmt.Errorf("%s: %s", s.formatConstants(&c), why)
		}
		c.Rows = append(c.Rows, row)
		if whole, ok := d.addRow(row); ok {
			c.row = whole
		}
	}
	var err error
	if c.value, err = s.least.computeFromRow(c.row); err != nil {
		return nil, err
	}
	for i := range s.limits {
		v, err := s.limits[i].computeFromRow(c.row)
		if err != nil {
			return nil, err
		}
		// Relative to its budget, so that excesses of different units can be added.
		c.excess += max(0, v/s.limits[i].most-1)
	}
	s.seen[key] = c
	return &c, nil
}

// maxCandidates is the number of timed designs after which descend stops.
const maxCandidates = 1 << 14

// Run returns the best design that it finds. For comparison, it also returns the design start,
// which has the chip's own constants, clamped to their ranges. Run first uses the simplex method of
// Nelder and Mead from several designs. It then varies one or two constants of the best design as
// long as that helps. If no design is within the budgets, Run returns an error that names the
// nearest one.
func (s *Search) Run() (start, best *Candidate, err error) {
	at := make([]int, len(s.knobs))
	for i := range s.knobs {
		c, _ := lookupConstant(&s.Options.Chip, s.knobs[i].name)
		at[i] = s.knobs[i].nearestStep(c)
	}
	if start, err = s.timeDesign(at); err != nil {
		return nil, nil, err
	}
	best = start
	const quarter, threeQuarters, middle = knobSteps / 4, 3 * knobSteps / 4, knobSteps / 2
	// Cycles are a step function of most constants, so a simplex may get stuck. Several starts and a
	// descent along single constants are the remedy.
	for _, from := range [...]int{-1, middle, quarter, threeQuarters} {
		if from >= 0 {
			for i := range at {
				at[i] = from
			}
		}
		c, err := s.runSimplex(at)
		if err != nil {
			return nil, nil, err
		}
		if c.isBetterThan(best) {
			best = c
		}
	}
	if best, err = s.runDescent(best); err != nil {
		return nil, nil, err
	}
	if best.excess > 0 {
		return nil, nil, fmt.Errorf("no design is within the budget; nearest design %s exceeds it by %.3g%%", s.formatConstants(best), 100*best.excess)
	}
	return start, best, nil
}

// runSimplex runs the Nelder-Mead method from the design with the steps in from, and returns the
// best design that it visits. A design beyond the budgets has a high cost that grows with the
// excess.
func (s *Search) runSimplex(from []int) (best *Candidate, err error) {
	if best, err = s.timeDesign(from); err != nil {
		return nil, err
	}
	scale := best.value
	outside := 1e3 * max(scale, 1)
	x := make([]float64, len(from))
	for i, v := range from {
		x[i] = float64(v) / knobSteps
	}
	problem := optimize.Problem{Func: func(x []float64) float64 {
		at := make([]int, len(x))
		for i, v := range x {
			// Round so that the last digits, which differ between machines, do not
			// decide halves.
			const digits = 1e6
			v = math.Round(digits*knobSteps*min(max(v, 0), 1)) / digits
			at[i] = int(math.Round(v))
		}
		c, e := s.timeDesign(at)
		if e != nil {
			err = e
			return math.Inf(1)
		}
		if c.isBetterThan(best) {
			best = c
		}
		if c.excess > 0 {
			return outside * (1 + c.excess)
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

// runDescent starts at the design best and repeatedly moves to a better neighbor. It returns the
// design that has no better neighbor. A neighbor differs by one stride in one constant, or by
// opposite strides in two. The stride is halved when no neighbor is better.
func (s *Search) runDescent(best *Candidate) (*Candidate, error) {
	moves := s.listMoves()
	for stride := knobSteps / 16; stride >= 1; {
		moved := false
		for _, m := range moves {
			at := slices.Clone(best.steps)
			for i, d := range m {
				at[i] = min(max(at[i]+d*stride, 0), knobSteps)
			}
			c, err := s.timeDesign(at)
			if err != nil {
				return nil, err
			}
			if c.isBetterThan(best) {
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

// listMoves returns the moves that runDescent tries. A move is the change in steps of every
// constant: it changes one constant by one step, or two constants by one step in opposite
// directions.
func (s *Search) listMoves() (list [][]int) {
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

// formatConstants returns the constants of a design as text, such as "Clock=1e+09 L2Bandwidth=64".
func (s *Search) formatConstants(c *Candidate) string {
	var list []string
	for i := range s.knobs {
		list = append(list, fmt.Sprintf("%s=%g", s.knobs[i].name, s.knobs[i].valueAt(c.steps[i])))
	}
	return strings.Join(list, " ")
}

// A Line compares the first and the best design of a search in one quantity: a constant of the
// chip, the goal, or a goal with a budget. Most is the upper end of the range for a constant, the
// budget for a goal with one, and "" for the goal to minimize.
type Line struct{ Name, Start, Best, Most string }

// Compare returns a [Line] for each constant, one for the goal, and one for each budget, with the
// values for the designs start and best.
func (s *Search) Compare(start, best *Candidate) ([]Line, error) {
	var list []Line
	for i := range s.knobs {
		k := &s.knobs[i]
		list = append(list, Line{chipPrefix + k.name, fmt.Sprintf("%g", k.valueAt(start.steps[i])), fmt.Sprintf("%g", k.valueAt(best.steps[i])), fmt.Sprintf("%g", k.top)})
	}
	add := func(g *goal, most string) error {
		a, err := g.computeFromRow(start.row)
		if err != nil {
			return err
		}
		b, err := g.computeFromRow(best.row)
		list = append(list, Line{g.axisTitle(), report.Number(a), report.Number(b), most})
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

// Designs returns how many designs the search has timed.
func (s *Search) Designs() int { return len(s.seen) }

// knobSteps is the number of steps into which the range of a knob is divided.
const knobSteps = 1 << 12

// A knob is a constant of the chip that a search varies, and the range of its values.
type knob struct {
	name     string
	low, top float64
}

// valueAt returns the value of the constant at a step of its range, from 0 at the low end to
// knobSteps at the high end. The ratio of consecutive values is constant.
func (k *knob) valueAt(step int) float64 {
	switch step {
	case 0:
		return k.low
	case knobSteps:
		return k.top
	}
	v := k.low * math.Pow(k.top/k.low, float64(step)/knobSteps)
	// Round to six digits, because the last digits differ between machines.
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return min(max(v, k.low), k.top)
}

// nearestStep returns the step whose value is nearest to v on a logarithmic scale. If v is out of
// range, it returns the first or the last step.
func (k *knob) nearestStep(v float64) int {
	v = min(max(v, k.low), k.top)
	return int(math.Round(knobSteps * math.Log(v/k.low) / math.Log(k.top/k.low)))
}

// parseKnob parses a constant of the chip and its range, chip.NAME=FROM..TO. It returns an error if
// the constant takes only whole numbers.
func parseKnob(word string) (knob, error) {
	name, list, _ := strings.Cut(word, "=")
	name, isChip := strings.CutPrefix(name, chipPrefix)
	from, to, isRange := strings.Cut(list, "..")
	low, err1 := strconv.ParseFloat(from, 64)
	top, err2 := strconv.ParseFloat(to, 64)
	if !isChip || !isRange || err1 != nil || err2 != nil {
		return knob{}, argumentErrorf("malformed constant %q; want chip.NAME=FROM..TO", word)
	}
	if !(low > 0 && top > low) || math.IsInf(top, 0) {
		return knob{}, argumentErrorf("invalid range %q; want a positive start below the end", word)
	}
	c, err := chip.ByName(chip.Default)
	if err != nil {
		return knob{}, err
	}
	for _, v := range [...]float64{low, top} {
		if err := chip.Set(&c, name, v); err != nil {
			return knob{}, argumentErrorf("%v", err)
		}
	}
	// A value between two whole numbers is refused only for a count.
	if chip.Set(&c, name, low+min(0.5, top-low)) != nil {
		return knob{}, argumentErrorf("constant %s takes only whole numbers; vary it with \"anesim sweep\"", name)
	}
	return knob{name, low, top}, nil
}
