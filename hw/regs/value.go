package regs

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/x448/float16"
)

// ParseText parses a value of the field as a person writes it: the name of a value, a size in bytes if
// the field counts units of bytes, a float, or a number. Negative numbers are encoded in two's
// complement. The bits of a float may be a hexadecimal number.
func (f Field) ParseText(text string) (uint32, error) {
	if v, ok := f.ParseValue(text); ok {
		return v, nil
	}
	switch f.Type {
	case "half", "single":
		// Hexadecimal digits are the bits of the float, the only notation for a NaN with a payload.
		if digits := strings.TrimPrefix(text, "-"); len(digits) > 1 && strings.EqualFold(digits[:2], "0x") {
			break
		}
		x, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return 0, fmt.Errorf("invalid number %q for %s", text, f.Name)
		}
		if f.Type == "single" {
			return math.Float32bits(float32(x)), nil
		}
		h := float16.Fromfloat32(float32(x))
		// An infinity must be written as one: a number that is too large is more likely a mistake.
		if h.IsInf(0) && !math.IsInf(x, 0) {
			return 0, fmt.Errorf("%s is outside the range of fp16; want -65504 to 65504", text)
		}
		return uint32(h.Bits()), nil
	}
	n, err := ParseNumber(text)
	if err != nil {
		return 0, err
	}
	u := f.Unit()
	if n&(1<<u-1) != 0 {
		return 0, fmt.Errorf("%s is not a multiple of %d bytes, the unit of %s", text, 1<<u, f.Name)
	}
	n >>= u
	// The table of fields does not say which fields are signed, so both -2^(w-1) and 2^w-1 are in range.
	if low := int64(-1) << (f.Width - 1); n < 0 && n >= low {
		return uint32(n) & (1<<f.Width - 1), nil
	}
	if n < 0 || !f.Fits(uint64(n)) {
		return 0, fmt.Errorf("%s does not fit in the %d bits of %s; want %#x to %#x", text, f.Width, f.Name, int64(-1)<<(f.Width-1)<<u, (uint64(1)<<f.Width-1)<<u)
	}
	return uint32(n), nil
}

// ParseNumber parses a decimal or 0x number of up to 42 bits, which may be negative.
func ParseNumber(text string) (int64, error) {
	digits, negative := strings.CutPrefix(text, "-")
	base := 10
	if len(digits) > 1 && strings.EqualFold(digits[:2], "0x") {
		digits, base = digits[2:], 16
	}
	n, err := strconv.ParseUint(digits, base, 63)
	v := int64(n)
	if negative {
		v = -v
	}
	if err != nil || v>>42 > 0 || v>>42 < -1 {
		return 0, fmt.Errorf("invalid value %q; want a decimal or 0x number of at most 42 bits", text)
	}
	return v, nil
}
