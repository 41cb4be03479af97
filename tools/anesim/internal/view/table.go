package view

import (
	"fmt"
	"slices"

	"anesim/internal/report"
)

// A Table is a table on a page. Each row has one cell per column.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// A Column describes a column of a [Table]. A page omits columns that do not fit its window, those
// of the highest Order first, but never columns of order 0.
type Column struct {
	Title  string
	Help   string // what the column contains
	Number bool   // cells are sorted by their values
	Order  int
}

// A Cell is the text of a table cell and, for a number, the value by which it is sorted.
type Cell struct {
	Text  string
	Value float64
}

func newTextCell(s string) Cell { return Cell{Text: s} }

func newCountCell[T ~int | ~uint64](n T) Cell {
	return Cell{report.Thousands(uint64(n)), float64(n)}
}

// newTable returns a table with a row for each element of list and with the columns that pages
// show. A column with the share of all cycles follows the column of cycles.
func newTable[R any](columns []report.Column[R], list []R, all uint64) Table {
	var t Table
	t.Rows = make([][]Cell, len(list))
	for i := range columns {
		c := &columns[i]
		if c.Page == "" {
			continue
		}
		column, share := Column{Title: c.Page, Help: c.Help, Order: c.Order}, Column{Title: "share", Help: "of all cycles", Number: true}
		for k := range list {
			v := c.Value(&list[k])
			n, ok := v.Number()
			column.Number = column.Number || ok
			t.Rows[k] = append(t.Rows[k], Cell{v.String(), n})
			if c.Page == cyclesTitle {
				t.Rows[k] = append(t.Rows[k], Cell{formatShare(n, float64(all)), n})
			}
		}
		t.Columns = append(t.Columns, column)
		if c.Page == cyclesTitle {
			t.Columns = append(t.Columns, share)
		}
	}
	return t
}

// cyclesTitle is the title of the column that the share of all cycles follows.
const cyclesTitle = "cycles"

// newDescriptorTable returns the table of the listed descriptors, followed by a row for each group
// of the others.
func newDescriptorTable(listed []report.Descriptor, rest *report.Rest, all uint64) Table {
	if rest == nil {
		return newTable(report.DescriptorColumns, listed, all)
	}
	list := slices.Clone(listed)
	for i := range rest.Groups {
		g := &rest.Groups[i]
		list = append(list, report.Descriptor{
			Op: g.Op, Shape: g.Shape, Cycles: g.Cycles, Bound: g.Cycles.Bound(), TimeNs: g.TimeNs, WorkingNs: g.TimeNs,
			EnergyNJ: g.EnergyNJ, MACs: g.MACs, DMA: report.DMA{Total: g.DMABytes},
		})
	}
	t := newTable(report.DescriptorColumns, list, all)
	for i := range rest.Groups {
		g, row := &rest.Groups[i], t.Rows[len(listed)+i]
		for k, c := range t.Columns {
			switch c.Title {
			case "#":
				row[k] = Cell{fmt.Sprintf("%d more", g.Descriptors), float64(len(listed) + i)}
			case "engines", "low", "high":
				row[k] = newTextCell("-")
			case "in", "out":
				if g.Shape == (report.Shape{}) {
					row[k] = newTextCell("various")
				}
			}
		}
	}
	return t
}
