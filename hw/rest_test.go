package hw

import (
	"testing"

	"anesim/hw/clock"
)

// TestRestGroups checks that descriptors that are not listed are summed by operation and
// shape, or by operation if there are too many shapes.
func TestRestGroups(t *testing.T) {
	const listed, more = 2, maxGroups + 50
	r, g := new(Report), groups{}
	for i := range listed + 3*more {
		shape := Shape{Cin: 1 + i%more}
		r.Descriptors = append(r.Descriptors, DescriptorReport{Op: Conv, Shape: shape, MACs: 1, Time: 2, Cycles: Accounting{Compute: 3}})
		r.moveToRest(listed, 1, g)
	}
	r.moveToRest(listed, 0, g)
	x := &r.Rest
	if len(r.Descriptors) != listed || x.Count != 3*more || len(x.Groups) != maxGroups+1 {
		t.Fatalf("%d listed, %d of %d groups", len(r.Descriptors), x.Count, len(x.Groups))
	}
	var sum Group
	for i := range x.Groups {
		k := &x.Groups[i]
		want := Group{Op: Conv, Shape: Shape{Cin: 1 + (listed+i)%more}, Count: 3}
		if i == maxGroups {
			want.Shape, want.Count = Shape{}, 3*50
		}
		if k.Op != want.Op || k.Shape != want.Shape || k.Count != want.Count || k.MACs != uint64(k.Count) {
			t.Errorf("group %d is %+v", i, k)
		}
		sum.Count += k.Count
		sum.Time += k.Time
		sum.Cycles.Add(&k.Cycles)
	}
	if sum.Count != x.Count || sum.Time != x.Time || sum.Cycles.Compute != 3*3*more {
		t.Errorf("groups sum to %+v, the rest is %d of %v", sum, x.Count, x.Time)
	}
}

// TestRestCounts checks that the counts and sums of a report do not depend on whether
// descriptors are listed.
func TestRestCounts(t *testing.T) {
	r, g := new(Report), groups{}
	for i := range 10 {
		op := Conv
		if i%2 == 1 {
			op = Elementwise
		}
		d := DescriptorReport{Op: op, Saved: clock.Cycles(i)}
		d.DMA.Kernel = uint64(100 * i)
		r.Descriptors = append(r.Descriptors, d)
	}
	if r.Count() != 10 || r.Saved() != 45 {
		t.Fatalf("%d descriptors saved %d cycles, want 10 and 45", r.Count(), r.Saved())
	}
	r.moveToRest(4, 1, g)
	if len(r.Descriptors) != 5 || r.Rest.Count != 5 || r.Count() != 10 {
		t.Errorf("%d listed, %d not, %d in all", len(r.Descriptors), r.Rest.Count, r.Count())
	}
	r.moveToRest(4, 0, g)
	if r.Count() != 10 || r.Saved() != 45 {
		t.Errorf("%d descriptors saved %d cycles, want 10 and 45", r.Count(), r.Saved())
	}
	if want := uint64(100 * (4 + 6 + 8)); r.Rest.Weights != want {
		t.Errorf("%d bytes of weights of convolutions, want %d", r.Rest.Weights, want)
	}
}
