package mac

import (
	"math"
	"strconv"

	"github.com/x448/float16"
)

// Port is the output port an accumulator leaves through. Which one an operation uses is told
// by its descriptor: portOf, in engine.go of package hw.
type Port uint8

const (
	// PortCeiling turns a magnitude of 32768 or more into infinity. Matrix
	// multiplies, linear layers and convolutions of two or more taps use it
	// (measured: 32752 passes).
	PortCeiling Port = 0

	// PortFull has the whole range of fp16, up to 65504. A 1x1 convolution with
	// one input channel uses it (measured).
	PortFull Port = 1
)

// String names the port.
func (p Port) String() string {
	switch p {
	case PortCeiling:
		return "ceiling"
	case PortFull:
		return "full"
	}
	return "Port(" + strconv.Itoa(int(p)) + ")"
}

// Limit is the smallest magnitude that the port turns into infinity: 32768, or
// +Inf where fp16 itself is the only bound.
func (p Port) Limit() float32 {
	if p == PortCeiling {
		return 32768
	}
	return float32(math.Inf(1))
}

// Narrow takes one value out through the port: it rounds once to fp16, half to
// even, with subnormal results (the rounding is measured, the subnormals are
// assumed: the flush is only known at operands), then applies the ceiling to the
// rounded magnitude (measured). NaN becomes +0, as every result that has no value
// (measured: inf-inf, 0*inf).
func (p Port) Narrow(v float32) float16.Float16 {
	h := nearestHalf(v)
	if p == PortCeiling && h&^halfSign >= half32768 {
		h = h&halfSign | halfInf
	}
	return h
}

// nearestHalf rounds half to even. NaN becomes +0.
func nearestHalf(v float32) float16.Float16 {
	bits := math.Float32bits(v)
	sign, abs := float16.Float16(bits>>16&halfSign), bits&^(1<<31)
	switch {
	case abs >= 0x47800000: // 65536
		if v != v {
			return 0
		}
		return sign | halfInf
	case abs < 0x38800000: // 2^-14: an fp32 add with 1/2 has the unit of a denormal half
		d := math.Float32bits(math.Float32frombits(abs) + 0.5)
		return sign | float16.Float16(d-0x3f000000)
	}
	// Half a unit less one, and one more when the half is odd; what carries out of
	// the significand belongs in the exponent.
	abs += 0xfff + abs>>13&1
	return sign | float16.Float16((abs-(127-15)<<23)>>13)
}
