package bench

import (
	"fmt"
	"strings"
	"testing"

	"anesim/hw"
)

// How long an engine draws its step after work is assumed. What the assumption says of the
// energies holds where the constants of energy are fitted beside it.
func TestEngineHold(t *testing.T) {
	samples := builtin(t)
	median := func(milliseconds float64) string {
		p := DefaultPresets()
		for name, c := range p.Chips {
			c.EngineHold.Value = 1e6 * milliseconds
			p.Chips[name] = c
		}
		p.fitEnergy(samples)
		var a Accuracy
		for i := range samples {
			a.Rows = append(a.Rows, p.newResidual(&samples[i]))
		}
		if err := a.summarize(&p); err != nil {
			t.Fatal(err)
		}
		core := a.Energy[len(a.Energy)-2]
		if core.Name != "matmul+conv+decode" {
			t.Fatalf("the group is %s", core.Name)
		}
		return fmt.Sprintf("%.1f %%", 100*core.Median)
	}
	want := fmt.Sprintf("median %s with 0.05 ms, %s with 0.25 ms, %s with 0.5 ms, %s with 2 ms", median(0.05), median(0.25), median(0.5), median(2))
	for _, c := range hw.Chips() {
		if !strings.Contains(c.EngineHold.Source, want) {
			t.Errorf("%s: %q does not say %q", c.Name, c.EngineHold.Source, want)
		}
	}
}
