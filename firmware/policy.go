package firmware

import (
	"fmt"
	"math"
	"strings"
	"time"

	"anesim/hw/clock"
)

// A PowerPolicy is what a host sets of the engine's power management, by the three methods
// that the documents name: power management, dynamic power gating and the time of its
// hysteresis. The zero policy is the engine's own: managed, gated, and with the chip's time.
type PowerPolicy struct {
	// AlwaysOn is management off: the rails never go off, no call waits for a wake.
	AlwaysOn bool
	// Ungated is dynamic gating off: every cluster comes up with the base.
	Ungated bool
	// Hysteresis is for how long after a dispatch everything stays on, 0 for the chip's time.
	Hysteresis clock.Nanoseconds
}

// A PolicyError is a list of settings that cannot be read.
type PolicyError struct {
	Setting string
	What    string
}

func (e *PolicyError) Error() string { return fmt.Sprintf("power setting %q: %s", e.Setting, e.What) }

// policyKeys are the settings by name.
const policyKeys = "management=on|off, gating=on|off, hysteresis=DURATION"

// ParsePowerPolicy reads settings such as "gating=off,hysteresis=50ms". An empty list is
// the zero policy. Errors are a *PolicyError.
func ParsePowerPolicy(list string) (p PowerPolicy, err error) {
	seen := map[string]bool{}
	for setting := range strings.SplitSeq(list, ",") {
		if setting = strings.TrimSpace(setting); setting == "" {
			continue
		}
		key, value, ok := strings.Cut(setting, "=")
		bad := func(format string, args ...any) (PowerPolicy, error) {
			return PowerPolicy{}, &PolicyError{setting, fmt.Sprintf(format, args...)}
		}
		switch {
		case seen[key]:
			return bad("%s is given twice", key)
		case !ok:
			return bad("want %s", policyKeys)
		}
		seen[key] = true
		switch {
		case (key == "management" || key == "gating") && value != "on" && value != "off":
			return bad("want on or off")
		case key == "management":
			p.AlwaysOn = value == "off"
		case key == "gating":
			p.Ungated = value == "off"
		case key == "hysteresis":
			d, err := time.ParseDuration(value)
			if err != nil || d <= 0 {
				return bad("want a positive duration like 50ms")
			}
			p.Hysteresis = clock.Nanoseconds(d.Nanoseconds())
		default:
			return bad("want %s", policyKeys)
		}
	}
	if p.AlwaysOn && p.Hysteresis > 0 {
		return PowerPolicy{}, &PolicyError{list, "without management nothing goes off, whatever the hysteresis"}
	}
	return p, nil
}

// With are the times under a policy. What a wake takes was measured where the rails go off
// by themselves: under another hysteresis its ramp is taken to end where they do then
// (assumed).
func (t PowerTimes) With(p PowerPolicy) PowerTimes {
	switch {
	case p.AlwaysOn:
		t.WakeTime, t.ColdWake, t.RailsOff = 0, 0, clock.Nanoseconds(math.Inf(1))
	case p.Hysteresis > 0:
		if t.RailsOff > 0 {
			t.WakeGap = clock.Nanoseconds(float64(t.WakeGap) * float64(p.Hysteresis/t.RailsOff))
		} else {
			t.WakeGap = p.Hysteresis
		}
		t.RailsOff = p.Hysteresis
		t.ColdGap = max(t.ColdGap, p.Hysteresis)
	}
	return t
}
