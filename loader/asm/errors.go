package asm

import (
	"fmt"
	"iter"
	"slices"

	"anesim/hw/spelling"
)

// An Error is a place of a descriptor text that cannot be assembled.
type Error struct {
	File      string
	Line, Col int    // from 1; the column counts bytes
	What      string // what is wrong, and what was expected
	Nearest   string // the name that an unknown one may have meant, or empty
	Err       error  // the cause, or nil
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.What)
	if e.Nearest != "" {
		s += spelling.Hint([]string{e.Nearest})
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// nearest returns the first of the names that an unknown one may have meant, or "" if none
// is near enough.
func nearest(name string, names iter.Seq[string]) string {
	for _, n := range spelling.Nearest(name, slices.Collect(names)) {
		return n
	}
	return ""
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
