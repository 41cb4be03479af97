package architectures

import (
	"fmt"
	"strings"
)

// An architecture writes a network as a list of layers for loader/network. Batch
// normalization after a convolution becomes its bias; elsewhere it is a factor and an
// addend per channel. Weights are pseudo-random, because values do not affect the time.
type architecture struct {
	b    strings.Builder
	n    int
	last string
}

// newArchitecture returns an architecture with the given inputs, such as "x: {h: 77, w: 512}". Its
// first layer reads the first of them.
func newArchitecture(name string, inputs ...string) *architecture {
	a := new(architecture)
	a.last, _, _ = strings.Cut(inputs[0], ":")
	fmt.Fprintf(&a.b, "name: %s\ninputs:\n  %s\nlayers:\n", name, strings.Join(inputs, "\n  "))
	return a
}

// image returns the input of an architecture that is a square image of three colours.
func image(size int) string { return fmt.Sprintf("image: {c: 3, h: %d, w: %d}", size, size) }

// addLayer adds a layer and returns its name. The layer's keys are formatted as in fmt.Sprintf.
// Unless they contain "from", the layer reads the result of the previous layer.
func (a *architecture) addLayer(format string, v ...any) string {
	a.n++
	a.last = fmt.Sprintf("l%d", a.n)
	fmt.Fprintf(&a.b, "  - {name: %s, %s}\n", a.last, fmt.Sprintf(format, v...))
	return a.last
}

func (a *architecture) addClassifier(channels int) string {
	a.addLayer("op: reduce, kind: mean, axis: hw")
	a.addLayer("op: reshape, c: 1, h: 1, w: %d", channels)
	a.addLayer("op: linear, n: 1000, bias: true")
	return a.b.String()
}
