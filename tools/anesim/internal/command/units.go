package command

import (
	"fmt"
	"strconv"
	"strings"
)

// bytesText is a size in a unit a person reads; documents have it exact.
func bytesText(n uint64) string {
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

// countText is a number of things with its thousands apart.
func countText(n uint64) string {
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

// rateText is a rate to three digits.
func rateText(v float64) string {
	switch {
	case v == 0:
		return "-"
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func percent[A, B ~uint64 | ~float64](part A, whole B) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// number prints a float the same on every machine, without more digits than it has.
func number[T ~float64](v T) string { return string(appendNumber(nil, float64(v))) }

func appendNumber(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'g', 9, 64) }

// causeText is a cause of cycles in words.
func causeText(cause string) string {
	cause = strings.ReplaceAll(cause, "_", " ")
	if rest, ok := strings.CutPrefix(cause, "l2 "); ok {
		return "L2 " + rest
	}
	return cause
}

func extent(c, h, w int) string { return fmt.Sprintf("%dx%dx%d", c, h, w) }

// dims is a tensor's shape, the batch only where it is more than one.
func dims(s [4]int) string {
	switch {
	case s[0] == 0:
		return "?"
	case s[0] == 1:
		return extent(s[1], s[2], s[3])
	}
	return fmt.Sprintf("%dx%s", s[0], extent(s[1], s[2], s[3]))
}

// escaped is text from a file without what a terminal would obey.
func escaped(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		q := strconv.Quote(s)
		return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	}
	return s
}
