package lower

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/family"
)

// A Lowered is a layer as a program's parts.
type Lowered struct {
	Text       []byte // __text, byte for byte what the builder writes
	FirstWords int    // words of the first descriptor
	Tasks      int
	Constants  []byte // nil where no register reads them
	Builder    *loader.Builder
}

// Lower makes a layer a program that runs: a container with ports named x, z (the
// second input; x0, x1, ... of Concat) and y. Errors are a *LimitError, an
// *UnsupportedError or a *LayerError.
func Lower(l layer.Layer, w layer.Weights) (*loader.Program, error) {
	c, err := Compile(l, w)
	if err != nil {
		return nil, err
	}
	return c.Builder.Build(l.Op.String())
}

// Compile lowers a layer to the parts of a program.
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

// Sized lowers a layer to a program without contents: descriptors, ports and the sizes of
// everything. It is linked and timed as the program of Lower is, with the same figures.
// Errors are those of Lower.
func Sized(l layer.Layer, w layer.Weights) (*loader.Program, error) {
	w.SizesOnly = true
	o, err := family.Lower(&l, &w)
	if err != nil {
		return nil, err
	}
	return o.Builder().Layout(l.Op.String())
}
