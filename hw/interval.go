package hw

import "anesim/hw/clock"

// IntervalShare is the share of measurements that an interval is made to hold: as many lie
// below it as above. IntervalPercent and IntervalWords are the share as reports, help and
// documentation write it.
const (
	IntervalShare   = 0.8
	IntervalPercent = "80 %"
	IntervalWords   = "four of five"
)

// An Interval bounds a time of the engine: [IntervalShare] of the measurements lie within. It
// rests on the left-out errors of so many measured rows.
type Interval struct {
	Low, High clock.Nanoseconds
	Rows      int
}

// A spread is how far measured times of a kind of descriptor lie from the model's: the
// percentiles around IntervalShare of measured over estimated time of the engine, of rows whose
// session the fit had not seen and whose time is mostly the engine's; further apart where those
// of other sessions hold less than their share of a session's rows.
type spread struct {
	low, high float64
	rows      int
}

// Bounds is the interval of the descriptor's time.
func (d *DescriptorReport) Bounds() Interval {
	s := spreadOf(d)
	return Interval{clock.Nanoseconds(d.Time * clock.Nanoseconds(s.low)), clock.Nanoseconds(d.Time * clock.Nanoseconds(s.high)), s.rows}
}

// Bounds is the interval of the engine's time. Errors of descriptors are taken to go
// together, as those of a wrong constant do; it rests on as many rows as the descriptors'
// that rests on the fewest.
func (r *Report) Bounds() Interval {
	if r.Rest.Count > 0 {
		return r.Rest.Interval
	}
	var sum Interval
	for i := range r.Descriptors {
		sum.add(r.Descriptors[i].Bounds(), float64(r.runs(i)))
	}
	return sum
}

// add adds the interval of a descriptor that ran n times.
func (b *Interval) add(d Interval, n float64) {
	b.Low += clock.Nanoseconds(n * float64(d.Low))
	b.High += clock.Nanoseconds(n * float64(d.High))
	if b.Rows == 0 || d.Rows < b.Rows {
		b.Rows = d.Rows
	}
}

// Interval is Bounds without its rows.
func (d *DescriptorReport) Interval() (low, high clock.Nanoseconds) {
	b := d.Bounds()
	return b.Low, b.High
}

// Interval is Bounds without its rows.
func (r *Report) Interval() (low, high clock.Nanoseconds) {
	b := r.Bounds()
	return b.Low, b.High
}

// spreadOf is the spread of a descriptor's kind: convolutions with a window, those of one
// pixel, products with the transpositions and copies that prepare them, and passes over a
// tensor.
func spreadOf(d *DescriptorReport) spread {
	switch d.Op {
	case Conv:
		if d.Shape.Kh*d.Shape.Kw > 1 {
			return spread{windowLow, windowHigh, windowRows}
		}
		return spread{pointLow, pointHigh, pointRows}
	case MatMul, Pass, Copy:
		return spread{productLow, productHigh, productRows}
	}
	return spread{passLow, passHigh, passRows}
}
