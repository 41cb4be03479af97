package command

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/optimize"

	"anesim/bench/report"
	"anesim/hw/chip"
)

// optimiseFlags are the flags of sweep optimise.
type optimiseFlags struct {
	sweepFlags
	least  string
	within string
}

func optimiseCommand() *cobra.Command {
	var f optimiseFlags
	c := &cobra.Command{
		Use:   "optimise FILE|'OP key=value...'... chip.NAME=FROM..TO...",
		Short: "Find the chip's constants with the least time or energy within a budget",
		Long: `Optimise looks for the values of constants of the chip, each within its range, that have
the least of a goal of anesim sweep --pareto, by default time, over all programs named, and
keep a budget: --within power=2,area=40 has the design take at most 2 W, on average, and 40
units of --area.

The search is downhill (Nelder and Mead's simplex, from several starts) and then along each
constant until no neighbour is better, on a scale with 4,096 steps of equal ratio from one
end of each range to the other. It may end in a minimum that is not the least of all; a
sweep with --pareto shows the whole range. The result is the same on every machine.

It prints the constants at the start (the chip's, moved into their ranges) and at the end,
and the goal and budget at both. --csv prints the row of each program instead, as sweep does.`,
		Example: `  anesim sweep optimise resnet50.yaml chip.ReadRate=10e9..200e9 chip.Clock=0.5e9..2e9 --within power=4
  anesim sweep optimise 'conv cin=64 h=56 w=56 cout=64 k=3' chip.TotalRate=10e9..200e9 chip.ReadRate=10e9..200e9 \
      chip.Clock=0.5e9..2e9 --area '1e-10*TotalRate + 1e-8*Clock' --within area=25`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.OutOrStdout(), args) },
	}
	s := c.Flags()
	f.registerOnly(s, "chip", "seed", "gate-tiles", "init", "csv")
	s.Lookup("seed").Usage = "seed of the weights"
	s.Lookup("csv").Usage = "print the best design's rows as CSV"
	s.StringVar(&f.area, "area", "", "a proxy of the chip's area, an `EXPRESSION` like '2 + 0.003*Engines*MACs'")
	s.StringVar(&f.least, "least", "time", "the `GOAL` to have the least of")
	s.StringVar(&f.within, "within", "", "the budget, `GOAL=MOST,...`")
	completeFlags(c)
	return c
}

// steps is how fine a constant's range is divided.
const steps = 1 << 12

// A knob is a constant with its range.
type knob struct {
	name     string
	low, top float64
}

// at is the value of a step from 0 to steps, in equal ratios.
func (k *knob) at(step int) float64 {
	switch step {
	case 0:
		return k.low
	case steps:
		return k.top
	}
	v := k.low * math.Pow(k.top/k.low, float64(step)/steps)
	// Six digits are the same on every machine, whose last ones may differ.
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return min(max(v, k.low), k.top)
}

// near is the step whose value is next to v.
func (k *knob) near(v float64) int {
	v = min(max(v, k.low), k.top)
	return int(math.Round(steps * math.Log(v/k.low) / math.Log(k.top/k.low)))
}

// parseKnob reads chip.NAME=FROM..TO.
func parseKnob(word string) (knob, error) {
	name, list, _ := strings.Cut(word, "=")
	name, isChip := strings.CutPrefix(name, chipKey)
	from, to, isRange := strings.Cut(list, "..")
	low, err1 := strconv.ParseFloat(from, 64)
	top, err2 := strconv.ParseFloat(to, 64)
	if !isChip || !isRange || err1 != nil || err2 != nil {
		return knob{}, usage("%q: want chip.NAME=FROM..TO", word)
	}
	if !(low > 0 && top > low) || math.IsInf(top, 0) {
		return knob{}, usage("%q: want a range from more than 0 up", word)
	}
	c, err := chip.ByName(chip.Default)
	if err != nil {
		return knob{}, err
	}
	for _, v := range [...]float64{low, top} {
		if err := chip.Set(&c, name, v); err != nil {
			return knob{}, usage("%v", err)
		}
	}
	// Between two whole numbers of the range there is a half, which only a count refuses.
	if chip.Set(&c, name, low+min(0.5, top-low)) != nil {
		return knob{}, usage("%s: takes whole numbers; anesim sweep varies them", name)
	}
	return knob{name, low, top}, nil
}

// A budget is a goal with its most.
type budget struct {
	goal
	most float64
}

// A search looks for the best design.
type search struct {
	*sweep
	timer  *pointTimer
	knobs  []knob
	least  goal
	limits []budget
	seen   map[string]candidate
}

// A candidate is a design: a step of every knob, and what comes of it.
type candidate struct {
	steps []int
	row   []string
	rows  [][]string // of each program
	value float64    // of the goal
	over  float64    // by which part the budget is missed, 0 within it
}

// better reports whether a is better than b: within the budget before without.
func (a *candidate) better(b *candidate) bool {
	if a.over != b.over {
		return a.over < b.over
	}
	return a.value < b.value
}

