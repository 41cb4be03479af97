package view

import (
	"fmt"
	"slices"

	"anesim/bench/report"
	"anesim/hw"
)

// A Table is the table of all items on a page.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// A Column describes a column of a table. Help explains its contents.
type Column struct {
	Title  string
	Help   string
	Number bool
}

// A Cell is the text of a table cell and, for a number, the value by which it is sorted.
type Cell struct {
	Text  string
	Value float64
}

func textCell(s string) Cell { return Cell{Text: s} }

func countCell[T ~int | ~uint64](n T) Cell {
	return Cell{report.Thousands(uint64(n)), float64(n)}
}

// joinCells returns the cells of a row in the order names, main costs, shapes, other costs, so
// that a narrow window shows the costs that matter most.
func joinCells[T any](names, shapes, costs []T) []T {
	const first = 6 // cycles, share, bound by, time, energy, moved
	return slices.Concat(names, costs[:first], shapes, costs[first:])
}

// costColumns returns the columns that layers and descriptors share.
func costColumns() []Column {
	return []Column{
		{"cycles", "engine cycles that it adds to the chain", true},
		{"share", "of all cycles", true},
		{"bound by", "the cause with the most cycles", false},
		{"time", "engine time", true},
		{"energy", "without the dispatch's own", true},
		{"moved", "bytes between device memory and the engine", true},
		{"GB/s", "bytes over time", true},
		{"TFLOP/s", "operations over time; a multiply-accumulate is two", true},
		{"low", "lower end of the time's " + hw.IntervalPercent + " interval", true},
		{"high", "upper end of the time's " + hw.IntervalPercent + " interval", true},
	}
}

func costCells(x *Item, all uint64) []Cell {
	gb := 0.0
	if x.Time > 0 {
		gb = float64(x.Bytes) / float64(x.WorkingTime(x.Time))
	}
	t := x.TFLOPS(x.Time)
	return []Cell{
		countCell(x.Cycles.Total), {formatShare(float64(x.Cycles.Total), float64(all)), float64(x.Cycles.Total)}, textCell(report.CauseText(x.Bound)),
		{x.Time.String(), float64(x.Time)}, {x.Energy.String(), float64(x.Energy)}, {report.Size(x.Bytes), float64(x.Bytes)}, {FormatRate(gb), gb}, {FormatRate(t), t},
		{x.Low.String(), float64(x.Low)}, {x.High.String(), float64(x.High)},
	}
}

func formatShape(s [4]int) string {
	if s[0] > 1 {
		return fmt.Sprintf("%dx%dx%dx%d", s[0], s[1], s[2], s[3])
	}
	return fmt.Sprintf("%dx%dx%d", s[1], s[2], s[3])
}

func (r *Report) addDescriptorTable(list []report.Descriptor, rest *report.Rest, all uint64) {
	r.Table.Columns = joinCells([]Column{{"td", "place in the chain", true}, {"op", "operation", false}}, []Column{
		{"in", "source, C H W", false}, {"out", "result, C H W", false}, {"kernel", "window", false}, {"engines", "MAC engines at work", true},
	}, costColumns())
	work := func(s *report.Shape) []Cell {
		if *s == (report.Shape{}) {
			return []Cell{textCell("of other shapes"), textCell("-"), textCell("-")}
		}
		kernel := "-"
		if s.Kw > 0 && s.Kh > 0 {
			kernel = fmt.Sprintf("%dx%d", s.Kh, s.Kw)
		}
		return []Cell{
			textCell(fmt.Sprintf("%dx%dx%d", s.Cin, s.Hin, s.Win)), textCell(fmt.Sprintf("%dx%dx%d", s.Cout, s.Hout, s.Wout)), textCell(kernel),
		}
	}
	for i := range list {
		d := &list[i]
		r.Table.Rows = append(r.Table.Rows,
			joinCells([]Cell{countCell(d.Index), textCell(d.Op)}, append(work(&d.Shape), countCell(d.Engines)), costCells(&r.Items[i], all)))
	}
	if rest == nil {
		return
	}
	for i := range rest.Groups {
		g := &rest.Groups[i]
		r.Table.Rows = append(r.Table.Rows, joinCells([]Cell{{fmt.Sprintf("%d more", g.Descriptors), float64(len(list) + i)}, textCell(g.Op)},
			append(work(&g.Shape), textCell("-")), costCells(&r.Items[len(list)+i], all)))
	}
}

func (r *Report) addLayerTable(list []report.Layer, all uint64) {
	r.Table.Columns = joinCells([]Column{{"layer", "name in the network", false}, {"op", "operation", false}}, []Column{
		{"in", "N C H W", false}, {"out", "N C H W", false}, {"kernel", "taps, /stride and :groups", false}, {"tds", "descriptors of its own", true},
	}, costColumns())
	for i := range list {
		l := &list[i]
		op := l.Op
		if l.Activation != "" {
			op += "+" + l.Activation
		}
		r.Table.Rows = append(r.Table.Rows, joinCells([]Cell{textCell(l.Name), textCell(op)},
			[]Cell{textCell(formatShape(l.In)), textCell(formatShape(l.Out)), textCell(l.Kernel), countCell(l.Descriptors)}, costCells(&r.Items[i], all)))
	}
}
