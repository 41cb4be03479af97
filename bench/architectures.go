package bench

import (
	"fmt"
	"strings"
)

// An architecture writes a network as the list of layers that loader/network reads.
// Batch normalisation behind a convolution is its bias; elsewhere it is a factor and an
// addend a channel. Weights are pseudo-random: no value matters to time.
type architecture struct {
	b    strings.Builder
	n    int
	last string
}

func newArchitecture(name string) *architecture {
	a := &architecture{last: "image"}
	fmt.Fprintf(&a.b, "name: %s\ninputs:\n  image: {c: 3, h: 224, w: 224}\nlayers:\n", name)
	return a
}

// layer adds a layer behind the one before, or behind what "from" in its keys names.
func (a *architecture) layer(format string, v ...any) string {
	a.n++
	a.last = fmt.Sprintf("l%d", a.n)
	fmt.Fprintf(&a.b, "  - {name: %s, %s}\n", a.last, fmt.Sprintf(format, v...))
	return a.last
}

func (a *architecture) classifier(channels int) string {
	a.layer("op: reduce, kind: mean, axis: hw")
	a.layer("op: reshape, c: 1, h: 1, w: %d", channels)
	a.layer("op: linear, n: 1000, bias: true")
	return a.b.String()
}

// mobileOne is a MobileOne with its branches merged, as it is deployed: widths of its five
// stages, and of how many blocks of the last two a gate of the channels (squeeze and
// excitation, a sixteenth as wide) ends each half.
func mobileOne(name string, widths [5]int, gated [2]int) string {
	a := newArchitecture(name)
	a.layer("op: conv, cout: %d, k: 3, stride: 2, pad: 1, bias: true, act: relu", widths[0])
	for stage, blocks := range [...]int{2, 8, 10, 1} {
		width := widths[stage+1]
		in := widths[stage]
		for i := range blocks {
			gate := stage >= 2 && i >= blocks-gated[stage-2]
			stride := 1
			if i == 0 {
				stride = 2
			} else {
				in = width
			}
			a.unit(fmt.Sprintf("groups: cin, k: 3, stride: %d, pad: 1", stride), in, gate)
			a.unit(fmt.Sprintf("cout: %d, k: 1", width), width, gate)
		}
	}
	return a.classifier(widths[4])
}

// unit is a convolution with a ReLU, between them the gate if there is one.
func (a *architecture) unit(keys string, channels int, gate bool) {
	if !gate {
		a.layer("op: conv, %s, bias: true, act: relu", keys)
		return
	}
	x := a.layer("op: conv, %s, bias: true", keys)
	a.layer("op: reduce, kind: mean, axis: hw")
	a.layer("op: conv, cout: %d, k: 1, bias: true, act: relu", channels/16)
	a.layer("op: conv, cout: %d, k: 1, bias: true", channels)
	g := a.layer("op: sigmoid")
	a.layer("op: mul, from: [%s, %s]", x, g)
	a.layer("op: relu")
}

// denseNet121 is DenseNet-121: each layer of a block reads all that went before it there.
func denseNet121() string {
	const growth, bottleneck = 32, 128
	a := newArchitecture("densenet121")
	a.layer("op: conv, cout: 64, k: 7, stride: 2, pad: 3, bias: true, act: relu")
	a.layer("op: pool, kind: max, k: 3, stride: 2, pad: 1")
	channels := 64
	blocks := [...]int{6, 12, 24, 16}
	for i, layers := range blocks {
		for range layers {
			all := a.last
			a.normalized()
			a.layer("op: conv, cout: %d, k: 1, bias: true, act: relu", bottleneck)
			next := a.layer("op: conv, cout: %d, k: 3, pad: 1", growth)
			a.layer("op: concat, from: [%s, %s]", all, next)
			channels += growth
		}
		a.normalized()
		if i < len(blocks)-1 {
			channels /= 2
			a.layer("op: conv, cout: %d, k: 1", channels)
			a.layer("op: pool, kind: avg, k: 2, stride: 2")
		}
	}
	return a.classifier(channels)
}

// normalized is a batch normalisation and a ReLU.
func (a *architecture) normalized() {
	a.layer("op: mul, second: constant")
	a.layer("op: add, second: constant")
	a.layer("op: relu")
}
