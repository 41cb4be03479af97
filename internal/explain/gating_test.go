package explain

import (
	"testing"

	"anesim/hw/clock"
	"anesim/internal/report"
)

// Closing tiles is a gain where it saves at least 0.5 % of the energy for at most 1 % more time.
func TestGatingGains(t *testing.T) {
	before := &report.Cost{TimeNs: 1000, EnergyNJ: 1000}
	for _, tc := range []struct {
		time, energy float64
		want         bool
	}{
		{1000, 990, true},
		{1010, 995, true},
		{1011, 900, false}, // too slow
		{900, 996, false},  // saves too little
		{1000, 1000, false},
		{1000, 985, true}, // 0.5 % of 3000 nJ
		{1000, 986, false},
	} {
		dispatch := clock.Nanojoules(0)
		if tc.energy == 985 || tc.energy == 986 {
			dispatch = 2000
		}
		after := *before
		after.TimeNs, after.EnergyNJ = clock.Nanoseconds(tc.time), clock.Nanojoules(tc.energy)
		if got := isGatingWorthwhile(before, &after, dispatch); got != tc.want {
			t.Errorf("from 1000 ns, 1000 nJ to %g ns, %g nJ: a gain is %v, want %v", tc.time, tc.energy, got, tc.want)
		}
	}
}
