package list

import (
	"fmt"
	"strings"

	"anesim/loader/layer"
)

// A FormatError is a file that does not say a network.
type FormatError struct {
	Line int   // of a text, from 1; 0 in a binary file
	Off  int64 // byte of a binary file
	What string
	Err  error
}

func (e *FormatError) Error() string {
	what := OneLine.Replace(e.What)
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, what)
	}
	return fmt.Sprintf("byte %#x: %s", e.Off, what)
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// OneLine keeps names of a file from breaking an error's line.
var OneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// Bounds on what is read.
const (
	MaxLayers = 1 << 16
	MaxExtent = 1 << 24 // of one axis; the engine's own limit is far below
)

// CheckShape makes sure that products of a shape's extents are counts.
func CheckShape(s layer.Shape) error {
	room := 1 << 40
	for _, n := range [...]int{s.N, s.C, s.H, s.W} {
		if n < 1 || n > MaxExtent || n > room {
			return fmt.Errorf("shape %s", ShapeText(s))
		}
		room /= n
	}
	return nil
}

// ShapeText is a shape as N, C, H and W joined by x.
func ShapeText(s layer.Shape) string {
	return fmt.Sprintf("%dx%dx%dx%d", s.N, s.C, s.H, s.W)
}
