package firmware

import (
	"fmt"
	"math"
	"strings"
	"time"

	"anesim/hw/clock"
)

// A PowerPolicy holds a host's settings of the engine's power management. They correspond
// to the three methods that the documents name: power management, dynamic power gating and
// the time of its hysteresis. The zero policy is the engine's default: managed, gated, and
// with the chip's time.
type PowerPolicy struct {
	// AlwaysOn disables power management: the rails never go off, and no call waits for a
	// wake.
	AlwaysOn bool
	// Ungated disables dynamic gating: every cluster is powered up with the base.
	Ungated bool
	// Hysteresis is the time after a dispatch for which everything stays on, 0 for the
	// chip's time.
	Hysteresis clock.Nanoseconds
}

// A PolicyError reports a power setting that cannot be parsed.
type PolicyError struct {
	Setting string
	What    string
}

func (e *PolicyError) Error() string { return fmt.Sprintf("power setting %q: %s", e.Setting, e.What) }

// policyKeys describes the settings for messages.
const policyKeys = "management=on|off, gating=on|off, hysteresis=DURATION"

// ParsePowerPolicy parses settings such as "gating=off,hysteresis=50ms". An empty list
// gives the zero policy. Every error is a *PolicyError.
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
			return bad("duplicate key %s", key)
		case !ok:
			return bad("unknown setting; want %s", policyKeys)
		}
		seen[key] = true
		switch {
		case (key == "management" || key == "gating") && value != "on" && value != "off":
			return bad("unknown value; want on or off")
		case key == "management":
			p.AlwaysOn = value == "off"
		case key == "gating":
			p.Ungated = value == "off"
		case key == "hysteresis":
			d, err := time.ParseDuration(value)
			if err != nil || d <= 0 {
				return bad("invalid duration; want a positive one such as 50ms")
			}
			p.Hysteresis = clock.Nanoseconds(d.Nanoseconds())
		default:
			return bad("unknown setting; want %s", policyKeys)
		}
	}
	if p.AlwaysOn && p.Hysteresis > 0 {
		return PowerPolicy{}, &PolicyError{list, "hysteresis has no effect without management"}
	}
	return p, nil
}

// With returns the times under a policy. Wake times were measured with the chip's own
// hysteresis. With another hysteresis, the ramp of the wake time is assumed to end where
// the rails go off.
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
