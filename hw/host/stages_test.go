package host_test

import (
	"math"
	"strings"
	"testing"

	"anesim/hw/evidence"
	"anesim/hw/host"
)

// TestStagesSumToTheFloor checks that the measured stages sum to 183.5 us, and the stages of
// each host to its floor.
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

// TestSplit checks that the split sums to the floor. Two threads whose time outside of the
// gate overlaps finish 1.04 times the work of one.
func TestSplit(t *testing.T) {
	for _, h := range host.Presets() {
		s := h.Split()
		held := s.Before.Value + s.After.Value
		if sum := s.Beside.Value + held; math.Abs(sum-h.Floor.Value) > 1e-9*h.Floor.Value {
			t.Errorf("%s: the split sums to %v, the floor is %v", h.Name, sum, h.Floor.Value)
		}
		if h.Floor.Value == 0 {
			continue
		}
		if s.Beside.Value <= 0 || s.Before.Value <= 0 || s.After.Value <= 0 {
			t.Errorf("%s: %+v", h.Name, s)
		}
		if got := h.Floor.Value / held; math.Abs(got-1.04) > 1e-9 {
			t.Errorf("%s: two threads get %v done", h.Name, got)
		}
	}
}

// The remark names a pair of host and chip that no machine has, and only such a pair.
func TestChipNote(t *testing.T) {
	for _, h := range host.Presets() {
		if note := h.ChipNote(h.Chip); note != "" {
			t.Errorf("%s on its own chip: %s", h.Name, note)
		}
		if note := h.ChipNote("my.yaml"); note != "" {
			t.Errorf("%s on a chip without a preset: %s", h.Name, note)
		}
	}
	air, err := host.ByName("macos-air")
	if err != nil {
		t.Fatal(err)
	}
	if note, want := air.ChipNote("m1max"), "the times of host macos-air are those of a machine with chip m1, not m1max"; !strings.Contains(note, want) {
		t.Errorf("macos-air with m1max: %q; want %q", note, want)
	}
}

// A constant that no row shows is assumed to be nothing; every other one is fitted, and says
// to which rows, or measured.
func TestEvidenceOfPresets(t *testing.T) {
	for _, h := range host.Presets() {
		for name, c := range h.Constants() {
			want := evidence.Fitted
			if c.Value == 0 {
				want = evidence.Assumed
			}
			if h.Name == "macos-guide-live" && name == "HostFloor" {
				want = evidence.Measured
			}
			if c.Evidence != want || c.Source == "" {
				t.Errorf("%s: %s = %v is %v, want %v (%s)", h.Name, name, c.Value, c.Evidence, want, c.Source)
			}
		}
	}
}

// TestLiveHost checks that the stages of the guide's budget are as the document has them, and that
// the selector takes the stages after binding, 158.5 us of the 163 us measured elsewhere.
func TestLiveHost(t *testing.T) {
	h, err := host.ByName("macos-guide-live")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{25, 16, 2.5, 130, 10} {
		if s := h.Stages()[i]; s.Time.Value != want || s.Time.Evidence != evidence.Measured {
			t.Errorf("%s: %+v, want %v us", s.Name, s.Time, want)
		}
	}
	if got := h.InSelector(); got != 158.5 || host.SelectorTime().Value != 163 {
		t.Errorf("the selector takes %v us of %v", got, host.SelectorTime())
	}
	p := h.Path(h.Time(host.Load{}))
	if total := p.Total(); math.Abs(float64(total)-183_500) > 1e-6 {
		t.Errorf("%+v takes %v", p, total)
	}
}
