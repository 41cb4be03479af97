package sweep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A goal is a quantity of a design that should be small: a column of its row, or the quotient of
// two columns.
type goal struct {
	name   string
	unit   string
	column int // index in the header
	over   int // column to divide by, -1 for none
}

// computeFromRow returns the value of the goal for a row of results. It returns an error if a column
// that the goal needs is not a number, or if the divisor is 0.
func (g *goal) computeFromRow(row []string) (float64, error) {
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

// axisTitle returns the title of the goal's axis in a plot, such as "time, ns".
func (g *goal) axisTitle() string {
	switch {
	case g.unit == "":
		return g.name
	default:
		return fmt.Sprintf("%s, %s", g.name, g.unit)
	}
}

// parseGoals parses a comma-separated list of goals. It returns an error if a goal is listed twice,
// is unknown, or needs a column that the header lacks.
func parseGoals(list string, header []string) ([]goal, error) {
	var out []goal
	for name := range strings.SplitSeq(list, ",") {
		g, ok := parseGoal(name, header)
		switch {
		case !ok && name == areaColumn:
			return nil, argumentErrorf("goal %q requires --area with an expression", name)
		case !ok:
			return nil, argumentErrorf("unknown goal %q; want time, energy, power, dma, area or a chip.NAME axis", name)
		case slices.ContainsFunc(out, func(o goal) bool { return o.name == name }):
			return nil, argumentErrorf("duplicate goal %q", name)
		}
		out = append(out, g)
	}
	return out, nil
}

// parseGoal returns the goal with the given name, such as "power" or "chip.Engines". The time is that of a
// call on a machine, and without one that of the engine. The power is always the engine's while it works.
// It returns ok = false if the name is unknown or the header lacks a column that the goal needs.
func parseGoal(name string, header []string) (goal, bool) {
	g := goal{name: name, over: -1}
	column := name
	switch name {
	case "time":
		if column, g.unit = callColumns[0], "ns"; !slices.Contains(header, column) {
			column = "time_ns"
		}
	case "energy":
		column, g.unit = "energy_nj", "nJ"
	case "power":
		column, g.unit, g.over = "energy_nj", "W", slices.Index(header, "time_ns")
	case "dma":
		column, g.unit = "dma_bytes", "B"
	case areaColumn:
	default:
		if !strings.HasPrefix(name, chipPrefix) {
			return g, false
		}
	}
	g.column = slices.Index(header, column)
	return g, g.column >= 0
}
