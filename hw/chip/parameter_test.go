package chip

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw"
)

// The table has a row for each constant, in the chip's order, and every preset keeps its
// units and bounds.
func TestParametersAreTheConstants(t *testing.T) {
	for _, c := range hw.Chips() {
		var constants []string
		for name, k := range c.Constants() {
			constants = append(constants, name)
			if p := findParameter(name); p != nil && p.unit != k.Unit {
				t.Errorf("%s of %s is in %s, the table has %s", name, c.Name, k.Unit, p.unit)
			}
		}
		if d := cmp.Diff(constants, parameterNames()); d != "" {
			t.Errorf("the constants of %s (-) and the table (+):\n%s", c.Name, d)
		}
		if err := Check(&c); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// TestCheckRefusesWhatSetDoes checks that Check refuses the same values as Set, with the same
// messages.
func TestCheckRefusesWhatSetDoes(t *testing.T) {
	for _, p := range parameters {
		for _, v := range [...]float64{p.least - 1, p.most * 2, p.least, p.most, p.least + 0.25} {
			given, made := hw.M1(), hw.M1()
			set := Set(&given, p.name, v)
			findConstant(&made, p.name).Value = v
			check := Check(&made)
			if (set == nil) != (check == nil) || set != nil && set.Error() != check.Error() {
				t.Errorf("%s=%g: Set: %v; Check: %v", p.name, v, set, check)
			}
			var e *Error
			if outside := v < p.least || v > p.most; outside && (!errors.As(set, &e) || e.Constant != p.name) {
				t.Errorf("%s=%g: %v, want a refusal", p.name, v, set)
			}
			if set != nil && given != hw.M1() {
				t.Errorf("%s=%g: the chip has changed", p.name, v)
			}
		}
	}
}
