package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Plural is a number of things, named in the singular.
func Plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Thousands is a number of things with its thousands apart.
func Thousands(n uint64) string {
	s := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Size formats a number of bytes with three digits and a unit, such as "1.84 MB".
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

// Number prints a float the same on every machine, without more digits than it has.
func Number[T ~float64](v T) string { return string(AppendNumber(nil, float64(v))) }

// AppendNumber is Number behind the bytes of b.
func AppendNumber(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'g', 9, 64) }

// CauseText is a cause of cycles in words.
func CauseText(cause string) string {
	cause = strings.ReplaceAll(cause, "_", " ")
	if rest, ok := strings.CutPrefix(cause, "l2 "); ok {
		return "L2 " + rest
	}
	return cause
}

// Cell is a text from outside as a cell of CSV: printable, and with a quote before what a
// spreadsheet would work out as a formula. Numbers stay as they are, signs and all, and so does
// a sign by itself.
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

// isNumber reports whether a text is a number in digits, as a spreadsheet reads one.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && strings.Trim(s, "0123456789.eE+-") == ""
}

// Printable is text from a file without what a terminal would obey.
func Printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		q := strconv.Quote(s)
		return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	}
	return s
}
