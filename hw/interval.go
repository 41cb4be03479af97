package hw

import "anesim/hw/clock"

// IntervalShare is the share of measurements that should lie inside an interval, with equal shares
// below and above it. IntervalPercent and IntervalWords are the same share as reports, help and
// documentation write it.
const (
	IntervalShare   = 0.8
	IntervalPercent = "80%"
	IntervalWords   = "four of five"
)

// An Interval bounds an engine time: a share [IntervalShare] of measurements lie inside it. Rows is
// the number of measured rows whose left-out errors it is derived from.
type Interval struct {
	Low, High clock.Nanoseconds
	Rows      int
}

// A spread holds the low and high percentiles of measured over estimated engine time for one kind
// of descriptor. They enclose the share IntervalShare of rows whose session the fit had not seen
// and whose time is mostly the engine's. They are wider if the percentiles of other sessions
// enclose less than that share of a session's rows.
type spread struct {
	low, high float64
	rows      int
}

// Bounds returns the prediction interval of the descriptor's time.
func (d *DescriptorReport) Bounds() Interval {
	s := spreadFor(d)
	return Interval{clock.Nanoseconds(d.Time * clock.Nanoseconds(s.low)), clock.Nanoseconds(d.Time * clock.Nanoseconds(s.high)), s.rows}
}

// Bounds returns the prediction interval of the engine's time. The errors of descriptors are
// assumed to be correlated, as the errors of a wrong constant are, so the bounds are summed. Rows
// is the smallest number of any descriptor.
func (r *Report) Bounds() Interval {
	if r.Rest.Count > 0 {
		return r.Rest.Interval
	}
	var sum Interval
	for i := range r.Descriptors {
		sum.add(r.Descriptors[i].Bounds(), float64(r.runCount(i)))
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

// Interval returns the two times of Bounds.
func (d *DescriptorReport) Interval() (low, high clock.Nanoseconds) {
	b := d.Bounds()
	return b.Low, b.High
}

// Interval returns the two times of Bounds.
func (r *Report) Interval() (low, high clock.Nanoseconds) {
	b := r.Bounds()
	return b.Low, b.High
}

// spreadFor returns the spread of the descriptor's kind: convolutions with a window, convolutions
// of one pixel, matmuls with the transpositions and copies that prepare them, or passes over a
// tensor.
func spreadFor(d *DescriptorReport) spread {
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
