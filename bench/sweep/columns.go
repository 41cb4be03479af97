package sweep

import (
	"strconv"

	"anesim/bench/report"
)

// resultColumns are the columns after the labels of a point. tools/parquet, a module of its
// own, lists their types by name.
var resultColumns = [...]string{
	"descriptors", "cycles", "bound", "dma_bytes", "time_ns", "energy_nj", "dispatch_energy_nj", "macs", "tflops", "time_ns_low", "time_ns_high", "error", originColumn,
}

// areaColumn is the name of the column before the results if an area is given.
const areaColumn = "area"

// Header returns the names of the columns.
func (s *Sweep) Header() []string {
	row := []string{"point", "program"}
	for _, a := range s.grid {
		row = append(row, a.name)
	}
	if s.area != nil {
		row = append(row, areaColumn)
	}
	return append(row, resultColumns[:]...)
}

// Label returns the columns of a row that identify a point.
func (s *Sweep) Label(point int) []string {
	w, values := s.pointAt(point)
	row := make([]string, 2, 3+len(s.grid)+len(resultColumns))
	row[0], row[1] = strconv.Itoa(point), report.Cell(w.name)
	for _, v := range values {
		row = append(row, report.Cell(v))
	}
	return row
}

// timeRow times a point and returns its row. A point that cannot be timed has its error in
// the row.
func (t *timer) timeRow(point int) []string {
	row := t.Label(point)
	w, values := t.pointAt(point)
	results := len(resultColumns)
	refused := func(err error) []string {
		if t.area != nil && len(row) == 2+len(t.grid) {
			row = append(row, "")
		}
		row = append(row, make([]string, results-2)...)
		return append(row, report.Cell(err.Error()), t.Origin)
	}
	if err := t.configure(values); err != nil {
		return refused(err)
	}
	if t.area != nil {
		row = append(row, report.Number(t.area.evaluate(&t.options.Chip)))
	}
	r, problem, err := t.timeWorkload(w, values)
	if err != nil {
		return refused(err)
	}
	a := r.Accounting()
	low, high := r.Interval()
	return append(row, strconv.Itoa(len(r.Descriptors)), strconv.FormatUint(uint64(r.Cycles), 10), a.Bound(),
		strconv.FormatUint(r.DMA.Total(), 10), report.Number(r.Time), report.Number(r.Energy), report.Number(r.Dispatch),
		strconv.FormatUint(r.MACs, 10), report.Number(report.RatesOf(r).TFLOPS), report.Number(low), report.Number(high), report.Cell(problem), t.Origin)
}
