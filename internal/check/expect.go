package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"anesim/internal/report"
	"anesim/internal/spelling"
)

// An Expectation is a number from another source, such as a compiler's estimate, for one measure of
// a model or of a part of it. [ReadExpectations] and [ParseExpectation] return expectations.
type Expectation struct {
	Input string // name of the model; "" for every model
	// Part is "total", the index of a descriptor in decimal, or the name of a layer. The prefix
	// "layer " is for a layer with such a name.
	Part    string
	Measure string // see measures
	Value   float64
	// Bound is "<=" or ">=" if Value is a limit, and otherwise "".
	Bound     string
	Tolerance float64 // allowed difference as a fraction of Value, if Bound is ""

	rounding float64  // half a unit of the last digit of Value, as written
	part     position // for [Entry.Expect], which alone can tell whether a part exists
}

// listMeasureNames returns the names of measures that an expectation can have. They are the names in JSON
// reports: cycles, time_ns, energy_nj, dispatch_energy_nj, dma_bytes, macs, exe_cycles and each
// cause of cycles. As in a report, energy_nj of the total includes dispatches.
func listMeasureNames() []string {
	var names []string
	var none Cost
	for _, m := range none.listMeasures() {
		names = append(names, m.name)
	}
	return names
}

// A measure is a quantity of a cost under its name in JSON reports.
type measure struct {
	name, unit string
	v          float64
	of         string // the quantity whose parts explain it; see term
}

func (c *Cost) listMeasures() []measure {
	list := []measure{
		{"cycles", "", float64(c.Cycles), "cycles"}, {"time_ns", "ns", float64(c.TimeNs), "cycles"},
		{"energy_nj", "nJ", float64(c.EnergyNJ + c.DispatchNJ), "energy"},
		{"dispatch_energy_nj", "nJ", float64(c.DispatchNJ), ""},
		{"dma_bytes", "B", float64(c.DMABytes), "bytes"}, {"macs", "", float64(c.MACs), ""},
		{"exe_cycles", "us", float64(c.ExeCycles), ""},
	}
	for name, n := range c.Causes.All() {
		list = append(list, measure{name, "", float64(n), ""})
	}
	return list
}

// A Comparison is the outcome of one expectation for one model. In its Difference, Want is the
// expected value, and Why has the largest parts of the value if it is not as expected.
type Comparison struct {
	Input string
	Expectation
	Difference
	Passed bool
}

// Expect compares the entry with expectations. It returns a comparison for each, in the order of
// list, and ignores Input. If the entry does not have a part, the error is an *[ExpectationError].
func (e *Entry) Expect(list []Expectation) ([]Comparison, error) {
	layers := map[string]*Cost{}
	for i := range e.Layers {
		layers[e.Layers[i].Name] = &e.Layers[i].Cost
	}
	var compared []Comparison
	for i := range list {
		x := &list[i]
		c := Comparison{Input: e.Input, Expectation: *x}
		cost, where, err := e.findPart(x.Part, layers)
		if err != nil {
			return nil, x.part.errorf("%w", err)
		}
		c.Difference = Difference{Where: where, What: x.Measure, Want: x.Value}
		// A part without a cost, or with only some of it, has no number to compare.
		if cost == nil || where == total && len(e.NotModelled) > 0 {
			c.What, c.Appeared = x.Measure+": "+report.Incomplete(e.NotModelled), true
			compared = append(compared, c)
			continue
		}
		measures := cost.listMeasures()
		at := slices.IndexFunc(measures, func(m measure) bool { return m.name == x.Measure })
		if at < 0 {
			return nil, x.part.errorf("unknown measure %q", x.Measure)
		}
		m := &measures[at]
		c.Unit, c.Got = m.unit, m.v
		if c.Passed = x.isMetBy(m.v); !c.Passed {
			c.Why = cost.explainDifference(m, x.Value)
		}
		compared = append(compared, c)
	}
	return compared, nil
}

// findPart returns the cost and the full name of the part of e that an expectation names. The cost
// is nil if the part is a layer that is not modelled.
func (e *Entry) findPart(name string, layers map[string]*Cost) (*Cost, string, error) {
	if name == total {
		return &e.Total, total, nil
	}
	if n, err := strconv.ParseUint(name, 10, 63); err == nil {
		if n >= uint64(len(e.Descriptors)) {
			if layers[name] != nil {
				return nil, "", fmt.Errorf(`%s is not a descriptor of %s; the layer of this name is "layer %[1]s"`, name, report.Printable(e.Input))
			}
			return nil, "", fmt.Errorf("descriptor %d is not in %s, which has %s", n, report.Printable(e.Input), report.Plural(len(e.Descriptors), "descriptor"))
		}
		d := &e.Descriptors[n]
		return &d.Cost, fmt.Sprintf("descriptor %d (%s)", n, d.Op), nil
	}
	name = strings.TrimPrefix(name, "layer ")
	if c := layers[name]; c != nil {
		return c, "layer " + name, nil
	}
	if slices.ContainsFunc(e.NotModelled, func(m report.Missing) bool { return m.Name == name }) {
		return nil, "layer " + name, nil
	}
	known := []string{total}
	for i := range e.Layers {
		known = append(known, e.Layers[i].Name)
	}
	return nil, "", fmt.Errorf("no layer %q with a cost in %s%s", name, report.Printable(e.Input), spelling.Suggest(name, known))
}

