package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// A columnKind is the type of a column's values.
type columnKind uint8

const (
	integers columnKind = iota
	reals
	words
)

// A column is a column of the sweep with its type.
type column struct {
	name       string
	kind       columnKind
	dictionary bool
}

// results lists the columns at the end of every row of a sweep. It must match
// internal/sweep/row.go of the main module.
var results = [...]column{
	{"descriptors", integers, false}, {"cycles", integers, false}, {"bound", words, true}, {"dma_bytes", integers, false},
	{"time_ns", reals, false}, {"energy_nj", reals, false}, {"dispatch_energy_nj", reals, false}, {"macs", integers, false},
	{"tflops", reals, false}, {"time_ns_low", reals, false}, {"time_ns_high", reals, false}, {"error", words, true},
}

// areaName is the name of the column before the results if the sweep has an area.
const areaName = "area"

// calls are the columns before the results if the sweep has a machine.
var calls = [...]string{"wall_ns", "wall_ns_low", "wall_ns_high"}

// originName is the name of the column after the results. Older files do not have it.
const originName = "origin"

var errNoSweep = errors.New("line 1: unexpected columns; want a CSV file from anesim sweep")

// A schema holds the columns of a sweep in the order of the file.
type schema struct {
	columns []column
	axes    []axis // columns whose type is inferred from their values
}

// An axis is the column of a swept key. The flags say which types all values so far allow.
type axis struct {
	column      int
	whole, real bool
}

// newSchema returns the schema of a sweep with the given header. The caller must pass every row to
// inspectRow and then call setTypes.
func newSchema(header []string) (*schema, error) {
	const labels = 2 // point and program
	first := len(header) - len(results)
	origin := len(header) > 0 && header[len(header)-1] == originName
	if origin {
		header = header[:len(header)-1]
		first--
	}
	if first < labels || header[0] != "point" || header[1] != "program" {
		return nil, errNoSweep
	}
	for i, r := range results {
		if header[first+i] != r.name {
			return nil, errNoSweep
		}
	}
	s := &schema{columns: []column{{"point", integers, false}, {"program", words, true}}}
	labelled := first // index after the axes and the area
	if n := first - len(calls); n >= labels && slices.Equal(header[n:first], calls[:]) {
		labelled = n
	}
	for i := labels; i < first; i++ {
		s.columns = append(s.columns, column{header[i], reals, true})
		if i < labelled-1 || i < labelled && header[i] != areaName {
			s.axes = append(s.axes, axis{i, true, true})
		}
		if slices.Contains(header[:i], header[i]) {
			return nil, fmt.Errorf("line 1: duplicate column %q", header[i])
		}
	}
	s.columns = append(s.columns, results[:]...)
	if origin {
		s.columns = append(s.columns, column{originName, words, true})
	}
	return s, nil
}

// inspectRow narrows the type of each axis so that it still holds the value in row.
func (s *schema) inspectRow(row []string) {
	for i := range s.axes {
		a := &s.axes[i]
		whole, real := classifyNumber(row[a.column])
		a.whole, a.real = a.whole && whole, a.real && real
	}
}

// setTypes sets the types of the axes. It must be called after inspectRow has been called for all
// rows.
func (s *schema) setTypes() {
	for _, a := range s.axes {
		c := &s.columns[a.column]
		switch {
		case a.whole:
			c.kind = integers
		case a.real:
			c.kind = reals
		default:
			c.kind = words
		}
	}
}

// classifyNumber reports whether v is an integer (whole), and whether it is a number (real). A text
// that is spelled differently after parsing and formatting, such as 007 or 0x10, is neither.
func classifyNumber(v string) (whole, real bool) {
	n, err := strconv.ParseInt(v, 10, 64)
	whole = err == nil && strconv.FormatInt(n, 10) == v
	f, err := strconv.ParseFloat(v, 64)
	real = err == nil && (strconv.FormatFloat(f, 'g', -1, 64) == v || strconv.FormatFloat(f, 'f', -1, 64) == v)
	return whole, real
}
