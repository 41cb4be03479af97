package machine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"anesim/hw"
	"anesim/hw/evidence"
	"anesim/hw/machine"
)

// Every machine has a chip and a host that belong together, evidence for each rate, sessions, and an
// interval around 1.
func TestMachinesAreComplete(t *testing.T) {
	seen := make(map[string]bool)
	for _, m := range machine.Machines() {
		if m.Name == "" || seen[m.Name] || m.Title == "" || m.Sessions == "" || m.Host.Floor.Value <= 0 {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
		if note := m.Host.ChipNote(m.Chip.Name); note != "" {
			t.Errorf("%s: %s", m.Name, note)
		}
		if m.Call.Rows == 0 || m.Call.Low > 1 || m.Call.High < 1 {
			t.Errorf("%s: interval %+v", m.Name, m.Call)
		}
		if x := m.Chip.Spread; m.Scaled != (x.Rows > 0) || m.Scaled != (m.Energy.Rows > 0) || m.Scaled && (x.Low >= 1 || x.High <= 1) {
			t.Errorf("%s: interval of the engine %+v, of a call %+v", m.Name, x, m.Call)
		}
		if m.Scaled != (m.Note() != "") {
			t.Errorf("%s: note %q", m.Name, m.Note())
		}
		for _, k := range []evidence.Constant{m.GPU.Rate, m.GPU.Bandwidth, m.CPU.Rate, m.CPU.Bandwidth} {
			if k.Value <= 0 || k.Unit == "" || k.Source == "" {
				t.Errorf("%s: %+v", m.Name, k)
			}
		}
		for name, k := range m.Chip.Constants() {
			if k.Source == "" || k.Evidence == "" {
				t.Errorf("%s: %s: %+v", m.Name, name, k)
			}
		}
		if top := float64(slices.Max(append(m.States, 0))) * 1e6; top > 0 && m.Chip.Clock.Value > top {
			t.Errorf("%s: %v Hz, above its highest state", m.Name, m.Chip.Clock.Value)
		}
	}
}

// A host without a machine has the spread of calls of its machine, or of its system, and no spread if no
// machine has such a system.
func TestHostSpread(t *testing.T) {
	for _, m := range machine.Machines() {
		if !m.Scaled && machine.HostSpread(m.Host.Name) != m.Call {
			t.Errorf("%s: %+v, that of host %s %+v", m.Name, m.Call, m.Host.Name, machine.HostSpread(m.Host.Name))
		}
	}
	if got, want := machine.HostSpread("macos-guide"), machine.HostSpread("macos-air"); got != want || got.Rows == 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, none := range []string{"none", "", "mac"} {
		if got := machine.HostSpread(none); got != (hw.Spread{}) {
			t.Errorf("%q: %+v", none, got)
		}
	}
}

// A machine is found under the names that people write. One that is not there gets no neighbor suggested as if
// its generation were a typing error.
func TestByName(t *testing.T) {
	for _, name := range machine.Names() {
		if m, err := machine.ByName(name); err != nil || m.Name != name {
			t.Error(m.Name, err)
		}
	}
	for name, want := range map[string]string{"iphone12": "a14", "iPhone 12": "a14", "iPhone 12 Pro": "a14", "A14": "a14", "m1-air": "m1", "M1": "m1", "M1 Max": "m1max", "m4-pro": "m4pro"} {
		if m, err := machine.ByName(name); err != nil || m.Name != want {
			t.Errorf("%s: %s, %v", name, m.Name, err)
		}
	}
	for name, want := range map[string]string{"m1mx": "did you mean m1max", "m4mx": "did you mean m4max"} {
		if _, err := machine.ByName(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"a15", "iphone13", "iPhone 15", "a140", "m7", "m10", "m7pro", ""} {
		phone := strings.Contains("aiI", name[:min(1, len(name))]) && name != ""
		if _, err := machine.ByName(name); err == nil || strings.Contains(err.Error(), "did you mean") ||
			!strings.Contains(err.Error(), "a14 (iphone12)") || phone != strings.Contains(err.Error(), "the only phones") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A clock that the engine does not have is an error that lists the states; a lower one makes a machine
// slower in proportion where the array works.
func TestClockStates(t *testing.T) {
	m, err := machine.ByName("m1max")
	if err != nil {
		t.Fatal(err)
	}
	var none *machine.StateError
	if _, err := m.AtClock(301); !errors.As(err, &none) || !strings.Contains(err.Error(), "300, 540") {
		t.Errorf("%v", err)
	}
	slow, err := m.AtClock(300)
	if err != nil || slow.Chip.Clock.Value != 300e6 || slow.Chip.ReadRate != m.Chip.ReadRate {
		t.Errorf("%v: %v", err, slow.Chip.Clock)
	}
	if err := machine.CheckState("m1", 1464); err != nil {
		t.Error(err)
	}
	if err := machine.CheckState("m1", 1428); err == nil {
		t.Error("1428 MHz is a state of the M1")
	}
	if err := machine.CheckState("mine", 17); err != nil {
		t.Error(err)
	}
}
