package mac

import (
	"encoding/binary"
	"fmt"

	"github.com/x448/float16"
)

// Weights reach the engines as dense fp16 values or in one of these formats, which are expanded to
// fp16: palettes of 4 and 8 bits, sparse, and symmetric int8. The sparse mask starts at the least
// significant bit (from the bytes of real programs). That palette indices do so too is assumed.

// UnpackPalette sets each dst[i] to the entry of codebook with the i-th index in indices. Indices
// have 4 or 8 bits each, as bits says. Two indices of 4 bits share a byte, the first in the low
// half. UnpackPalette returns a *[FormatError] if bits has another value, indices is too short for
// dst, or an index is not below len(codebook).
func UnpackPalette(dst, codebook []float16.Float16, indices []byte, bits int) error {
	if bits != 4 && bits != 8 {
		return &FormatError{"palette", 0, "index width is not 4 or 8 bits", bits}
	}
	if need := (len(dst)*bits + 7) / 8; len(indices) < need {
		return &FormatError{"palette", len(indices), fmt.Sprintf("truncated indices: %d bytes; want at least %d", len(indices), need), nil}
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
			return &FormatError{"palette", at, fmt.Sprintf("index is out of range for a codebook of %d entries", len(codebook)), index}
		}
		dst[i] = codebook[index]
	}
	return nil
}

// UnpackSparse reads len(dst) fp16 values from src: a bit mask with one bit per value, lowest bit
// first, in whole bytes, followed by the values whose bits are set. The other values become +0.
// Surplus bits of the mask are ignored. UnpackSparse returns the number of bytes that it read, or a
// *[FormatError] if src is too short.
func UnpackSparse(dst []float16.Float16, src []byte) (int, error) {
	at := (len(dst) + 7) / 8
	if len(src) < at {
		return 0, &FormatError{"sparse", len(src), fmt.Sprintf("truncated mask: %d bytes; want %d", len(src), at), nil}
	}
	mask := src[:at]
	for i := range dst {
		if mask[i/8]>>(i%8)&1 == 0 {
			dst[i] = 0
			continue
		}
		if len(src)-at < 2 {
			return 0, &FormatError{"sparse", len(src), "missing value at index", i}
		}
		dst[i] = float16.Float16(binary.LittleEndian.Uint16(src[at:]))
		at += 2
	}
	return at, nil
}

// UnpackInt8 expands symmetric int8 weights to fp16. The first len(dst) bytes of q form len(scale)
// rows of equal length, one per output channel, and dst[i] becomes scale[row]*q[i], rounded once,
// half to even. UnpackInt8 returns a *[FormatError] if q is shorter than dst or len(scale) does not
// divide len(dst). Each byte is in two's complement, including -128. As elsewhere in this package,
// 0 * inf is +0, and a NaN scale is treated as +Inf.
//
// It is assumed that the engine rounds the product to fp16 before the multiply-accumulate, whose
// operands are fp16 values, and that it rounds ties to even: one published dot product of quantized
// weights is all there is, and no rule for it is known.
func UnpackInt8(dst []float16.Float16, q []byte, scale []float16.Float16) error {
	if len(q) < len(dst) {
		return &FormatError{"int8", len(q), fmt.Sprintf("found %d weights; want at least %d", len(q), len(dst)), nil}
	}
	if len(dst) == 0 {
		return nil
	}
	if len(scale) == 0 || len(dst)%len(scale) != 0 {
		return &FormatError{"int8", 0, fmt.Sprintf("weight count %d is not a multiple of the scale count", len(dst)), len(scale)}
	}
	row := len(dst) / len(scale)
	for n, s := range scale {
		expandInt8(dst[n*row:][:row], q[n*row:], s)
	}
	return nil
}

// expandInt8 sets each element of dst to its byte in q times scale. A row that is longer than there are
// bytes multiplies each of them only once.
func expandInt8(dst []float16.Float16, q []byte, scale float16.Float16) {
	if scale.IsNaN() {
		scale = halfInf
	}
	s := scale.Float32()
	product := func(b byte) float16.Float16 {
		return Round(float64(multiplyWithoutNaN(s, float32(int8(b)))), NearestEven)
	}
	if len(dst) <= 256 {
		for i := range dst {
			dst[i] = product(q[i])
		}
		return
	}
	var products [256]float16.Float16
	for b := range products {
		products[b] = product(byte(b))
	}
	for i := range dst {
		dst[i] = products[q[i]]
	}
}
