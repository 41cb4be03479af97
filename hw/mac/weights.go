package mac

import (
	"encoding/binary"

	"github.com/x448/float16"
)

// Coefficients reach the engines in one of these forms and unfold to fp16 values on the
// way: palettes of 4 and 8 bits, sparse, and symmetric int8. The sparse mask starts
// at the least significant bit (bytes of real programs); that palette indices do
// so too is assumed.

// UnpackPalette looks up len(dst) indices of 4 or 8 bits in the codebook, the low
// nibble of a byte first. indices must hold them all; an index beyond the
// codebook, or another width, is an error too, a *FormatError.
func UnpackPalette(dst, codebook []float16.Float16, indices []byte, bits int) error {
	if bits != 4 && bits != 8 {
		return &FormatError{"palette", 0, "width is neither 4 nor 8 bits", bits}
	}
	if need := (len(dst)*bits + 7) / 8; len(indices) < need {
		return &FormatError{"palette", len(indices), "indices end early, bytes needed", need}
	}
	for i := range dst {
		at := i
		if bits == 4 {
			at = i / 2
		}
		index := indices[at]
		if bits == 4 {
			index = index >> (i % 2 * 4) & 15
		}
		if int(index) >= len(codebook) {
			return &FormatError{"palette", at, "index beyond the codebook", index}
		}
		dst[i] = codebook[index]
	}
	return nil
}

// UnpackSparse reads len(dst) fp16 values from src: a mask of one bit each, LSB first,
// rounded up to bytes, then the fp16 values of the set bits; the others are +0. It
// returns how many bytes it read. Bits beyond len(dst) are ignored.
func UnpackSparse(dst []float16.Float16, src []byte) (int, error) {
	at := (len(dst) + 7) / 8
	if len(src) < at {
		return 0, &FormatError{"sparse", len(src), "mask ends early, bytes needed", at}
	}
	mask := src[:at]
	for i := range dst {
		if mask[i/8]>>(i%8)&1 == 0 {
			dst[i] = 0
			continue
		}
		if len(src)-at < 2 {
			return 0, &FormatError{"sparse", len(src), "values end early at", i}
		}
		dst[i] = float16.Float16(binary.LittleEndian.Uint16(src[at:]))
		at += 2
	}
	return at, nil
}

// UnpackInt8 expands symmetric int8 weights: q holds len(scale) rows, one per
// output channel, and dst[i] = scale[row]*q[i] rounded once, half to even (that
// the product is rounded to fp16 before the multiply-accumulate is assumed: its
// operands are fp16 values). 0 * inf is +0 and a NaN scale reads as +Inf, as
// everywhere. Each byte is two's complement, -128 included.
func UnpackInt8(dst []float16.Float16, q []byte, scale []float16.Float16) error {
	if len(q) < len(dst) {
		return &FormatError{"int8", len(q), "values end early, bytes needed", len(dst)}
	}
	if len(dst) == 0 {
		return nil
	}
	if len(scale) == 0 || len(dst)%len(scale) != 0 {
		return &FormatError{"int8", 0, "values do not divide into channels", len(scale)}
	}
	row := len(dst) / len(scale)
	for i := range dst {
		s := scale[i/row]
		if s.IsNaN() {
			s = halfInf
		}
		dst[i] = PortFull.Narrow(float32(s.Float32() * float32(int8(q[i]))))
	}
	return nil
}
