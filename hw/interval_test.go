package hw

import (
	"testing"

	"anesim/hw/clock"
)

// An interval holds the estimate, and a report's is the sum of its descriptors'.
func TestInterval(t *testing.T) {
	var r Report
	var low, high clock.Nanoseconds
	for o := Conv; o <= Copy; o++ {
		d := DescriptorReport{Op: o, Time: 1000}
		l, h := d.Interval()
		if l <= 0 || l > d.Time || h < d.Time {
			t.Errorf("%v: %v to %v around %v", o, l, h, d.Time)
		}
		low, high = low+l, high+h
		r.Descriptors = append(r.Descriptors, d)
	}
	if l, h := r.Interval(); l != low || h != high {
		t.Errorf("%v to %v, the descriptors' sum is %v to %v", l, h, low, high)
	}
}
