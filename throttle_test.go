package anesim_test

import (
	"errors"
	"testing"

	"anesim"
	"anesim/hw"
	"anesim/internal/samples"
)

// A power budget costs cycles, keeps the whole run within it, is monotone, and is off
// where it is not given; causes sum to the total and values stay.
func TestPowerBudget(t *testing.T) {
	for _, m := range samples.Shared(t) {
		free, err := m.Run(t.Context(), anesim.Options{Values: true})
		if err != nil {
			t.Fatal(err)
		}
		peak := 0.0
		for i := range free.Report.Descriptors {
			d := &free.Report.Descriptors[i]
			if d.Cycles.Throttle != 0 {
				t.Errorf("%s: descriptor %d is throttled without a budget", m.Name(), i)
			}
		}
		peak = free.Timeline().Peak()
		last := uint64(0)
		least := hw.M1().ActivePower.Value
		for _, share := range []float64{2, 1, 0.8, 0.6, 0.4, 0.2, 0.05} {
			budget := least + share*(peak-least)
			if budget <= least {
				continue // it burns no more than its engines do
			}
			res, err := m.Run(t.Context(), anesim.Options{Values: true, PowerBudget: budget})
			if err != nil {
				t.Fatalf("%s at %v W: %v", m.Name(), budget, err)
			}
			if checksums(res) != checksums(free) {
				t.Errorf("%s at %v W: other values", m.Name(), budget)
			}
			total := uint64(0)
			for i := range res.Report.Descriptors {
				d := &res.Report.Descriptors[i]
				total += uint64(d.Cycles.Total())
				if d.Counters[hw.NEThrottle] != uint64(d.Cycles.Throttle) && !d.Planar {
					t.Errorf("%s at %v W: the counter has %d cycles of %d", m.Name(), budget, d.Counters[hw.NEThrottle], d.Cycles.Throttle)
				}
			}
			if mean := float64(res.Report.DescriptorEnergy()) / float64(res.Report.Time); mean > budget*(1+1e-9) {
				t.Errorf("%s at %v W: %v W over the whole run", m.Name(), budget, mean)
			}
			if total != uint64(res.Report.Cycles) || total < last || total < uint64(free.Report.Cycles) {
				t.Errorf("%s at %v W: %d cycles, %d at the budget above, %d without", m.Name(), budget, total, last, free.Report.Cycles)
			}
			if share >= 1.01 && total != uint64(free.Report.Cycles) {
				t.Errorf("%s: a budget above its peak costs cycles", m.Name())
			}
			if share <= 0.2 && total == uint64(free.Report.Cycles) {
				t.Errorf("%s at %v W: nothing is throttled", m.Name(), budget)
			}
			last = total
		}
	}
	for _, watts := range []float64{-1, 0.3, 1e9} {
		_, err := anesim.Identity().Run(t.Context(), anesim.Options{PowerBudget: watts})
		var e *anesim.OptionError
		if !errors.As(err, &e) || e.Option != "PowerBudget" {
			t.Errorf("%v W: %v", watts, err)
		}
	}
}
