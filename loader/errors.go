package loader

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// escapeUnprintable returns s with unprintable characters escaped as in a Go string. Names
// from damaged files therefore stay readable and on one line.
func escapeUnprintable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// A FormatError reports a file that violates its format, with the byte offset of the mistake.
type FormatError struct {
	Off  uint64 // byte offset in the file
	What string // what is wrong, and what was expected
	Val  any    // offending value, or nil
	Err  error  // cause, or nil
}

// Unwrap returns the cause of the error, e.Err, which may be nil.
func (e *FormatError) Unwrap() error { return e.Err }

func (e *FormatError) Error() string {
	s := fmt.Sprintf("byte %#x: %s", e.Off, e.What)
	switch v := e.Val.(type) {
	case nil:
	case string:
		s += fmt.Sprintf(": %q", v)
	default:
		s += fmt.Sprintf(": %#x", v)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return escapeUnprintable(s)
}

// An UnknownFormError reports a file that begins like no form of a program.
type UnknownFormError struct{ *FormatError }

// Unwrap returns the error with the place.
func (e *UnknownFormError) Unwrap() error { return e.FormatError }

// An UnsupportedError reports a program of a known form that cannot be read, converted or run, and
// says why.
type UnsupportedError struct {
	Form string // form of the file
	What string // reason
}

func (e *UnsupportedError) Error() string { return escapeUnprintable(e.Form + ": " + e.What) }

// errTextNotRead is the error of converting a program that was read with [Options.InFile].
var errTextNotRead = &UnsupportedError{string(FormText), "cannot convert a program that was read with the option InFile"}

// A SurfaceError reports a descriptor that accesses bytes outside the program's memory.
type SurfaceError struct {
	Task    int    // index of the descriptor in the chain
	Unit    string // "source 1", "source 2", "destination" or "kernel lane n"
	Addr    uint64 // device address of the first byte
	Bytes   uint64 // from the first byte to the end of the last
	Segment string // segment that contains Addr, or the nearest one below
	What    string // what is wrong
}

func (e *SurfaceError) Error() string {
	return escapeUnprintable(fmt.Sprintf("descriptor %d, %s: %#x bytes at device address %#x %s %s",
		e.Task, e.Unit, e.Bytes, e.Addr, e.What, e.Segment))
}

// A MemoryError reports memory segments that overlap, are too large or too far apart, or extend
// past the device address space.
type MemoryError struct {
	What string
}

func (e *MemoryError) Error() string { return escapeUnprintable("memory map: " + e.What) }
