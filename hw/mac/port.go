package mac

import (
	"math"
	"strconv"

	"github.com/x448/float16"
)

// A Port is a kind of output port, through which results leave a MAC engine. Each kind turns
// results above a certain magnitude into infinity.
type Port uint8

const (
	// PortCeiling turns magnitudes of 32768 or more into infinity. Matmuls, linear layers and
	// convolutions with two or more taps use it. On silicon, 32752 still passes.
	PortCeiling Port = 0

	// PortFull passes all fp16 values, up to 65504. On silicon, a 1x1 convolution with one input
	// channel uses it.
	PortFull Port = 1
)

// String returns "ceiling" or "full".
func (p Port) String() string {
	switch p {
	case PortCeiling:
		return "ceiling"
	case PortFull:
		return "full"
	}
	return "Port(" + strconv.Itoa(int(p)) + ")"
}

// Limit returns the smallest magnitude that the port turns into infinity: 32768 for PortCeiling and
// +Inf for PortFull.
func (p Port) Limit() float32 {
	if p == PortCeiling {
		return 32768
	}
	return float32(math.Inf(1))
}

// Narrow converts v to fp16 with one rounding, half to even, and then turns a magnitude of Limit or
// more into infinity. NaN becomes +0. These rules were measured on silicon. It is assumed that
// results may be subnormal.
func (p Port) Narrow(v float32) float16.Float16 {
	h := roundToHalf(v)
	if p == PortCeiling && h&^halfSign >= half32768 {
		h = h&halfSign | halfInf
	}
	return h
}

// roundToHalf rounds v to fp16, half to even. NaN becomes +0.
func roundToHalf(v float32) float16.Float16 {
	bits := math.Float32bits(v)
	sign, abs := float16.Float16(bits>>16&halfSign), bits&^(1<<31)
	switch {
	case abs >= 0x47800000: // 65536
		if v != v {
			return 0
		}
		return sign | halfInf
	case abs < 0x38800000: // 2^-14: adding 1/2 in fp32 leaves the unit of a denormal half
		d := math.Float32bits(math.Float32frombits(abs) + 0.5)
		return sign | float16.Float16(d-0x3f000000)
	}
	// Add half a unit minus one, and one more if the half is odd. A carry out of the significand
	// correctly increments the exponent.
	abs += 0xfff + abs>>13&1
	return sign | float16.Float16((abs-(127-15)<<23)>>13)
}
