package asm

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/x448/float16"

	"anesim/hw/regs"
)

// wide is the number of bits from which fields are written in hexadecimal.
const wide = 24

// Spell returns value v of field f in the notation of descriptor text. This is the name of the
// value if it has one, and otherwise a number. Sizes are written in bytes, and floats as decimals.
func Spell(f regs.Field, v uint32) string {
	if name, ok := f.ValueName(v); ok {
		return name
	}
	switch f.Type {
	case "half":
		text := float16.Frombits(uint16(v)).String()
		if back, err := parseValue(f, text); err == nil && back == v {
			return text
		}
		return fmt.Sprintf("%#x", v)
	case "single":
		text := strconv.FormatFloat(float64(math.Float32frombits(v)), 'g', -1, 32)
		if back, err := parseValue(f, text); err == nil && back == v {
			return text
		}
		return fmt.Sprintf("%#x", v)
	}
	if u := f.Unit(); u > 0 {
		return formatHex(uint64(v) << u)
	}
	if f.Width >= wide {
		return formatHex(uint64(v))
	}
	return strconv.FormatUint(uint64(v), 10)
}

func formatHex(v uint64) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", v)
}

// parseValue parses a value of field f: the name of a value, a size in bytes if the field
// counts units of bytes, a float, or a number. Negative numbers are encoded in two's
// complement.
func parseValue(f regs.Field, text string) (uint32, error) {
	if v, ok := f.ParseValue(text); ok {
		return v, nil
	}
	switch f.Type {
	case "half", "single":
		if strings.HasPrefix(strings.TrimPrefix(text, "-"), "0x") {
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
		if h.IsInf(0) && !math.IsInf(x, 0) {
			return 0, fmt.Errorf("%s is outside the range of fp16; want -65504 to 65504", text)
		}
		return uint32(h.Bits()), nil
	}
	n, err := parseNumber(text)
	if err != nil {
		return 0, err
	}
	u := f.Unit()
	if n&(1<<u-1) != 0 {
		return 0, fmt.Errorf("%s is not a multiple of %d bytes, the unit of %s", text, 1<<u, f.Name)
	}
	n >>= u
	if low := int64(-1) << (f.Width - 1); n < 0 && n >= low {
		return uint32(n) & (1<<f.Width - 1), nil
	}
	if n < 0 || !f.Fits(uint64(n)) {
		return 0, fmt.Errorf("%s does not fit in the %d bits of %s; want %#x to %#x", text, f.Width, f.Name, int64(-1)<<(f.Width-1)<<u, (uint64(1)<<f.Width-1)<<u)
	}
	return uint32(n), nil
}

// parseNumber parses a decimal or 0x number of up to 42 bits, which may be negative.
func parseNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil || n>>42 > 0 || n>>42 < -1 {
		return 0, fmt.Errorf("invalid value %q; want a decimal or 0x number of at most 42 bits", text)
	}
	return n, nil
}

// formatFields returns the value w of register r in the form that parseWord reads: the
// nonzero fields, followed by bits that do not belong to any field.
func formatFields(r *regs.Register, w uint32) string {
	var parts []string
	rest := r.Unknown(w)
	switch {
	case len(r.Fields) == 0:
		return formatHex(uint64(w))
	case r.Sole():
		parts = append(parts, Spell(r.Fields[0], r.Fields[0].Of(w)))
	default:
		for _, f := range r.Fields {
			v := f.Of(w)
			_, named := f.ValueName(v)
			switch {
			case f.Type == "bool" && v != 0:
				parts = append(parts, f.Name)
			case v != 0 || named:
				parts = append(parts, f.Name+"="+Spell(f, v))
			}
		}
	}
	if rest != 0 {
		parts = append(parts, fmt.Sprintf("+%#x", rest))
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, " ")
}