// isMetBy reports whether the value got is as expected. Without a bound and a tolerance, it must be
// the value when rounded to the digits that were written.
func (x *Expectation) isMetBy(got float64) bool {
	// Sums of energies in another order differ in their last bits.
	const rounding = 1e-9 // relative
	slack := float64(rounding * math.Abs(x.Value))
	switch x.Bound {
	case "<=":
		return got <= x.Value+slack
	case ">=":
		return got >= x.Value-slack
	}
	return math.Abs(got-x.Value) <= max(float64(x.Tolerance*x.Value), x.rounding)+slack
}

// Limit returns the expectation's value and limits as text, such as "590 +-2%" or "at most 600".
func (c *Comparison) Limit() string {
	want, _ := c.Values()
	switch {
	case c.Bound == "<=":
		return "at most " + want
	case c.Bound == ">=":
		return "at least " + want
	case c.Tolerance > 0:
		return fmt.Sprintf("%s +-%.6g%%", want, 100*c.Tolerance)
	}
	return want
}

// String returns the comparison without the name of the model, on one line, such as "total: cycles
// 1,373, expected 1,300 +-2% (+5.62%)".
func (c *Comparison) String() string {
	if c.Appeared {
		return c.Where + ": " + c.What
	}
	_, got := c.Values()
	text := fmt.Sprintf("%s: %s %s, expected %s", c.Where, c.What, got, c.Limit())
	switch r := c.Relative(); {
	case c.Passed && c.Tolerance == 0 || r == 0 || math.IsInf(r, 0):
		return text
	case c.Got >= 10*c.Want:
		return fmt.Sprintf("%s (%sx)", text, report.Rate(1+r))
	case math.Abs(r) < 0.0001:
		return fmt.Sprintf("%s (%+.1g%%)", text, 100*r)
	default:
		return fmt.Sprintf("%s (%+.2f%%)", text, 100*r)
	}
}

// explainDifference returns the known reasons why the measure m of a part with cost c is not the value
// want: the parts that it consists of, largest first, and whether want is in the model's interval.
func (c *Cost) explainDifference(m *measure, want float64) (why []string) {
	if t := float64(c.TimeNs); m.of == "cycles" && t > 0 && m.v > 0 {
		low, high := float64(c.TimeLowNs)/t-1, float64(c.TimeHighNs)/t-1
		// First, because it makes all else unnecessary: the expectation may be right and the model not.
		if r := want/m.v - 1; c.TimeHighNs > 0 && low <= r && r <= high {
			why = append(why, fmt.Sprintf("the difference is inside anesim's error (%+.0f %+.0f%%)", 100*low, 100*high))
		}
	}
	terms := slices.DeleteFunc(c.listTerms(), func(t term) bool { return m.of == "" || t.of != m.of || t.v == 0 })
	if m.of == "energy" && c.DispatchNJ > 0 {
		terms = append(terms, term{"energy", "the call itself", "nJ", float64(c.DispatchNJ)})
	}
	slices.SortStableFunc(terms, func(a, b term) int {
		switch {
		case a.v > b.v:
			return -1
		case a.v < b.v:
			return 1
		}
		return 0
	})
	const most = 3
	sum := 0.0
	for _, t := range terms {
		sum += t.v
	}
	for _, t := range terms[:min(most, len(terms))] {
		text := formatValue(t.v, t.unit)
		if m.of == "cycles" {
			text += " cycles"
		}
		why = append(why, fmt.Sprintf("%s %s (%.1f%%)", t.name, text, 100*t.v/sum))
	}
	return why
}

// An ExpectationError is an error in an expectation. Line and Column count from 1; Column counts
// bytes. Line is 0 if the expectation is not in a file.
type ExpectationError struct {
	Line, Column int
	Err          error
}

func (e *ExpectationError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("column %d: %v", e.Column, e.Err)
	}
	return fmt.Sprintf("%d:%d: %v", e.Line, e.Column, e.Err)
}

// Unwrap returns e.Err.
func (e *ExpectationError) Unwrap() error { return e.Err }

// A position is a place in the text of expectations; see [ExpectationError].
type position struct{ line, column int }

func (p position) errorf(format string, args ...any) error {
	return &ExpectationError{p.line, p.column, fmt.Errorf(format, args...)}
}
