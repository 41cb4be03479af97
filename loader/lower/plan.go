package lower

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/family"
)

// A Lowered holds the parts of the program of one layer.
type Lowered struct {
	Text       []byte // contents of __text, as the builder writes it
	FirstWords int    // number of words in the first descriptor
	Tasks      int
	Constants  []byte // nil if no register refers to them
	Builder    *loader.Builder
}

// Lower compiles a layer to a program that can run. Its container has the ports x and y, and z
// for a second input; the inputs of Concat are x0, x1 and so on. The error is a
// *layer.LimitError, a *layer.UnsupportedError or a *layer.LayerError.
func Lower(l layer.Layer, w layer.Weights) (*loader.Program, error) {
	c, err := Compile(l, w)
	if err != nil {
		return nil, err
	}
	return c.Builder.Build(l.Op.String())
}

// Compile compiles a layer to the parts of a program. Errors are those of [Lower].
func Compile(l layer.Layer, w layer.Weights) (*Lowered, error) {
	o, err := family.Lower(&l, &w)
	if err != nil {
		return nil, err
	}
	b := o.Builder()
	return &Lowered{
		Text: regs.EncodeChain(b.Chain), FirstWords: b.Chain[0].Words, Tasks: len(b.Chain),
		Constants: o.Constants.Data, Builder: b,
	}, nil
}

// Sized compiles a layer to a program without contents: descriptors, ports, and the sizes of all
// parts. Such a program can be linked and timed like that of [Lower], with the same results.
// Errors are those of [Lower].
func Sized(l layer.Layer, w layer.Weights) (*loader.Program, error) {
	w.SizesOnly = true
	o, err := family.Lower(&l, &w)
	if err != nil {
		return nil, err
	}
	return o.Builder().Layout(l.Op.String())
}