func (f *optimiseFlags) run(w io.Writer, args []string) error {
	s, err := f.search(args)
	if err != nil {
		return err
	}
	start, best, err := s.run()
	if err != nil {
		return err
	}
	if best.over > 0 {
		return fmt.Errorf("no design within the budget was found: the nearest, %s, misses it by %.3g %%", s.words(best), 100*best.over)
	}
	if f.csv {
		out := &sweepOutput{w: w, header: s.header()}
		for _, row := range best.rows {
			if err := out.write(row); err != nil {
				return err
			}
		}
		return out.finish()
	}
	return s.print(w, start, best)
}

// search reads the command line.
func (f *optimiseFlags) search(args []string) (*search, error) {
	o, err := f.shared()
	if err != nil {
		return nil, err
	}
	var programs []string
	s := &search{seen: map[string]candidate{}}
	for _, word := range args {
		if !isAxis(word) {
			programs = append(programs, word)
			continue
		}
		k, err := parseKnob(word)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.knobs, func(other knob) bool { return other.name == k.name }) {
			return nil, usage("%s is given twice", word)
		}
		s.knobs = append(s.knobs, k)
	}
	if len(s.knobs) == 0 {
		return nil, usage("missing constants: want chip.NAME=FROM..TO")
	}
	if len(programs) == 0 {
		return nil, usage("missing program: want a file or an operation with its keys in quotes")
	}
	// The axes have their values set before each point.
	words := slices.Clone(programs)
	for _, k := range s.knobs {
		words = append(words, chipKey+k.name+"="+report.Number(k.low))
	}
	if s.sweep, err = newSweep(words, nil, f.area, o); err != nil {
		return nil, err
	}
	if s.workloads[0].model == nil {
		return nil, usage("%s: its keys go with it, as in '%[1]s c=64 h=56 w=56'", s.workloads[0].name)
	}
	if err := s.try(); err != nil {
		return nil, err
	}
	if s.timer, err = s.sweep.timer(); err != nil {
		return nil, err
	}
	return s, s.goals(f.least, f.within)
}

// goals reads what is looked for.
func (s *search) goals(least, within string) error {
	list, err := goals(least, "--least", s.header())
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return usage("--least %s: want one goal", least)
	}
	s.least = list[0]
	if within == "" {
		return nil
	}
	for item := range strings.SplitSeq(within, ",") {
		name, most, _ := strings.Cut(item, "=")
		v, err := strconv.ParseFloat(most, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return usage("--within %q: want GOAL=MOST", item)
		}
		list, err := goals(name, "--within", s.header())
		if err != nil {
			return err
		}
		s.limits = append(s.limits, budget{list[0], v})
	}
	return nil
}

// at times a design, once.
func (s *search) at(steps []int) (*candidate, error) {
	key := fmt.Sprint(steps)
	if c, ok := s.seen[key]; ok {
		return &c, nil
	}
	for i := range s.knobs {
		s.grid[i].values = []string{strconv.FormatFloat(s.knobs[i].at(steps[i]), 'g', -1, 64)}
	}
	c := candidate{steps: slices.Clone(steps)}
	d := newDesign(s.header(), len(s.workloads))
	for point := range s.workloads {
		row := s.timer.row(point)
		if why := row[len(row)-1]; why != "" {
			return nil, fmt.Errorf("%s: %s", s.words(&c), why)
		}
		c.rows = append(c.rows, row)
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

// run finds the best design: by simplex from the chip's constants and from the corners of
// smaller and larger ones, then along each constant.
func (s *search) run() (start, best *candidate, err error) {
	at := make([]int, len(s.knobs))
	for i := range s.knobs {
		c, _ := constantOf(&s.options.Chip, s.knobs[i].name)
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
	best, err = s.descend(best)
	return start, best, err
}

// simplex is the best design on Nelder and Mead's way downhill. A design outside the budget
// costs more than any within, by how far it is outside.
func (s *search) simplex(from []int) (best *candidate, err error) {
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
func (s *search) descend(best *candidate) (*candidate, error) {
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
func (s *search) moves() (list [][]int) {
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
func (s *search) words(c *candidate) string {
	var list []string
	for i := range s.knobs {
		list = append(list, fmt.Sprintf("%s=%g", s.knobs[i].name, s.knobs[i].at(c.steps[i])))
	}
	return strings.Join(list, " ")
}

func (s *search) print(w io.Writer, start, best *candidate) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tstart\tbest\tmost")
	for i := range s.knobs {
		k := &s.knobs[i]
		fmt.Fprintf(t, "chip.%s\t%g\t%g\t%g\n", k.name, k.at(start.steps[i]), k.at(best.steps[i]), k.top)
	}
	line := func(g *goal, most string) error {
		a, err := g.value(start.row)
		if err != nil {
			return err
		}
		b, err := g.value(best.row)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", g.label(), report.Number(a), report.Number(b), most)
		return err
	}
	if err := line(&s.least, ""); err != nil {
		return err
	}
	for i := range s.limits {
		if err := line(&s.limits[i].goal, report.Number(s.limits[i].most)); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s, %s timed\n", s.name, report.Plural(len(s.seen), "design"))
	return err
}
