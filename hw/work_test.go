package hw

import (
	"testing"

	"anesim/hw/clock"
)

// Work that no measured row covers has a wider interval than any that one does, whatever its
// operation, and a descriptor's kind of work decides which it has.
func TestUnmeasuredIsWider(t *testing.T) {
	measured, not := 0, 0
	for _, tc := range []struct {
		d    DescriptorReport
		work Work
	}{
		{DescriptorReport{Op: Conv, Shape: Shape{Kw: 3, Kh: 3, Groups: 1}}, WindowWork},
		{DescriptorReport{Op: Conv, Shape: Shape{Kw: 1, Kh: 1, Groups: 1}}, PointWork},
		{DescriptorReport{Op: Conv, Shape: Shape{Kw: 3, Kh: 3, Groups: 8}}, GroupedWork},
		{DescriptorReport{Op: Conv, Shape: Shape{Kw: 3, Kh: 3, Groups: 1}, Depthwise: true}, GroupedWork},
		{DescriptorReport{Op: MatMul}, ProductWork},
		{DescriptorReport{Op: Copy}, PassWork},
		{DescriptorReport{Op: Transpose}, PassWork},
		{DescriptorReport{Op: Product}, ReduceWork},
		{DescriptorReport{Op: Activation}, ActivationWork},
		{DescriptorReport{Op: Elementwise}, ElementwiseWork},
		{DescriptorReport{Op: Pool}, PoolWork},
		{DescriptorReport{Op: Reduce}, ReduceWork},
		{DescriptorReport{Op: Copy, Planar: true}, CopyWork},
		{DescriptorReport{Op: Regroup, Planar: true}, CopyWork},
	} {
		d := &tc.d
		d.Time = 1000
		if got := d.Work(); got != tc.work {
			t.Errorf("%v %+v: %v, want %v", d.Op, d.Shape, got, tc.work)
		}
		b, want := d.Bounds(), Spread{unmeasuredLow, unmeasuredHigh, unmeasuredRows}
		rest := clock.Nanoseconds(0)
		if d.Measured() {
			measured++
			switch d.Work() {
			case WindowWork:
				want = Spread{windowLow, windowHigh, windowRows}
			case PointWork:
				want = Spread{pointLow, pointHigh, pointRows}
			case ProductWork:
				want = Spread{productLow, productHigh, productRows}
			default:
				want = Spread{passLow, passHigh, passRows}
			}
			if want.Low <= unmeasuredLow || want.High >= unmeasuredHigh {
				t.Errorf("%v: %+v is not narrower than what no row covers", d.Work(), want)
			}
		} else {
			not++
			rest = d.Time
		}
		if b.Rows != want.Rows || b.Low != clock.Nanoseconds(1000*want.Low) || b.High != clock.Nanoseconds(1000*want.High) || b.Unmeasured != rest {
			t.Errorf("%v: %+v, want %+v of 1000 ns and %v that no row covers", d.Work(), b, want, rest)
		}
	}
	if measured == 0 || not == 0 {
		t.Errorf("%d kinds of work are measured, %d not", measured, not)
	}
	for w := range Work(WorkKinds) {
		if w.String() == "" {
			t.Errorf("work %d has no name", w)
		}
	}
}

// A task that moves an operand of a matmul into place is part of what was measured; by itself it is not.
func TestPreparedIsMeasured(t *testing.T) {
	for _, op := range []Op{Copy, Transpose, Interleave, Regroup} {
		alone, prepares := DescriptorReport{Op: op, Time: 1000}, DescriptorReport{Op: op, Time: 1000, Prepares: true}
		matmul := DescriptorReport{Op: MatMul, Time: 1000}
		if alone.Measured() || !prepares.Measured() {
			t.Errorf("%v: measured %v by itself, %v before a matmul", op, alone.Measured(), prepares.Measured())
		}
		if prepares.Bounds() != matmul.Bounds() {
			t.Errorf("%v: %+v before a matmul, the matmul's is %+v", op, prepares.Bounds(), matmul.Bounds())
		}
	}
}
