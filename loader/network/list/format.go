package list

import (
	"fmt"
	"strings"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
)

// A FormatError reports that a file does not describe a network. It names a line of a text file, or
// a byte offset in a binary file.
type FormatError struct {
	Line int   // line of a text file, from 1; 0 for a binary file
	Off  int64 // byte offset in a binary file; -1 if the error has no place in the file
	What string
	Err  error // underlying error, or nil
}

func (e *FormatError) Error() string {
	what := OneLine.Replace(e.What)
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, what)
	}
	if e.Off >= 0 {
		return fmt.Sprintf("byte %#x: %s", e.Off, what)
	}
	return what
}

// Unwrap returns the underlying error, or nil if there is none.
func (e *FormatError) Unwrap() error { return e.Err }

// OneLine escapes line breaks. It is applied to names from a file, so that an error with such a
// name stays on one line.
var OneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// Limits on the size of a network. Readers refuse files that exceed them.
const (
	MaxLayers = 1 << 16         // layers of a network
	MaxExtent = graph.MaxExtent // elements along one axis of a tensor
)

// CheckShape returns an error unless every extent of s is from 1 to [MaxExtent] and their product
// is at most 2^40, the limits of [graph.FitsEngine].
func CheckShape(s layer.Shape) error {
	if !graph.FitsEngine([]int{s.N, s.C, s.H, s.W}) {
		return fmt.Errorf("shape %s is out of range; want dimensions from 1 to %d and at most 2^40 elements", ShapeText(s), MaxExtent)
	}
	return nil
}

// ShapeText returns the extents N, C, H and W of s, joined by the letter x, as in "1x64x28x28".
func ShapeText(s layer.Shape) string {
	return fmt.Sprintf("%dx%dx%dx%d", s.N, s.C, s.H, s.W)
}
