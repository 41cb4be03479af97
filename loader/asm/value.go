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
		if back, err := f.ParseText(text); err == nil && back == v {
			return text
		}
		return fmt.Sprintf("%#x", v)
	case "single":
		text := strconv.FormatFloat(float64(math.Float32frombits(v)), 'g', -1, 32)
		if back, err := f.ParseText(text); err == nil && back == v {
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
