package machine

import (
	"fmt"
	"io"

	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/hw/clock"
	"anesim/internal/firmware/driver"
)

// A powerState holds the power settings of a machine, and the time and energy of its waits.
type powerState struct {
	policy  firmware.PowerPolicy
	percent uint64            // of full power that a descriptor may draw; 0 or 100 means no limit
	budget  float64           // the same in watts; 0 means no limit
	gap     clock.Nanoseconds // time with the rails on since the last run of descriptors
	engines int               // MAC engines that the last call used

	idle, wake             clock.Nanoseconds
	idleEnergy, wakeEnergy clock.Nanojoules
}

// SetPower changes a power setting. It implements [driver.Backend].
func (m *Machine) SetPower(s driver.PowerSetting, value uint64) bool {
	x := m.engine
	p := x.power
	switch {
	case s == driver.PowerManagement && value <= 1:
		p.policy.AlwaysOn = value == 0
	case s == driver.PowerGating && value <= 1:
		p.policy.Ungated = value == 0
	case s == driver.PowerHysteresis && value >= 1 && value < 1<<32:
		p.policy.Hysteresis = clock.Nanoseconds(value) * 1e6
	case s == driver.PowerThrottling && value >= 1 && value <= 100:
		p.percent, p.budget = value, 0
		if value < 100 {
			c := &x.session.Options().Chip
			active := c.ActivePower.Value
			p.budget = active + float64(float64(engine.FullPower(c)-active)*(float64(value)/100))
		}
	default:
		return false
	}
	if x.session.SetPower(p.policy, p.budget) != nil {
		return false
	}
	x.power = p
	return true
}

// waitIdle lets the idle engine wait for t.
func (x *executor) waitIdle(t clock.Nanoseconds) {
	if t <= 0 {
		return
	}
	x.power.idle += t
	x.power.gap += x.session.Controller().Idle(t)
}

// countWaits adds the energy of the wait before the call with result res, and of its wake-ups. The
// engine draws it as after a call like this one.
func (x *executor) countWaits(gap clock.Nanoseconds, res *engine.Result) {
	waiting := x.session.Options().Waiting()
	for i := range res.Dispatches {
		d := &res.Dispatches[i]
		x.power.engines = d.Engines()
		x.power.wake += d.Wake
		x.power.wakeEnergy += waiting(x.power.engines, d.Wake)
	}
	x.power.idleEnergy += waiting(x.power.engines, gap)
}

// writePower writes what the engine drew while it waited, if it ever did, and the limit on its power.
func (m *Machine) writePower(w io.Writer) {
	x := m.engine
	p := &x.power
	if p.idle > 0 {
		energy := p.idleEnergy + x.session.Options().Waiting()(p.engines, p.gap)
		fmt.Fprintf(w, "idle: %v, %v; wake: %v, %v\n", p.idle, energy, p.wake, p.wakeEnergy)
	}
	if p.budget > 0 {
		fmt.Fprintf(w, "throttled to %d%% of full power, %.3f W as with --power-budget (assumed: the documents do not say of what)\n", p.percent, p.budget)
	}
}
