package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"anesim/hw"
	"anesim/hw/clock"
)

// Plural returns n followed by the noun, with an s unless n is 1, such as "1,234 layers".
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return GroupDigits(strconv.Itoa(n)) + " " + noun
}

// TimeText formats t with three significant digits and a unit that depends on its size, such as "252 us". The
// intervals of times are a thousand times as wide as the digits that this leaves out.
func TimeText(t clock.Nanoseconds) string { return TimeAs(t, t) }

// TimeAs formats the time t like [TimeText], but in the unit in which u is printed. It is meant for an end t of
// an interval around u: if u is 1.25 us, a t of 725 ns becomes "0.725 us".
func TimeAs(t, u clock.Nanoseconds) string {
	return formatScaled(float64(t), float64(u), [...]string{"ns", "us", "ms", "s"})
}

// EnergyText formats e with three significant digits and a unit that depends on its size, such as "4.73 mJ".
func EnergyText(e clock.Nanojoules) string {
	return formatScaled(float64(e), float64(e), [...]string{"nJ", "uJ", "mJ", "J"})
}

// formatScaled formats v with three significant digits in that of four units, each a thousand times the one
// before, in which u has one to three digits before its point.
func formatScaled(v, u float64, units [4]string) string {
	i := 0
	for i+1 < len(units) && math.Abs(u) >= 999.5 {
		v, u = v/1e3, u/1e3
		i++
	}
	return threeDigits(v) + " " + units[i]
}

// threeDigits formats v with three significant digits, but at most three after the point, and with commas
// from 1,000 on.
func threeDigits(v float64) string {
	switch a := math.Abs(v); {
	case a < 0.0005:
		return "0"
	case a < 0.9995:
		return fmt.Sprintf("%.3f", v)
	case a < 9.995:
		return fmt.Sprintf("%.2f", v)
	case a < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return GroupDigits(fmt.Sprintf("%.0f", v))
}

// Thousands returns n as text with commas between groups of three digits, such as "11,346".
func Thousands(n uint64) string { return GroupDigits(strconv.FormatUint(n, 10)) }

// GroupDigits inserts commas between groups of three digits in the integer part of a decimal
// number. The number may have a sign: "-1234.5" becomes "-1,234.5".
func GroupDigits(number string) string {
	sign := len(number) - len(strings.TrimLeft(number, "+-"))
	digits := strings.TrimLeft(number[sign:], "0123456789")
	end := len(number) - len(digits)
	var b strings.Builder
	for i, c := range number {
		if i > sign && i < end && (end-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Size returns a number of bytes as text with three digits and a unit, such as "1.84 MB".
func Size(n uint64) string {
	v, unit := float64(n), ""
	for _, u := range [...]string{"kB", "MB", "GB", "TB"} {
		if v < 999.95 {
			break
		}
		v, unit = v/1e3, u
	}
	switch {
	case unit == "":
		return fmt.Sprintf("%d B", n)
	case v < 9.995:
		return fmt.Sprintf("%.2f %s", v, unit)
	case v < 99.95:
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

// Number returns v as text with at most nine significant digits. The text is the same on every
// machine.
func Number[T ~float64](v T) string { return string(appendNumber(nil, float64(v))) }

// appendNumber appends the text of v, as returned by [Number], to b and returns the extended slice.
func appendNumber(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'g', 9, 64) }

// CauseText returns the name of a cause of cycles in words, such as "L2 read stall" for
// "l2_read_stall".
func CauseText(cause string) string {
	if cause == hw.CauseKernelStall.String() {
		return "weight stall" // kernel means two things, and weights only one
	}
	cause = strings.ReplaceAll(cause, "_", " ")
	if rest, ok := strings.CutPrefix(cause, "l2 "); ok {
		return "L2 " + rest
	}
	return cause
}

// Cell makes text from a file safe for a CSV cell. It escapes unprintable characters like
// [Printable], and puts an apostrophe before text that a spreadsheet would run as a formula. It
// does not change numbers.
func Cell(s string) string {
	s = Printable(s)
	if len(s) < 2 || !strings.ContainsRune("=+-@＝＋－＠", firstRune(s)) || isNumber(s) {
		return s
	}
	return "'" + s
}

func firstRune(s string) rune {
	c, _ := utf8.DecodeRuneInString(s)
	return c
}

// isNumber reports whether s looks like a decimal number to a spreadsheet.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && strings.Trim(s, "0123456789.eE+-") == ""
}

// Printable returns text from a file with unprintable characters replaced by Go escapes such as \n,
// so that printing it cannot control a terminal.
func Printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		q := strconv.Quote(s)
		return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	}
	return s
}

// Rate returns a rate as text with up to three digits and commas, such as "1,234", "23.4" or
// "0.12". It returns "-" for 0.
func Rate(v float64) string {
	switch {
	case v == 0:
		return "-"
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return GroupDigits(fmt.Sprintf("%.0f", v))
}

// Percent returns 100*part/whole, or 0 if whole is 0.
func Percent[A, B ~uint64 | ~float64](part A, whole B) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// extent returns the size of a tensor as text with channels, height and width, such as "64x28x28".
func extent(c, h, w int) string { return fmt.Sprintf("%dx%dx%d", c, h, w) }

// dims returns the shape s, with the extents N, C, H and W, as text such as "64x28x28". It leaves
// out N if that is 1. It returns "?" if N is 0, which means that the shape is unknown.
func dims(s [4]int) string {
	switch {
	case s[0] == 0:
		return "?"
	case s[0] == 1:
		return extent(s[1], s[2], s[3])
	}
	return fmt.Sprintf("%dx%s", s[0], extent(s[1], s[2], s[3]))
}
