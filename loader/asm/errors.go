package asm

import (
	"fmt"
	"iter"
	"slices"

	"anesim/internal/spelling"
)

// An Error reports a mistake in a descriptor text, with its line and column.
type Error struct {
	File      string
	Line, Col int    // from 1; the column counts bytes
	What      string // the mistake and what was expected
	Nearest   string // known name closest to an unknown one, or ""
	Err       error  // the cause, or nil
}

// Unwrap returns the cause of the error, e.Err, which may be nil.
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

// nearestName returns the known name closest to the unknown name, or "" if none is close
// enough.
func nearestName(name string, names iter.Seq[string]) string {
	for _, n := range spelling.Nearest(name, slices.Collect(names)) {
		return n
	}
	return ""
}

func toLowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// A ContainerError reports that the container that a text describes cannot be read back, so that no
// other command would accept it.
type ContainerError struct{ Err error }

func (e *ContainerError) Error() string {
	return fmt.Sprintf("container cannot be read back: %v; its .at lines hold the number and the relocations of the descriptors that it was printed from, which must keep their places and the registers that they write", e.Err)
}

// Unwrap returns the error of reading the container.
func (e *ContainerError) Unwrap() error { return e.Err }
