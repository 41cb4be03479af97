package layer

import "fmt"

// documentedStride is the longest stride of a transposed convolution that the documents allow.
const documentedStride = 2

// Legality returns why Apple's compiler would not take the layer for the engine according to the
// documents, or "". They are not tried: the layer is compiled and timed all the same. Table C.8 has
// two such rules for layers, and registers have others that [Layer.Validate] checks.
func (l *Layer) Legality() string {
	w := &l.Window
	switch {
	case l.Op == Deconvolution && max(w.Sy, w.Sx) > documentedStride:
		return fmt.Sprintf("the documents allow a transposed convolution strides of 1 and 2; this one has %dx%d (table C.8)", w.Sy, w.Sx)
	case l.Op == Convolution && l.Groups > 1 && l.Groups == l.In.C && l.Groups != l.Cout:
		return fmt.Sprintf("the documents allow a channel-wise convolution as many groups as output channels; this one has %d groups for %d (table C.8)", l.Groups, l.Cout)
	}
	return ""
}
