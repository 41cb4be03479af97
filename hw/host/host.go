package host

import (
	"fmt"
	"iter"

	"anesim/hw/clock"
	"anesim/hw/evidence"
)

// A Host holds the constants of one machine and its software.
type Host struct {
	Name string

	Floor evidence.Constant // microseconds per call, independent of its work
	In    evidence.Constant // microseconds per megabyte of fp16 inputs
	Out   evidence.Constant // microseconds per megabyte of fp16 outputs
	// Weights is in microseconds per megabyte of weights of convolutions and linear layers that a
	// single call uses for the first time. Cold weights arrive at 8-15 GB/s.
	Weights evidence.Constant
	// Zero and Subnormal are in nanoseconds per output of that kind. A conversion in software
	// branches on them.
	Zero, Subnormal evidence.Constant
	// Memory is in microseconds per megabyte that the engine moves. It models memory that was left
	// in a slow state.
	Memory evidence.Constant
	// Spill is in additional microseconds per megabyte of fp16 outputs, for the outputs whose fp32
	// copy no longer fits a cache.
	Spill evidence.Constant

	// Hold is the time in nanoseconds for which the engine's rail stays on after work, as the
	// machine's software sets it. 0 means the chip's own hold time.
	Hold evidence.Constant
}

// spillBytes is the size of fp16 outputs whose fp32 copy fills the 8 MiB system cache of the M1.
const spillBytes = 4 << 20

// StateTerms returns the indices of the terms that describe the state of memory during a session
// rather than the machine. Their values do not carry over to another session.
func StateTerms() []int { return []int{3, 6} }

// numTerms is the number of constants that contribute to the time of a call.
const numTerms = 8

// A Vector holds one number per constant, in the order of Constants, without Hold.
type Vector [numTerms]float64

// A Load describes the work of a call for the host.
type Load struct {
	In, Out   uint64 // bytes of fp16 tensors
	Weights   uint64 // bytes of weights of convolutions and linear layers
	Zero      uint64 // outputs that are zero
	Subnormal uint64 // outputs that are subnormal
	Moved     uint64 // bytes between device memory and the engine
}

// Terms returns the factors by which the constants are multiplied to get microseconds.
func (l Load) Terms() Vector {
	return Vector{
		1, float64(l.In) / 1e6, float64(l.Out) / 1e6, float64(l.Weights) / 1e6,
		float64(l.Zero) / 1e3, float64(l.Subnormal) / 1e3, float64(l.Moved) / 1e6, max(0, float64(l.Out)-spillBytes) / 1e6,
	}
}

// Time returns the time that the host adds to the engine's time.
func (h *Host) Time(l Load) clock.Nanoseconds {
	us, terms := 0.0, l.Terms()
	for i, c := range h.constants() {
		us += float64(c.Value * terms[i])
	}
	return clock.Nanoseconds(us * 1e3)
}

// constants returns pointers to the constants that contribute to the time of a call.
func (h *Host) constants() [numTerms]*evidence.Constant {
	return [...]*evidence.Constant{&h.Floor, &h.In, &h.Out, &h.Weights, &h.Zero, &h.Subnormal, &h.Memory, &h.Spill}
}

// Values returns the values of the constants, in the order of Constants.
func (h *Host) Values() (v Vector) {
	for i, c := range h.constants() {
		v[i] = c.Value
	}
	return v
}

// Set replaces the values of the constants, in the order of Constants. Hold does not change.
func (h *Host) Set(values Vector) {
	for i, c := range h.constants() {
		c.Value = values[i]
	}
}

// Constants yields the name and value of every constant.
func (h *Host) Constants() iter.Seq2[string, evidence.Constant] {
	return func(yield func(string, evidence.Constant) bool) {
		names := [...]string{"HostFloor", "HostIn", "HostOut", "HostWeights", "HostZero", "HostSubnormal", "HostMemory", "HostSpill"}
		for i, c := range h.constants() {
			if !yield(names[i], *c) {
				return
			}
		}
		yield("HostHold", h.Hold)
	}
}

// ByName returns the preset with the given name. For an unknown name the error lists the presets.
func ByName(name string) (Host, error) {
	var known []string
	for _, h := range Presets() {
		if h.Name == name {
			return h, nil
		}
		known = append(known, h.Name)
	}
	return Host{}, fmt.Errorf("unknown host %q; want one of %v", name, known)
}
