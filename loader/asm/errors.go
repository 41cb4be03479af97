package asm

import "fmt"

// An Error is a place of a descriptor text that cannot be assembled.
type Error struct {
	File      string
	Line, Col int    // from 1; the column counts bytes
	What      string // what is wrong, and what was expected
	Nearest   string // the known name most like the one that is not known, or empty
	Err       error  // the cause, or nil
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.What)
	if e.Nearest != "" {
		s += fmt.Sprintf("; did you mean %s?", e.Nearest)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// nearest is the name most like the given one, empty when none is like it.
func nearest(name string, names func(yield func(string) bool)) string {
	best, at := "", max(2, len(name)/3)+1
	for n := range names {
		if d := distance(fold(name), fold(n), at); d < at {
			best, at = n, d
		}
	}
	return best
}

func fold(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// distance is the number of letters to change, insert or leave out, or limit when there
// are as many or more.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := left
			if a[i] != b[j] {
				d++
			}
			left = row[j+1]
			row[j+1] = min(d, row[j]+1, left+1)
		}
	}
	return min(limit, row[len(b)])
}
