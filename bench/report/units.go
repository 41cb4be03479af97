package report

import "fmt"

// Rate formats a rate with three digits, or "-" for zero.
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

// Percent returns the percentage of part in whole, or 0 if whole is 0.
func Percent[A, B ~uint64 | ~float64](part A, whole B) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// Extent formats the size of a tensor without its batch.
func Extent(c, h, w int) string { return fmt.Sprintf("%dx%dx%d", c, h, w) }

// Dims formats a tensor's shape. It shows the batch only if it exceeds 1, and "?" for an
// unknown shape.
func Dims(s [4]int) string {
	switch {
	case s[0] == 0:
		return "?"
	case s[0] == 1:
		return Extent(s[1], s[2], s[3])
	}
	return fmt.Sprintf("%dx%s", s[0], Extent(s[1], s[2], s[3]))
}
