package regs

import "fmt"

//go:generate go run ./internal/regsgen

// A Word is a register whose fields are unknown; it is carried whole.
type Word uint32

// A DMAWord is a device offset, stride or size in device memory: bits 6-31, so a
// multiple of 64 bytes that reads as its own byte count (decompiled, seen in every
// program). Strides are signed.
type DMAWord uint32

// Bytes is the offset, stride or size in bytes, a multiple of 64.
func (w DMAWord) Bytes() uint32 { return uint32(w) &^ 63 }

// Stride is the word as a stride in bytes: 26 bits, signed (decompiled; no program has a
// negative one).
func (w DMAWord) Stride() int64 { return int64(int32(uint32(w) &^ 63)) }

// WithBytes returns w set to n bytes; it panics when n is no multiple of 64.
func (w DMAWord) WithBytes(n uint32) DMAWord {
	if n&63 != 0 {
		panic(fmt.Sprintf("regs: %#x bytes in a word of 64-byte units", n))
	}
	return DMAWord(uint32(w)&63 | n)
}

// An L2Word is an address or stride in the L2 scratchpad: bits 4-20, a multiple of
// 16 bytes below 2 MiB that reads as its own byte count.
type L2Word uint32

const l2Mask = 1<<21 - 1<<4

// Bytes is the address or stride in bytes, a multiple of 16.
func (w L2Word) Bytes() uint32 { return uint32(w) & l2Mask }

// WithBytes returns w set to n bytes; it panics when n is no multiple of 16 below 2 MiB.
func (w L2Word) WithBytes(n uint32) L2Word {
	if n&^l2Mask != 0 {
		panic(fmt.Sprintf("regs: %#x bytes in an L2 word", n))
	}
	return L2Word(uint32(w)&^l2Mask | n)
}

func field(w uint32, low, width int) uint32 { return w >> low & (1<<width - 1) }

func withField(w uint32, low, width int, v uint32) uint32 {
	mask := uint32(1<<width - 1)
	if v&^mask != 0 {
		panic(fmt.Sprintf("regs: value %#x does not fit %d bits", v, width))
	}
	return w&^(mask<<low) | v<<low
}

func bit(v bool) uint32 {
	if v {
		return 1
	}
	return 0
}
