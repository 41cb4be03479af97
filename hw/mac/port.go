package mac

import (
	"math"
	"strconv"

	"github.com/x448/float16"
)

// A Port is an output port through which accumulators leave. The descriptor determines the port of
// an operation: see outputPort in engine.go of package hw.
type Port uint8

const (
	// PortCeiling turns a magnitude of 32768 or more into infinity. Matmuls, linear layers and
	// convolutions of two or more taps use it (measured: 32752 passes).
	PortCeiling Port = 0

	// PortFull has the whole range of fp16, up to 65504. A 1x1 convolution with one input channel
	// uses it (measured).
	PortFull Port = 1
)

// String returns the name of the port.
func (p Port) String() string {
	switch p {
	case PortCeiling:
		return "ceiling"
	case PortFull:
		return "full"
	}
	return "Port(" + strconv.Itoa(int(p)) + ")"
}

// Limit returns the smallest magnitude that the port turns into infinity: 32768, or +Inf for a port
// that is limited only by fp16.
func (p Port) Limit() float32 {
	if p == PortCeiling {
		return 32768
	}
	return float32(math.Inf(1))
}

// Narrow converts v to fp16 as the port does. It rounds once, half to even, with subnormal results,
// then applies the ceiling to the rounded magnitude. The rounding and the ceiling are measured. The
// subnormals are assumed, because the flush to zero is only known for operands. NaN becomes +0,
// like every result without a value (measured: inf-inf, 0*inf).
func (p Port) Narrow(v float32) float16.Float16 {
	h := nearestHalf(v)
	if p == PortCeiling && h&^halfSign >= half32768 {
		h = h&halfSign | halfInf
	}
	return h
}

// nearestHalf rounds v to fp16, half to even. NaN becomes +0.
func nearestHalf(v float32) float16.Float16 {
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
