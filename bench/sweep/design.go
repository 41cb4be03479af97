package sweep

import (
	"fmt"
	"slices"
	"strconv"

	"anesim/bench/report"
)

// A design sums consecutive rows, one for each program of a sweep, into one row.
type design struct {
	programs int
	columns  map[string]int
	first    []string // the first row, with the others added to it
	rows     int      // rows in first
}

// addRow adds the row of the next program. With the last program it returns the summed row
// and true.
func (d *design) addRow(row []string) ([]string, bool) {
	if d.programs == 1 {
		return row, true
	}
	if d.rows == 0 {
		d.first = slices.Clone(row)
		d.first[1] = fmt.Sprintf("%d programs", d.programs)
		d.first[d.columns["bound"]] = ""
	} else {
		d.accumulate(row)
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

// accumulate adds a row to the design. The design keeps the first error of its programs.
func (d *design) accumulate(row []string) {
	failure := d.columns["error"]
	if d.first[failure] == "" {
		d.first[failure] = row[failure]
	}
	for _, name := range summedColumns {
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

// newDesign returns an empty design for rows under header.
func newDesign(header []string, programs int) *design {
	d := &design{programs: programs, columns: map[string]int{}}
	for i, name := range header {
		d.columns[name] = i
	}
	return d
}

// summedColumns are the columns that a design adds up.
var summedColumns = [...]string{"descriptors", "cycles", "dma_bytes", "time_ns", "energy_nj", "dispatch_energy_nj", "macs", "time_ns_low", "time_ns_high"}
