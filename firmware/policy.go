package firmware

import (
	"fmt"
	"math"
	"strings"
	"time"

	"anesim/hw/clock"
)

// A PowerPolicy holds the power-management settings that a host can choose. The zero value is the
// engine's default: power management and gating are on, with the chip's hysteresis.
type PowerPolicy struct {
	// AlwaysOn turns power management off: the engine never powers down, so no call waits
	// for it to wake.
	AlwaysOn bool
	// Ungated keeps all clusters of engines on while the engine is on, instead of only
	// those that a task needs.
	Ungated bool
	// Hysteresis is how long everything stays on after a dispatch. 0 means the chip's
	// default.
	Hysteresis clock.Nanoseconds
}

// A PolicyError reports text that is not a valid power policy.
type PolicyError struct {
	Setting string
	What    string
}

func (e *PolicyError) Error() string { return fmt.Sprintf("power setting %q: %s", e.Setting, e.What) }

// policyKeys describes the settings for messages.
const policyKeys = "management=on|off, gating=on|off, hysteresis=DURATION"

// ParsePowerPolicy parses a comma-separated list of settings such as "gating=off,hysteresis=50ms".
// An empty list means the zero policy. The error is a *[PolicyError].
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
			return bad("duplicate key %q", key)
		case !ok:
			return bad("missing '='; want %s", policyKeys)
		}
		seen[key] = true
		switch {
		case (key == "management" || key == "gating") && value != "on" && value != "off":
			return bad("unknown value %q; want on or off", value)
		case key == "management":
			p.AlwaysOn = value == "off"
		case key == "gating":
			p.Ungated = value == "off"
		case key == "hysteresis":
			d, err := time.ParseDuration(value)
			if err != nil || d <= 0 {
				return bad("invalid duration %q; want a positive duration such as 50ms", value)
			}
			p.Hysteresis = clock.Nanoseconds(d.Nanoseconds())
		default:
			return bad("unknown key %q; want %s", key, policyKeys)
		}
	}
	// After the loop, as the settings may come in any order. An explicit gating=on is accepted beside
	// management=off: it is the default.
	if p.AlwaysOn && p.Hysteresis > 0 {
		return PowerPolicy{}, &PolicyError{list, `"hysteresis" has no effect with "management=off"`}
	}
	return p, nil
}

// With returns a copy of t adjusted to policy p. If p.AlwaysOn is set, the engine never has to wake
// up. If p has a hysteresis, the power rails go off after that time, and WakeGap is assumed to
// change in proportion.
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
