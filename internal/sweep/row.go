package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"anesim/internal/report"
)

// resultColumns are the columns after the labels of a row. The module tools/parquet lists the
// same names with their types.
var resultColumns = [...]string{
	"descriptors", "cycles", "bound", "dma_bytes", "time_ns", "energy_nj", "dispatch_energy_nj", "macs", "tflops", "time_ns_low", "time_ns_high", "error", originColumn,
}

// areaColumn is the column before the results. A sweep without an area expression lacks it.
const areaColumn = "area"

// callColumns are the columns before the results of a sweep on a machine: the time of a call, which
// includes the host, and the bounds of its interval. The results are of the engine alone.
var callColumns = [...]string{"wall_ns", "wall_ns_low", "wall_ns_high"}

// Header returns the names of the columns of a row: the point's number, its program, the axes, the
// area if the sweep has an area expression, the time of a call if it has a machine, and the results.
func (s *Sweep) Header() []string {
	row := []string{"point", "program"}
	for _, a := range s.grid {
		row = append(row, a.name)
	}
	if s.area != nil {
		row = append(row, areaColumn)
	}
	if s.Options.Machine != nil {
		row = append(row, callColumns[:]...)
	}
	return append(row, resultColumns[:]...)
}

// Label returns the first columns of a point's row, which are known before it is timed: its number,
// its program and the value of each axis.
func (s *Sweep) Label(point int) []string {
	w, values := s.findPointProgram(point)
	row := make([]string, 2, 3+len(s.grid)+len(resultColumns))
	row[0], row[1] = strconv.Itoa(point), report.Cell(w.name)
	for _, v := range values {
		row = append(row, report.Cell(v))
	}
	return row
}

// timeRow times a point and returns its row. If the point cannot be timed, the row has no results
// and the reason in its column "error".
func (t *timer) timeRow(point int) []string {
	row := t.Label(point)
	w, values := t.findPointProgram(point)
	refused := func(err error) []string {
		// A point that fails keeps its row: a sweep of thousands should not end at one, and merging counts
		// the points.
		row = append(row, make([]string, t.columns-2-len(row))...)
		return append(row, report.Cell(err.Error()), t.Origin)
	}
	if err := t.setAxisValues(values); err != nil {
		return refused(err)
	}
	if t.area != nil {
		area := t.area.evaluate(&t.options.Chip)
		if math.IsNaN(area) || math.IsInf(area, 0) {
			return refused(fmt.Errorf("area is %g; want a finite number", area))
		}
		row = append(row, report.Number(area))
	}
	res, problem, err := t.timeWorkload(w, values)
	if err != nil {
		return refused(err)
	}
	if t.Options.Machine != nil {
		b := res.CallBounds()
		row = append(row, report.Number(res.Call()), report.Number(b.Low), report.Number(b.High))
	}
	r := res.Report
	a := r.Accounting()
	low, high := r.Interval()
	energy, dispatch := report.Number(r.Energy), report.Number(r.Dispatch)
	if m := t.Options.Machine; m != nil && m.Scaled { // not judged: only the energy of a call is
		energy, dispatch = "", ""
	}
	return append(row, strconv.Itoa(len(r.Descriptors)), strconv.FormatUint(uint64(r.Cycles), 10), a.Bound(),
		strconv.FormatUint(r.DMA.Total(), 10), report.Number(r.Time), energy, dispatch,
		strconv.FormatUint(r.MACs, 10), report.Number(report.RatesOf(r).TFLOPS), report.Number(low), report.Number(high), report.Cell(problem), t.Origin)
}

// A design adds up the rows of one combination of axis values, one row for each program of the
// sweep, to one row.
type design struct {
	programs int
	columns  map[string]int
	first    []string // the first row, with the others added to it
	rows     int      // rows in first
}

// addRow adds the row of the design's next program to the sum of the design. After the last program
// of the design, it returns the sum and true, and starts a new design.
func (d *design) addRow(row []string) ([]string, bool) {
	if d.programs == 1 {
		return row, true
	}
	if d.rows == 0 {
		d.first = slices.Clone(row)
		d.first[1] = fmt.Sprintf("%d programs", d.programs)
		d.first[d.columns["bound"]] = ""
	} else {
		d.addRowToSum(row)
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

// addRowToSum adds the numbers in row to those in d.first. If a program has an error, the sum keeps
// the error of the first such program.
func (d *design) addRowToSum(row []string) {
	failure := d.columns["error"]
	if d.first[failure] == "" {
		d.first[failure] = row[failure]
	}
	for _, name := range slices.Concat(callColumns[:], summedColumns[:]) {
		i, ok := d.columns[name]
		if !ok || d.first[i] == "" && row[i] == "" { // calls without a machine, energies of later machines
			continue
		}
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

// newDesign returns an empty design for rows with the given header.
func newDesign(header []string, programs int) *design {
	d := &design{programs: programs, columns: map[string]int{}}
	for i, name := range header {
		d.columns[name] = i
	}
	return d
}

// summedColumns are the columns that a design adds up, besides those of a call.
var summedColumns = [...]string{"descriptors", "cycles", "dma_bytes", "time_ns", "energy_nj", "dispatch_energy_nj", "macs", "time_ns_low", "time_ns_high"}
