package host

import (
	"fmt"
	"iter"
	"slices"

	"anesim/hw/clock"
	"anesim/hw/evidence"
)

// A Host holds the constants that determine how much time the software of one machine adds to a
// call.
type Host struct {
	Name string
	Chip string // name of the preset of the machine's chip, such as "m1max"; "" for no machine

	Floor evidence.Constant // microseconds per call, independent of its work
	In    evidence.Constant // microseconds per megabyte of fp16 inputs
	Out   evidence.Constant // microseconds per megabyte of fp16 outputs
	// Weights is the time in microseconds per megabyte of weights that a call uses for the first
	// time. It applies to convolutions and linear layers. Such weights arrive at 8 to 15 GB/s.
	Weights evidence.Constant
	// Zero and Subnormal are times in nanoseconds per output element that is zero or subnormal. The
	// software that converts outputs is slower for such elements.
	Zero, Subnormal evidence.Constant
	// Spill is the additional time in microseconds per megabyte of fp16 outputs. It applies only if
	// their fp32 copy is larger than the cache.
	Spill evidence.Constant

	// Hold is the time in nanoseconds for which the machine's software keeps the engine's power
	// rail on after work. 0 means the hold time of the chip.
	Hold evidence.Constant
}

// spillBytes is the size of fp16 outputs whose fp32 copy fills the 8 MiB system cache of the M1.
const spillBytes = 4 << 20

// StateTerms returns the indices in [Vector] of the constants that describe the state of memory in
// one session. The fitted values of these constants do not apply to other sessions on the same
// machine.
func StateTerms() []int { return []int{3} }

// numTerms is the number of constants that contribute to the time of a call.
const numTerms = 7

// A Vector holds one number per constant of a [Host] except Hold, in the order of [Host.Constants].
type Vector [numTerms]float64

// A Load describes how much work a call causes for the host's software.
type Load struct {
	In, Out   uint64 // bytes of fp16 tensors
	Weights   uint64 // bytes of weights of convolutions and linear layers
	Zero      uint64 // outputs that are zero
	Subnormal uint64 // outputs that are subnormal
}

// Terms returns a factor for each constant of a [Host], such as the megabytes of inputs. The sum of
// all factors times their constants is the host's time in microseconds.
func (l Load) Terms() Vector {
	return Vector{
		1, float64(l.In) / 1e6, float64(l.Out) / 1e6, float64(l.Weights) / 1e6,
		float64(l.Zero) / 1e3, float64(l.Subnormal) / 1e3, max(0, float64(l.Out)-spillBytes) / 1e6,
	}
}

// Time returns the time that the host's software spends on a call with load l, outside the engine.
func (h *Host) Time(l Load) clock.Nanoseconds {
	us, terms := 0.0, l.Terms()
	for i, c := range h.listConstants() {
		us += float64(c.Value * terms[i])
	}
	return clock.Nanoseconds(us * 1e3)
}

// listConstants returns pointers to the constants that contribute to the time of a call.
func (h *Host) listConstants() [numTerms]*evidence.Constant {
	return [...]*evidence.Constant{&h.Floor, &h.In, &h.Out, &h.Weights, &h.Zero, &h.Subnormal, &h.Spill}
}

// Values returns the values of all constants except Hold.
func (h *Host) Values() (v Vector) {
	for i, c := range h.listConstants() {
		v[i] = c.Value
	}
	return v
}

// Set sets the values of all constants except Hold.
func (h *Host) Set(values Vector) {
	for i, c := range h.listConstants() {
		c.Value = values[i]
	}
}

// Constants returns an iterator over the name and value of every constant.
func (h *Host) Constants() iter.Seq2[string, evidence.Constant] {
	return func(yield func(string, evidence.Constant) bool) {
		names := [...]string{"HostFloor", "HostIn", "HostOut", "HostWeights", "HostZero", "HostSubnormal", "HostSpill"}
		for i, c := range h.listConstants() {
			if !yield(names[i], *c) {
				return
			}
		}
		yield("HostHold", h.Hold)
	}
}

// ChipNote returns a remark if no machine has both this host and the chip preset of the given name.
// Otherwise, and for a host or chip without a preset, it returns "".
func (h *Host) ChipNote(chip string) string {
	machine := func(p Host) bool { return p.Chip == chip }
	if h.Chip == "" || h.Chip == chip || !slices.ContainsFunc(Presets(), machine) {
		return ""
	}
	return fmt.Sprintf("no machine is like this: the times of host %s are those of a machine with chip %s, not %s", h.Name, h.Chip, chip)
}

// ByName returns the host with the given name, such as "macos-air". If there is none, the error
// lists the known names.
func ByName(name string) (Host, error) {
	var known []string
	for _, h := range Presets() {
		if h.Name == name {
			return h, nil
		}
		known = append(known, h.Name)
	}
	return Host{}, fmt.Errorf("unknown host %q; want one of %q", name, known)
}
