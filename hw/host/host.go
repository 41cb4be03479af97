package host

import (
	"fmt"
	"iter"

	"anesim/hw/clock"
	"anesim/hw/evidence"
)

// A Host is the constants of one machine and its software.
type Host struct {
	Name string

	Floor evidence.Constant // microseconds a call, whatever it does
	In    evidence.Constant // microseconds a megabyte of fp16 inputs
	Out   evidence.Constant // microseconds a megabyte of fp16 outputs
	// Weights is microseconds a megabyte of the weights of a convolution or a linear layer
	// that a single call touches first: cold ones come at 8-15 GB/s.
	Weights evidence.Constant
	// Zero and Subnormal are nanoseconds for each output of that kind: a conversion in
	// software branches on them.
	Zero, Subnormal evidence.Constant
	// Memory is microseconds a megabyte that the engine moves: what memory left in a slow
	// state adds.
	Memory evidence.Constant
	// Spill is microseconds more a megabyte of fp16 outputs beyond those whose fp32 copy a
	// cache holds.
	Spill evidence.Constant

	// Hold is for how long the engine's rail holds after work before it lets go, in
	// nanoseconds: how the machine's software sets it. 0 is what the chip has.
	Hold evidence.Constant
}

// spillBytes are the fp16 outputs whose fp32 copy fills the 8 MiB system cache of the M1.
const spillBytes = 4 << 20

// StateTerms are the places of constants that stand for the state a session found memory
// in, not for its machine: they say nothing of another session.
func StateTerms() []int { return []int{3, 6} }

// numTerms is the number of constants.
const numTerms = 8

// A Vector is a value for each constant, in the order of Constants.
type Vector [numTerms]float64

// A Load is what a call gives the host to do.
type Load struct {
	In, Out   uint64 // bytes of fp16 tensors
	Weights   uint64 // bytes of weights of convolutions and linear layers
	Zero      uint64 // outputs that are zero
	Subnormal uint64 // outputs that are subnormal
	Moved     uint64 // bytes between device memory and the engine
}

// Terms are what each constant is multiplied by to make microseconds.
func (l Load) Terms() Vector {
	return Vector{
		1, float64(l.In) / 1e6, float64(l.Out) / 1e6, float64(l.Weights) / 1e6,
		float64(l.Zero) / 1e3, float64(l.Subnormal) / 1e3, float64(l.Moved) / 1e6, max(0, float64(l.Out)-spillBytes) / 1e6,
	}
}

// Time is what the host adds to the engine's time.
func (h *Host) Time(l Load) clock.Nanoseconds {
	us, terms := 0.0, l.Terms()
	for i, c := range h.constants() {
		us += float64(c.Value * terms[i])
	}
	return clock.Nanoseconds(us * 1e3)
}

func (h *Host) constants() [numTerms]*evidence.Constant {
	return [...]*evidence.Constant{&h.Floor, &h.In, &h.Out, &h.Weights, &h.Zero, &h.Subnormal, &h.Memory, &h.Spill}
}

// Values are the constants, in the order of Constants.
func (h *Host) Values() (v Vector) {
	for i, c := range h.constants() {
		v[i] = c.Value
	}
	return v
}

// Set gives the constants new values, in the order of Constants.
func (h *Host) Set(values Vector) {
	for i, c := range h.constants() {
		c.Value = values[i]
	}
}

// Constants yields every constant by name.
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

// ByName finds a preset.
func ByName(name string) (Host, error) {
	var known []string
	for _, h := range Presets() {
		if h.Name == name {
			return h, nil
		}
		known = append(known, h.Name)
	}
	return Host{}, fmt.Errorf("host %q is none of %v", name, known)
}
