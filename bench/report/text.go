package report

import (
	"fmt"
	"strconv"
	"strings"
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

// number prints a float the same on every machine, without more digits than it has.
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

// Printable is text from a file without what a terminal would obey.
func Printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		q := strconv.Quote(s)
		return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	}
	return s
}
