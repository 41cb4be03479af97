package picture

import "html/template"

// A Picture is a drawing with the text that belongs to it.
type Picture struct {
	ID, Title, Note string
	SVG             template.HTML // without colours, which come from Palette and Style
	Narrow          template.HTML // the same for a window of about 400 pixels
	Legend          []Legend
	Zoom            bool     // the page's script can zoom into it
	Rests           []string // names of the chip's constants that it rests on

	height float64
}

// A Legend gives the name of a class of shapes in a picture.
type Legend struct{ Class, Name string }
