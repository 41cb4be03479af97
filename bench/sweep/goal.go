package sweep

import (
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

// goals reads names joined by commas: of columns of a sweep's header.
func goals(list string, header []string) ([]goal, error) {
	var out []goal
	for name := range strings.SplitSeq(list, ",") {
		g, ok := goalOf(name, header)
		switch {
		case !ok && name == areaColumn:
			return nil, wrong("%s: requires --area, what the chip's constants take", name)
		case !ok:
			return nil, wrong("%s: a goal is time, energy, power, dma, area or a chip. key of the sweep", name)
		case slices.ContainsFunc(out, func(o goal) bool { return o.name == name }):
			return nil, wrong("%s is given twice", name)
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
		if !strings.HasPrefix(name, ChipPrefix) {
			return g, false
		}
	}
	g.column = slices.Index(header, column)
	return g, g.column >= 0
}
