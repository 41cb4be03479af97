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
// the number of measured rows whose left-out errors it is derived from. Unmeasured is the part of
// the time that no measured row covers: see [DescriptorReport.Measured].
type Interval struct {
	Low, High  clock.Nanoseconds
	Rows       int
	Unmeasured clock.Nanoseconds
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
	b := Interval{Low: clock.Nanoseconds(d.Time * clock.Nanoseconds(s.low)), High: clock.Nanoseconds(d.Time * clock.Nanoseconds(s.high)), Rows: s.rows}
	if !d.Measured() {
		b.Unmeasured = d.Time
	}
	return b
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
	b.Unmeasured += clock.Nanoseconds(n * float64(d.Unmeasured))
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
// tensor. Work that no measured row covers has a spread of its own, of rows whose kind the fit had
// not seen.
func spreadFor(d *DescriptorReport) spread {
	if !d.Measured() {
		return spread{unmeasuredLow, unmeasuredHigh, unmeasuredRows}
	}
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

// A Work is what descriptors have in common that a measured row stands for: the operation, and the
// form of a convolution.
type Work uint8

// The kinds of work.
const (
	WindowWork  Work = iota // convolution with a window
	PointWork               // 1x1 convolution
	GroupedWork             // convolution of several groups, depthwise ones included
	ProductWork             // matmul
	PassWork
	ActivationWork
	ElementwiseWork
	PoolWork
	ReduceWork
	CopyWork
	WorkKinds int = iota // number of kinds
)

var workNames = [...]string{
	"convolution with a window", "1x1 convolution", "grouped convolution", "matmul",
	"pass", "activation", "elementwise", "pool", "reduction", "copy",
}

// String returns the name that reports give the work.
func (w Work) String() string { return workNames[w] }

// Rows returns the number of measured rows that cover the work: the time of such a row is mostly
// the engine's, and the engine spends most of that on the work.
func (w Work) Rows() int { return workRows[w] }

// Work returns the kind of the descriptor's work.
func (d *DescriptorReport) Work() Work {
	switch d.Op {
	case Conv:
		switch {
		case d.Depthwise || d.Shape.Groups > 1:
			return GroupedWork
		case d.Shape.Kh*d.Shape.Kw > 1:
			return WindowWork
		}
		return PointWork
	case MatMul:
		return ProductWork
	case Pass:
		return PassWork
	case Activation:
		return ActivationWork
	case Elementwise:
		return ElementwiseWork
	case Pool:
		return PoolWork
	case Reduce:
		return ReduceWork
	}
	return CopyWork
}

// Measured reports whether measured rows cover the descriptor's work. A pass or copy that prepares
// an operand of a matmul is part of the matmuls that were measured.
func (d *DescriptorReport) Measured() bool {
	return d.Work().Rows() > 0 || d.Prepares && ProductWork.Rows() > 0
}

// preparedBy reports whether the descriptor before prepares an operand of matmul d: whether it is a
// pass or a copy whose result the matmul reads. then and now are the pipeline after each of them.
func (d *DescriptorReport) preparedBy(before *DescriptorReport, then, now *pipeline) bool {
	return d.Op == MatMul && (before.Op == Pass || before.Op == Copy) && then.running &&
		(now.dram.reads(then.dram.result) || now.pad.reads(then.pad.result))
}
