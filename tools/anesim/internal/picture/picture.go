package picture

import (
	"errors"
	"html/template"
)

// A Picture is a drawing with its title, note and legend.
type Picture struct {
	ID, Title, Note string
	SVG             template.HTML // colours come from Palette and Style
	Narrow          template.HTML // variant for a window of about 400 pixels
	Legend          []Legend
	Zoom            bool     // whether the page's script can zoom into it
	Rests           []string // names of the chip's constants that it depends on

	height float64
}

// A Legend is the name of a class of shapes in a picture.
type Legend struct{ Class, Name string }

// ErrNothing is returned for a report without the numbers that a picture shows.
var ErrNothing = errors.New("nothing to draw")
