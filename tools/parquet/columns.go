package main

import (
	"errors"
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

// A column is a name with a type.
type column struct {
	name       string
	kind       columnKind
	dictionary bool
}

// results are the columns at the end of every row of a sweep, as bench/sweep/columns.go of the main
// module has them.
var results = [...]column{
	{"descriptors", integers, false}, {"cycles", integers, false}, {"bound", words, true}, {"dma_bytes", integers, false},
	{"time_ns", reals, false}, {"energy_nj", reals, false}, {"dispatch_energy_nj", reals, false}, {"macs", integers, false},
	{"tflops", reals, false}, {"time_ns_low", reals, false}, {"time_ns_high", reals, false}, {"error", words, true},
}

// areaName is the name of the column before the results if the sweep has an area.
const areaName = "area"

// originName is the name of the column behind the results, which older files do not have.
const originName = "origin"

var errNoSweep = errors.New("line 1: the columns are not those of a sweep")

// A schema is the columns of a sweep, in its order.
type schema struct {
	columns []column
	axes    []axis // the columns whose type follows from their values
}

// An axis is the column of a swept key, and what its values so far can be.
type axis struct {
	column      int
	whole, real bool
}

// newSchema returns the schema of a sweep with the given header. The types of its axes
// are known once every row has been passed to count.
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
	for i := labels; i < first; i++ {
		s.columns = append(s.columns, column{header[i], reals, true})
		if i < first-1 || header[i] != areaName {
			s.axes = append(s.axes, axis{i, true, true})
		}
		if slices.Contains(header[:i], header[i]) {
			return nil, errors.New("line 1: two columns are called " + strconv.Quote(header[i]))
		}
	}
	s.columns = append(s.columns, results[:]...)
	if origin {
		s.columns = append(s.columns, column{originName, words, true})
	}
	return s, nil
}

// count takes the values of a row into account.
func (s *schema) count(row []string) {
	for i := range s.axes {
		a := &s.axes[i]
		whole, real := numberKind(row[a.column])
		a.whole, a.real = a.whole && whole, a.real && real
	}
}

// settle sets the types of the axes.
func (s *schema) settle() {
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

// numberKind reports whether v is a whole number, and whether it is any number. Only a
// number that prints as it is spelled is one: 007 and 0x10 are words.
func numberKind(v string) (whole, real bool) {
	n, err := strconv.ParseInt(v, 10, 64)
	whole = err == nil && strconv.FormatInt(n, 10) == v
	f, err := strconv.ParseFloat(v, 64)
	real = err == nil && (strconv.FormatFloat(f, 'g', -1, 64) == v || strconv.FormatFloat(f, 'f', -1, 64) == v)
	return whole, real
}
