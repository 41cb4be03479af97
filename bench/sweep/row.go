package sweep

import (
	"strconv"

	"anesim/bench/report"
)

// resultColumns are the columns after the labels of a row. The module tools/parquet lists the
// same names with their types.
var resultColumns = [...]string{
	"descriptors", "cycles", "bound", "dma_bytes", "time_ns", "energy_nj", "dispatch_energy_nj", "macs", "tflops", "time_ns_low", "time_ns_high", "error", originColumn,
}

// areaColumn is the column before the results. A sweep without an area expression lacks it.
const areaColumn = "area"

// Header returns the names of a row's columns.
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

// Label returns the first columns of a point's row: its number, its program and the value of
// each axis.
func (s *Sweep) Label(point int) []string {
	w, values := s.programAt(point)
	row := make([]string, 2, 3+len(s.grid)+len(resultColumns))
	row[0], row[1] = strconv.Itoa(point), report.Cell(w.name)
	for _, v := range values {
		row = append(row, report.Cell(v))
	}
	return row
}

// timeRow times a point and returns its row. If the point cannot be timed, the results are
// empty and the column error has the reason.
func (t *timer) timeRow(point int) []string {
	row := t.Label(point)
	w, values := t.programAt(point)
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
