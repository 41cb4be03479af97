package hw

import "anesim/hw/clock"

// IntervalShare is the share of measured times that should lie inside an [Interval]. Of the rest,
// half should lie below it and half above. IntervalPercent and IntervalWords spell the same share
// for reports and documentation.
const (
	IntervalShare   = 0.8
	IntervalPercent = "80%"
	IntervalWords   = "four of five"
)

// An Interval is a prediction interval of an engine time. The fraction [IntervalShare] of
// measurements should lie between Low and High. Rows is the number of measurements whose prediction
// errors determined the width. Unmeasured is the part of the predicted time that is spent on kinds
// of work without any measurement.
type Interval struct {
	Low, High  clock.Nanoseconds
	Rows       int
	Unmeasured clock.Nanoseconds
}

// A Spread has two factors of an estimated time, Low and High, between which the fraction
// [IntervalShare] of measurements lies. They come from the errors of that number of rows.
type Spread struct {
	Low, High float64
	Rows      int
}

// Bounds returns the interval of a time with the given estimate.
func (s *Spread) Bounds(t clock.Nanoseconds) (low, high clock.Nanoseconds) {
	return clock.Nanoseconds(t * clock.Nanoseconds(s.Low)), clock.Nanoseconds(t * clock.Nanoseconds(s.High))
}

// Bounds returns the prediction interval of the time that d adds to its chain.
func (d *DescriptorReport) Bounds() Interval {
	s := findSpread(d)
	b := Interval{Rows: s.Rows}
	b.Low, b.High = s.Bounds(d.Time)
	if !d.Measured() {
		b.Unmeasured = d.Time
	}
	return b
}

// Bounds returns the prediction interval of the engine time of the whole chain. It adds up the
// bounds of all descriptors, because the errors of similar descriptors are assumed to be
// correlated. The Rows of the result are the smallest Rows of any descriptor.
func (r *Report) Bounds() Interval {
	if r.Rest.Count > 0 {
		return r.Rest.Interval
	}
	var sum Interval
	for i := range r.Descriptors {
		sum.addDescriptor(r.Descriptors[i].Bounds(), float64(r.countRuns(i)))
	}
	return sum
}

// addDescriptor adds n times the interval d to b, for a descriptor that ran n times.
func (b *Interval) addDescriptor(d Interval, n float64) {
	b.Low += clock.Nanoseconds(n * float64(d.Low))
	b.High += clock.Nanoseconds(n * float64(d.High))
	b.Unmeasured += clock.Nanoseconds(n * float64(d.Unmeasured))
	if b.Rows == 0 || d.Rows < b.Rows {
		b.Rows = d.Rows
	}
}

// Interval returns the fields Low and High of [DescriptorReport.Bounds].
func (d *DescriptorReport) Interval() (low, high clock.Nanoseconds) {
	b := d.Bounds()
	return b.Low, b.High
}

// Interval returns the fields Low and High of [Report.Bounds].
func (r *Report) Interval() (low, high clock.Nanoseconds) {
	b := r.Bounds()
	return b.Low, b.High
}

// findSpread returns the range of the ratio of measured to predicted time for work like that of d.
// There is one range for convolutions with a window, one for 1x1 convolutions, one for matmuls with
// the tasks that move their operands into place, and one for other passes over a tensor.
// Unmeasured work has a wider range. A chip whose programs are not modelled has one range for all its work.
// The rows that make the ranges of kinds are of sessions that the fit had not seen, and mostly time of the engine.
func findSpread(d *DescriptorReport) Spread {
	if d.Spread != nil {
		return *d.Spread
	}
	if !d.Measured() {
		return Spread{unmeasuredLow, unmeasuredHigh, unmeasuredRows}
	}
	switch {
	case d.Op == Conv:
		if d.Shape.Kh*d.Shape.Kw > 1 {
			return Spread{windowLow, windowHigh, windowRows}
		}
		return Spread{pointLow, pointHigh, pointRows}
	case d.Op == MatMul, d.Op.moves():
		return Spread{productLow, productHigh, productRows}
	}
	return Spread{passLow, passHigh, passRows}
}

// A Work is a class of descriptors that do the same kind of work, such as 1x1 convolutions. It
// depends on the operation and, for convolutions, on the window and the groups. A measurement of
// one member of a class is taken to apply to all members.
type Work uint8

// Classes of work.
const (
	WindowWork  Work = iota // convolution with a window
	PointWork               // 1x1 convolution
	GroupedWork             // convolution of several groups, depthwise ones included
	ProductWork             // matmul
	PassWork                // data moved by the MAC engines
	ActivationWork
	ElementwiseWork
	PoolWork
	ReduceWork
	CopyWork             // data moved by the planar engine
	WorkKinds int = iota // number of kinds
)

var workNames = [...]string{
	"convolution with a window", "1x1 convolution", "grouped convolution", "matmul",
	"copy by the array", "activation", "elementwise", "pool", "reduction", "copy by the planar engine",
}

// String returns the name of the class as reports spell it, such as "1x1 convolution". It panics if
// w is not one of the constants.
func (w Work) String() string { return workNames[w] }

// Rows returns the number of measurements that cover class w. A measurement covers a class if most
// of its time is engine time and the engine spends most of it on work of that class.
func (w Work) Rows() int { return workRows[w] }

// Work returns the class of the work that the descriptor does.
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
	case Activation:
		return ActivationWork
	case Elementwise:
		return ElementwiseWork
	case Pool:
		return PoolWork
	case Reduce, Product:
		return ReduceWork
	}
	if d.Planar {
		return CopyWork
	}
	return PassWork
}

// Measured reports whether any measurement covers the descriptor's class of work. A descriptor that
// only moves data to prepare an operand of a matmul counts as measured together with the matmul.
func (d *DescriptorReport) Measured() bool {
	return d.Work().Rows() > 0 || d.Prepares && ProductWork.Rows() > 0
}

// isPreparedBy reports whether d is a matmul with an operand that the previous descriptor prepares,
// which means that the previous descriptor only moves data and d reads its result. The states of the
// pipeline after previous and after d are earlier and after.
func (d *DescriptorReport) isPreparedBy(previous *DescriptorReport, earlier, after *pipeline) bool {
	return d.Op == MatMul && previous.Op.moves() && earlier.running &&
		(after.dram.readsFrom(earlier.dram.result) || after.l2.readsFrom(earlier.l2.result))
}
