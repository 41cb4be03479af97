package view

import (
	"fmt"
	"slices"
	"strconv"

	"anesim/hw/clock"
	"anesim/internal/report"
)

// A Sweep is the JSON report of a sweep: the column names and the rows of its CSV file.
type Sweep struct {
	report.Header
	Name    string     `json:"name"`
	Chip    string     `json:"chip"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// cellText returns the value of a row in the named column, or "" if there is no such column.
func (s *Sweep) cellText(row []string, column string) string {
	i := slices.Index(s.Columns, column)
	if i < 0 || i >= len(row) {
		return ""
	}
	return row[i]
}

func (s *Sweep) parseCell(row []string, column string) float64 {
	v, err := strconv.ParseFloat(s.cellText(row, column), 64)
	if err != nil {
		return 0 // a refused point has no numbers
	}
	return v
}

// FromSweep converts the JSON report of a sweep to the form that pages and pictures use. Its items
// are the points of the sweep, without a breakdown of cycles by cause. The argument peak holds the
// chip's highest rates.
func FromSweep(s *Sweep, peak report.Rates) *Report {
	r := &Report{Kind: "sweep", Name: s.Name, Chip: s.Chip, Host: "none", Tool: s.Tool, Peak: peak, Of: "point", Document: s}
	numeric := make([]bool, len(s.Columns))
	for i, name := range s.Columns {
		// Columns are known by name only, so a column is numeric if all of its cells are. Empty cells, of
		// points that were refused, do not count.
		numeric[i] = true
		for _, row := range s.Rows {
			if i < len(row) && row[i] != "" {
				if _, err := strconv.ParseFloat(row[i], 64); err != nil {
					numeric[i] = false
				}
			}
		}
		r.Table.Columns = append(r.Table.Columns, Column{Title: name, Help: "as in the CSV", Number: numeric[i]})
	}
	failed := 0
	for k, row := range s.Rows {
		x := Item{
			Name: fmt.Sprintf("point %s", s.cellText(row, "point")), Op: s.Name, Bound: s.cellText(row, "bound"),
			Time: clock.Nanoseconds(s.parseCell(row, "time_ns")), Energy: clock.Nanojoules(s.parseCell(row, "energy_nj")),
			Low: clock.Nanoseconds(s.parseCell(row, "time_ns_low")), High: clock.Nanoseconds(s.parseCell(row, "time_ns_high")),
			MACs: uint64(s.parseCell(row, "macs")), Bytes: uint64(s.parseCell(row, "dma_bytes")),
		}
		x.Cycles.Total = uint64(s.parseCell(row, "cycles"))
		if s.cellText(row, "error") != "" {
			failed++
		}
		r.Items = append(r.Items, x)
		cells := make([]Cell, len(s.Columns))
		for i := range cells {
			if i < len(row) {
				cells[i].Text = row[i]
				if numeric[i] && row[i] != "" {
					cells[i].Value = s.parseCell(s.Rows[k], s.Columns[i])
				}
			}
		}
		r.Table.Rows = append(r.Table.Rows, cells)
	}
	r.Facts = []Fact{{"Coverage", fmt.Sprintf("%d points", len(s.Rows)), "rows", float64(len(s.Rows)), fmt.Sprintf("%d refused or with a fault", failed)}}
	return r
}
