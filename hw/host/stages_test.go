package host_test

import (
	"math"
	"testing"

	"anesim/hw/host"
)

// The measured stages sum to 183.5 us, and those of a host to its floor.
func TestStagesSumToTheFloor(t *testing.T) {
	if s := host.BudgetSum(); s != 183.5 {
		t.Errorf("the budget sums to %v", s)
	}
	for _, h := range host.Presets() {
		sum := 0.0
		for _, s := range h.Stages() {
			if s.Time.Value <= 0 || s.Time.Source == "" {
				t.Errorf("%s: %s: %+v", h.Name, s.Name, s.Time)
			}
			sum += s.Time.Value
		}
		if math.Abs(sum-h.Floor.Value) > 1e-9*h.Floor.Value {
			t.Errorf("%s: the stages sum to %v, the floor is %v", h.Name, sum, h.Floor.Value)
		}
	}
}

func TestNames(t *testing.T) {
	for _, h := range host.Presets() {
		if got, err := host.ByName(h.Name); err != nil || got.Floor != h.Floor {
			t.Errorf("%s: %v", h.Name, err)
		}
	}
	if _, err := host.ByName("macos"); err == nil {
		t.Error("no error for a host that is none")
	}
}
