package regs

import "fmt"

//go:generate go run ./internal/regsgen

// A Word is the value of a register whose fields are not known.
type Word uint32

// A DMAWord is an offset, stride or size in device memory, in bytes. It is a multiple of 64,
// because the register has only bits 6 to 31. Strides are signed.
type DMAWord uint32

// Bytes returns the offset, stride or size in bytes, a multiple of 64.
func (w DMAWord) Bytes() uint32 { return uint32(w) &^ 63 }

// Stride returns the stride in bytes. Bit 31 is the sign.
func (w DMAWord) Stride() int64 { return int64(int32(uint32(w) &^ 63)) }

// WithBytes returns w with its value replaced by n bytes. It panics if n is not a multiple of 64.
func (w DMAWord) WithBytes(n uint32) DMAWord {
	if n&63 != 0 {
		panic(fmt.Sprintf("regs: %#x bytes is not a multiple of 64", n))
	}
	return DMAWord(uint32(w)&63 | n)
}

// An L2Word is an address or stride in L2, in bytes. It is a multiple of 16 below 2 MiB, because
// the register has only bits 4 to 20.
type L2Word uint32

const l2Mask = 1<<21 - 1<<4

// Bytes returns the address or stride in bytes, a multiple of 16.
func (w L2Word) Bytes() uint32 { return uint32(w) & l2Mask }

// WithBytes returns w with its value replaced by n bytes. It panics unless n is a multiple of 16
// below 2 MiB.
func (w L2Word) WithBytes(n uint32) L2Word {
	if n&^l2Mask != 0 {
		panic(fmt.Sprintf("regs: %#x bytes does not fit an L2 word; want a multiple of 16 below 2 MiB", n))
	}
	return L2Word(uint32(w)&^l2Mask | n)
}

// extractField returns width bits of w, starting at bit low.
func extractField(w uint32, low, width int) uint32 { return w >> low & (1<<width - 1) }

// replaceField returns w with width bits, starting at bit low, set to v. It panics if v does not
// fit.
func replaceField(w uint32, low, width int, v uint32) uint32 {
	mask := uint32(1<<width - 1)
	if v&^mask != 0 {
		panic(fmt.Sprintf("regs: value %#x does not fit %d bits", v, width))
	}
	return w&^(mask<<low) | v<<low
}

// boolToBit returns 1 if v is true and 0 otherwise.
func boolToBit(v bool) uint32 {
	if v {
		return 1
	}
	return 0
}
