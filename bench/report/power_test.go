package report_test

import (
	"testing"

	"anesim"
	"anesim/bench/report"
	"anesim/firmware"
)

// The L2 that a run's power spans say is filled is that of the registers as they run, with
// what the options set.
func TestOccupancyFollowsOverrides(t *testing.T) {
	bytes := func(set ...string) int {
		t.Helper()
		m, err := anesim.Layer("relu", "c=16", "h=4", "w=32")
		if err != nil {
			t.Fatal(err)
		}
		var o anesim.Options
		for _, s := range set {
			x, err := firmware.ParseOverride(s)
			if err != nil {
				t.Fatal(err)
			}
			o.Overrides = append(o.Overrides, firmware.Override(x))
		}
		res, err := m.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range report.NewRun(res).Power {
			if s.Bound != "" {
				return s.L2Bytes
			}
		}
		t.Fatal("no descriptor")
		return 0
	}
	const tensor = 2 * 16 * 4 * 32
	own := bytes()
	if own < tensor || own > 3*tensor {
		t.Errorf("%d bytes of a tensor of %d that comes and goes", own, tensor)
	}
	if wide := bytes("L2.ResultRowStride.Value=64"); wide <= own {
		t.Errorf("results with rows further apart take %d bytes, as they are %d", wide, own)
	}
}
