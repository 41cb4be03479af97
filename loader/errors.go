package loader

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// printable escapes what a terminal would not show: names and messages stay on one line
// and readable whatever bytes a damaged file has.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// A FormatError is a file that breaks its format.
type FormatError struct {
	Off  uint64 // byte offset in the file
	What string // what is wrong, and what was expected
	Val  any    // the offending value, or nil
	Err  error  // the cause, or nil
}

// Unwrap returns the cause.
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
	return printable(s)
}

// An UnsupportedError is a file of a known form that the model does not run.
type UnsupportedError struct {
	Form string // what the file is
	What string // what about it is not modelled
}

func (e *UnsupportedError) Error() string { return printable(e.Form + ": " + e.What) }

// A SurfaceError is a descriptor that moves bytes outside the program's memory.
type SurfaceError struct {
	Task    int    // descriptor in the chain
	Unit    string // source 1, source 2, destination, kernel lane n
	Addr    uint64 // device address of the first byte
	Bytes   uint64 // from the first to the end of the last
	Segment string // where the address stands, or what is nearest below it
	What    string // what is wrong
}

func (e *SurfaceError) Error() string {
	return printable(fmt.Sprintf("descriptor %d, %s: %#x bytes at device address %#x %s %s",
		e.Task, e.Unit, e.Bytes, e.Addr, e.What, e.Segment))
}

// A MemoryError is a memory map that no program can have.
type MemoryError struct {
	What string
}

func (e *MemoryError) Error() string { return printable("memory map: " + e.What) }
