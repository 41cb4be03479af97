package lower

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/family"
	"anesim/loader/layer"
)

// A Lowered holds the parts of a compiled program that computes one layer.
type Lowered struct {
	Text       []byte // contents of __text, as the builder writes it
	FirstWords int    // number of words in the first descriptor
	Tasks      int
	Constants  []byte // nil if no register refers to them
	Builder    *loader.Builder
}

// Lower compiles layer l with weights w to a program that can run. Missing weights count as zeros.
// The input port of the program is called x, and the output port y. A second operand that is known
// only at run time has an input port z. The inputs of Concat are called x0, x1 and so on. The error
// is a *layer.LimitError, a *layer.UnsupportedError or a *layer.LayerError.
func Lower(l layer.Layer, w layer.Weights) (*loader.Program, error) {
	c, err := Compile(l, w)
	if err != nil {
		return nil, err
	}
	return c.Builder.Build(l.Op.String())
}

// Compile compiles layer l with weights w like [Lower], but returns the parts of the program, such
// as descriptors and constants, without linking them.
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

// Check returns the error that [Lower] would return for layer l with weights w, or nil if there is
// none. It does not link the descriptors, which takes more than half of the time of [Sized] for a
// layer of many descriptors.
func Check(l layer.Layer, w layer.Weights) error {
	w.SizesOnly = true
	_, err := family.Lower(&l, &w)
	return err
}

// Sized compiles layer l with weights w to a program that can be timed but not run. It has
// descriptors, ports and the sizes of all parts, but no constants. Its times equal those of the
// program that [Lower] returns.
func Sized(l layer.Layer, w layer.Weights) (*loader.Program, error) {
	w.SizesOnly = true
	o, err := family.Lower(&l, &w)
	if err != nil {
		return nil, err
	}
	return o.Builder().Layout(l.Op.String())
}
