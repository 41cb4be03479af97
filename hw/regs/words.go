package regs

import "fmt"

//go:generate go run ./internal/regsgen

// A Word is the value of a register whose fields are not known. Like all words of register groups,
// it is opaque: where a field is in its word is known to this package alone, because it differs from
// one generation of the engine to the next.
type Word struct{ v uint32 }

// IsZero reports whether no bit of the word is set.
func (w Word) IsZero() bool { return w.v == 0 }

// String returns the bits of the word as a hexadecimal number, such as 0x2a.
func (w Word) String() string { return formatWord(w.v) }

// An opaque type is that of the word of any register, such as [ConvCfg], [DMAWord] or [Word].
type opaque interface{ ~struct{ v uint32 } }

// FromRaw returns the word with the given bits, for what has them from a program. Words that a
// program does not give are made of their fields: ConvCfg{}.WithKw(3).WithKh(3).
func FromRaw[T opaque](bits uint32) T { return T{bits} }

// Raw returns the bits of a word, for what writes or lists them.
func Raw[T opaque](w T) uint32 { return struct{ v uint32 }(w).v }

// formatWord returns w as a hexadecimal number.
func formatWord(w uint32) string { return fmt.Sprintf("%#x", w) }

// A DMAWord is an offset, stride or size in device memory, in bytes. It is a multiple of 64,
// because the register has only bits 6 to 31. Strides are signed.
type DMAWord struct{ v uint32 }

// Bytes returns the offset, stride or size in bytes, a multiple of 64.
func (w DMAWord) Bytes() uint32 { return w.v &^ 63 }

// Stride returns the stride in bytes. Bit 31 is the sign.
func (w DMAWord) Stride() int64 { return int64(int32(w.v &^ 63)) }

// WithBytes returns w with its value replaced by n bytes. It panics if n is not a multiple of 64.
func (w DMAWord) WithBytes(n uint32) DMAWord {
	if n&63 != 0 {
		panic(fmt.Sprintf("regs: %#x bytes is not a multiple of 64", n))
	}
	return DMAWord{w.v&63 | n}
}

// IsZero reports whether no bit of the word is set.
func (w DMAWord) IsZero() bool { return w.v == 0 }

// String returns the bits of the word as a hexadecimal number, such as 0x40.
func (w DMAWord) String() string { return formatWord(w.v) }

// An L2Word is an address or stride in L2, in bytes. It is a multiple of 16 below 2 MiB, because
// the register has only bits 4 to 20.
type L2Word struct{ v uint32 }

const l2Mask = 1<<21 - 1<<4

// Bytes returns the address or stride in bytes, a multiple of 16.
func (w L2Word) Bytes() uint32 { return w.v & l2Mask }

// WithBytes returns w with its value replaced by n bytes. It panics unless n is a multiple of 16
// below 2 MiB.
func (w L2Word) WithBytes(n uint32) L2Word {
	if n&^l2Mask != 0 {
		panic(fmt.Sprintf("regs: %#x bytes does not fit an L2 word; want a multiple of 16 below 2 MiB", n))
	}
	return L2Word{w.v&^l2Mask | n}
}

// IsZero reports whether no bit of the word is set.
func (w L2Word) IsZero() bool { return w.v == 0 }

// String returns the bits of the word as a hexadecimal number, such as 0x40.
func (w L2Word) String() string { return formatWord(w.v) }

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
