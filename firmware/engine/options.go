package engine

import (
	"fmt"
	"math"
	"time"

	"anesim/firmware"
	"anesim/hw"
	"anesim/hw/chip"
	"anesim/hw/clock"
	"anesim/hw/execycles"
	"anesim/hw/host"
)

// DefaultMemory is the default size of device memory in bytes, 8 GiB as in the smallest M1.
const DefaultMemory = 8 << 30

// Options configures a [Session]. The zero value times calls on an M1, without computing values and
// without a host.
type Options struct {
	Chip hw.Chip   // the zero value is hw.M1
	Host host.Host // adds its time to the wall time; the zero value adds nothing

	// Target is the target whose rules give Apple's estimates of descriptors. 0 means
	// the one for which a program was compiled, according to its banner or to the estimates that it stores,
	// or that of Chip if they do not say it.
	Target execycles.Target

	Values    bool   // compute values
	Precision bool   // compare results of multiply-accumulates with exact ones, if Values is set
	Seed      uint64 // seed of the inputs that are not set

	Bind map[string]uint64 // run-time parameters of each program; see [Loaded.Bind]

	Init *firmware.InitTable // init records; nil for firmware.Known
	// PowerBudget is the highest mean power in watts that a descriptor may draw. A
	// descriptor that would draw more runs slower. The budget must exceed the chip's
	// ActivePower; 0 means no limit.
	PowerBudget float64
	Power       firmware.PowerPolicy

	GateTiles uint32              // tiles to disable after init, bit 2e+h for half h of engine e
	Overrides []firmware.Override // register changes that apply to every descriptor

	Idle time.Duration // gap before each dispatch

	// Brief limits the result of a program with more than 65,536 descriptors to a list of
	// the first 4,096; the sums include all. It has no effect on calls with several
	// dispatches or with values.
	Brief bool

	// Each is called for every descriptor in order, if it is not nil and the call computes
	// no values. The report is valid until Each returns.
	Each func(*hw.DescriptorReport)

	Memory uint64 // bytes of device memory; 0 means DefaultMemory
	// AddressEnd is the first device address that programs and buffers may not use; 0 means no limit, so
	// that programs too large for the engine can be timed. See [loader.AddressSpaceEnd].
	AddressEnd uint64
	Workers    int    // goroutines that compute values; 0 means one per processor
	Budget     uint64 // limit on the steps that compute the values of one dispatch; 0 means hw.DefaultBudget for the whole call
}

// An OptionError reports an option with an invalid value.
type OptionError struct {
	Option string
	What   string
}

func (e *OptionError) Error() string { return fmt.Sprintf("option %s: %s", e.Option, e.What) }

// WithDefaults returns a copy of o in which zero values are replaced by defaults. It returns an
// *[OptionError] if an option is not valid.
func (o Options) WithDefaults() (Options, error) {
	bad := func(option, format string, args ...any) (Options, error) {
		return o, &OptionError{option, fmt.Sprintf(format, args...)}
	}
	if o.Chip == (hw.Chip{}) {
		o.Chip = hw.M1()
	}
	if err := checkChip(&o.Chip); err != nil {
		return o, err
	}
	if o.Host.Name == "" {
		o.Host, _ = host.ByName("none")
	}
	switch {
	case o.Idle < 0:
		return bad("Idle", "idle gap is %v; want 0 or more", o.Idle)
	case o.PowerBudget != 0 && !(o.PowerBudget > o.Chip.ActivePower.Value && o.PowerBudget < 1e6):
		return bad("PowerBudget", "budget is %g W; want more than %g W (active power of chip %s) and less than 1e6 W", o.PowerBudget, o.Chip.ActivePower.Value, o.Chip.Name)
	case o.Power.Hysteresis < 0 || !(o.Power.Hysteresis < 1e18):
		return bad("Power", "hysteresis is %g ns; want at least 0 and less than 1e18 ns", float64(o.Power.Hysteresis))
	case o.Power.AlwaysOn && o.Power.Hysteresis > 0:
		return bad("Power", "hysteresis has no effect when power management is off")
	case o.Workers < 0:
		return bad("Workers", "count is %d; want 0 (one per processor) or more", o.Workers)
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	return o, nil
}

// checkChip returns an *[OptionError] if a constant of the chip is outside its permitted
// range.
func checkChip(c *hw.Chip) error {
	if err := chip.Check(c); err != nil {
		return &OptionError{"Chip", err.Error()}
	}
	return nil
}

// PowerTimes returns how long the engine stays on while idle and how long it needs to wake up, for
// the chip and the power policy of o.
func (o *Options) PowerTimes() firmware.PowerTimes {
	c := &o.Chip
	return firmware.PowerTimes{
		WakeGap:  clock.Nanoseconds(c.WakeGap.Value),
		WakeTime: clock.Nanoseconds(c.WakeTime.Value),
		ColdGap:  clock.Nanoseconds(c.ColdGap.Value),
		ColdWake: clock.Nanoseconds(c.ColdWake.Value),
		RailsOff: clock.Nanoseconds(c.RailsOff.Value),
	}.With(o.Power)
}

// Waiting returns a function that computes the energy that the engine draws during a wait of length
// t after work on the given number of MAC engines. If the power policy keeps the power rails on,
// the engine draws power during the whole wait. Otherwise, it does so only for the hold times of
// the chip and of the host's software. If the policy turns gating off, all MAC engines draw power.
func (o *Options) Waiting() func(engines int, t clock.Nanoseconds) clock.Nanojoules {
	held, policy := o.Chip.Holding(o.Host.Hold), o.Power
	if policy.AlwaysOn || policy.Hysteresis > 0 {
		held.HoldTime.Value = math.Inf(1)
		if policy.Ungated {
			held.EngineHold.Value = math.Inf(1)
		}
	}
	if !policy.Ungated {
		return held.Waiting
	}
	return func(_ int, t clock.Nanoseconds) clock.Nanojoules { return held.Waiting(int(held.Engines.Value), t) }
}

// FullPower returns the mean power in watts that the chip draws if all MAC engines multiply in every
// cycle, without the energy of L2 and memory.
func FullPower(c *hw.Chip) float64 {
	engines := c.Engines.Value
	macs := float64(engines*c.MACs.Value) * float64(c.Clock.Value)
	return c.ActivePower.Value + float64(engines*c.EngineStep.Value) + float64(float64(macs*c.MACEnergy.Value)*1e-12)
}
