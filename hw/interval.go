package hw

import "anesim/hw/clock"

// A spread is how far measured times of a kind of descriptor lie from the model's: the
// 10th and 90th percentile of measured over estimated, of rows whose shape the fit had
// not seen and whose time is mostly the engine's.
type spread struct{ low, high float64 }

// Interval bounds the descriptor's time: four of five measurements of its kind lie
// within (from leave-one-shape-out residuals).
func (d *DescriptorReport) Interval() (low, high clock.Nanoseconds) {
	s := spreadOf(d)
	return clock.Nanoseconds(d.Time * clock.Nanoseconds(s.low)), clock.Nanoseconds(d.Time * clock.Nanoseconds(s.high))
}

// Interval bounds the engine's time. Errors of descriptors are taken to go together, as
// those of a wrong constant do.
func (r *Report) Interval() (low, high clock.Nanoseconds) {
	for i := range r.Descriptors {
		l, h := r.Descriptors[i].Interval()
		low, high = low+l, high+h
	}
	return low, high
}

// spreadOf is the spread of a descriptor's kind: convolutions with a window, those of one
// pixel, products with the exchanges and copies that prepare them, and passes over a
// tensor.
func spreadOf(d *DescriptorReport) spread {
	switch d.Op {
	case Conv:
		if d.Shape.Kh*d.Shape.Kw > 1 {
			return spread{windowLow, windowHigh}
		}
		return spread{pointLow, pointHigh}
	case MatMul, Pass, Copy:
		return spread{productLow, productHigh}
	}
	return spread{passLow, passHigh}
}
