package sweep

import (
	"fmt"
	"slices"
	"strconv"

	"anesim/bench/report"
)

// A design sums the rows of a sweep's programs, which follow each other.
type design struct {
	programs int
	columns  map[string]int
	first    []string // the row so far
	rows     int
}

// addRow adds a row and returns the sum if the row is the last of a design.
func (d *design) addRow(row []string) ([]string, bool) {
	if d.programs == 1 {
		return row, true
	}
	if d.rows == 0 {
		d.first = slices.Clone(row)
		d.first[1] = fmt.Sprintf("%d programs", d.programs)
		d.first[d.columns["bound"]] = ""
	} else {
		d.sumRow(row)
	}
	if d.rows++; d.rows < d.programs {
		return nil, false
	}
	d.rows = 0
	at := func(name string) float64 {
		v, _ := strconv.ParseFloat(d.first[d.columns[name]], 64)
		return v
	}
	if t := at("time_ns"); t > 0 {
		d.first[d.columns["tflops"]] = report.Number(2 * at("macs") / t / 1e3)
	}
	return d.first, true
}

// sumRow adds a row to the design. If a program failed, its error becomes the design's.
func (d *design) sumRow(row []string) {
	failure := d.columns["error"]
	if d.first[failure] == "" {
		d.first[failure] = row[failure]
	}
	for _, name := range sums {
		i := d.columns[name]
		a, err1 := strconv.ParseUint(d.first[i], 10, 64)
		b, err2 := strconv.ParseUint(row[i], 10, 64)
		if err1 == nil && err2 == nil { // counts stay exact
			d.first[i] = strconv.FormatUint(a+b, 10)
			continue
		}
		x, _ := strconv.ParseFloat(d.first[i], 64)
		y, _ := strconv.ParseFloat(row[i], 64)
		d.first[i] = report.Number(x + y)
	}
}

func newDesign(header []string, programs int) *design {
	d := &design{programs: programs, columns: map[string]int{}}
	for i, name := range header {
		d.columns[name] = i
	}
	return d
}

// sums lists the columns that are added.
var sums = [...]string{"descriptors", "cycles", "dma_bytes", "time_ns", "energy_nj", "dispatch_energy_nj", "macs", "time_ns_low", "time_ns_high"}
