package picture

import (
	"errors"
	"html/template"
)

// A Picture is a drawing in SVG with its title, legend and note.
type Picture struct {
	ID, Title, Note string
	SVG             template.HTML // colours come from Palette and Style
	Narrow          template.HTML // variant for a window of about 400 pixels
	Legend          []Legend
	Zoom            bool     // whether the page's script can zoom into it
	Rests           []string // names of the chip's constants that it depends on

	height float64
}

// A Legend is one entry of a picture's legend. It gives the name of the shapes that are drawn with
// the CSS class Class.
type Legend struct{ Class, Name string }

// ErrNothing is returned when a report lacks the numbers for the requested picture.
var ErrNothing = errors.New("nothing to draw")
