package architectures

import (
	"fmt"
	"strings"
)

// addConv adds a convolution with the given keys and a bias, with zeros that keep the size of the
// image where the stride is 1.
func (a *architecture) addConv(kernel int, format string, v ...any) string {
	return a.addLayer("op: conv, k: %d, pad: %d, bias: true, %s", kernel, (kernel-1)/2, fmt.Sprintf(format, v...))
}

// addDepthwise adds a convolution of each channel by itself.
func (a *architecture) addDepthwise(kernel, stride int) string {
	return a.addConv(kernel, "groups: cin, stride: %d", stride)
}

// addGate adds a squeeze-and-excitation gate to the given number of channels.
func (a *architecture) addGate(channels, squeezed int) {
	x := a.last
	a.addLayer("op: reduce, kind: mean, axis: hw")
	a.addConv(1, "cout: %d, act: relu", squeezed)
	a.addConv(1, "cout: %d, act: sigmoid", channels)
	a.addLayer("op: mul, from: [%s, %s]", x, a.last)
}

// addMixer adds two 1x1 convolutions of the last result with a GELU in between, and their sum with x.
func (a *architecture) addMixer(x string, channels, hidden int) {
	a.addConv(1, "cout: %d", hidden)
	a.addLayer("op: gelu")
	y := a.addConv(1, "cout: %d", channels)
	a.addLayer("op: add, from: [%s, %s]", x, y)
}

// addMeanClassifier adds the mean of each channel and a classifier for 1000 classes, as a 1x1
// convolution.
func (a *architecture) addMeanClassifier() string {
	a.addLayer("op: reduce, kind: mean, axis: hw")
	a.addConv(1, "cout: 1000")
	return a.b.String()
}

// RepViT returns the layers of a RepViT network with merged branches. A stage has a number of
// channels and a string with one character per block, which is 1 if the block has a gate.
func RepViT(name string, widths [4]int, gates [4]string) string {
	a := newArchitecture(name, image(224))
	a.addConv(3, "cout: %d, stride: 2, act: gelu", widths[0]/2)
	a.addConv(3, "cout: %d, stride: 2", widths[0])
	in := widths[0]
	for stage, width := range widths {
		for block, gate := range gates[stage] {
			first := stage > 0 && block == 0
			stride := 1
			if first {
				stride = 2
			}
			a.addDepthwise(3, stride)
			if gate == '1' {
				a.addGate(in, repViTSqueezed(in))
			}
			if first {
				a.addConv(1, "cout: %d", width)
				in = width
			}
			a.addMixer(a.last, width, 2*width)
		}
	}
	return a.addMeanClassifier()
}

// repViTSqueezed returns the number of channels in a gate: a quarter of the gated ones, as the
// nearest multiple of 8 that is at least nine tenths of it.
func repViTSqueezed(channels int) int {
	n := max(8, (channels/4+4)/8*8)
	if 10*n < 9*channels/4 {
		n += 8
	}
	return n
}

// RepNeXt returns the layers of a RepNeXt network with merged branches. A block splits its
// channels into quarters, of which three pass through depthwise windows.
func RepNeXt(name string, widths, blocks [4]int) string {
	a := newArchitecture(name, image(224))
	a.addConv(3, "cout: %d, stride: 2, act: gelu", widths[0]/2)
	a.addConv(3, "cout: %d, stride: 2", widths[0])
	for stage, width := range widths {
		if stage > 0 {
			x := a.last
			small := a.addLayer("op: conv, from: %s, k: 3, pad: 1, stride: 2, groups: cin, bias: true", x)
			large := a.addLayer("op: conv, from: %s, k: 7, pad: 3, stride: 2, groups: cin, bias: true", x)
			a.addMixer(a.addLayer("op: concat, from: [%s, %s]", small, large), width, 2*width)
		}
		for range blocks[stage] {
			x, quarter := a.last, width/4
			var parts [4]string
			for i := range parts {
				parts[i] = a.addLayer("op: slice, from: %s, axis: c, begin: %d, size: %d", x, i*quarter, quarter)
			}
			parts[1] = a.addLayer("op: conv, from: %s, k: 3, pad: 1, groups: cin, bias: true", parts[1])
			parts[2] = a.addLayer("op: conv, from: %s, k: 7, pad: 3, groups: cin, bias: true", parts[2])
			a.addLayer("op: conv, from: %s, kh: 1, kw: 11, pad: same, groups: cin, bias: true", parts[3])
			parts[3] = a.addLayer("op: conv, kh: 11, kw: 1, pad: same, groups: cin, bias: true")
			a.addLayer("op: concat, from: [%s]", strings.Join(parts[:], ", "))
			a.addMixer(x, width, 2*width)
		}
	}
	return a.addMeanClassifier()
}

// FastViT returns the layers of a FastViT network of four convolutional stages with merged
// branches. Its blocks widen the channels by the factor widen between their 1x1 convolutions.
func FastViT(name string, widths, blocks [4]int, widen int) string {
	a := newArchitecture(name, image(256))
	a.addConv(3, "cout: %d, stride: 2, act: gelu", widths[0])
	a.addConv(3, "groups: cin, stride: 2, act: gelu")
	a.addConv(1, "cout: %d, act: gelu", widths[0])
	for stage, width := range widths {
		if stage > 0 {
			a.addConv(7, "cout: %d, groups: %d, stride: 2", width, widths[stage-1])
			a.addConv(1, "cout: %d, act: gelu", width)
		}
		for range blocks[stage] {
			x := a.addDepthwise(3, 1)
			a.addDepthwise(7, 1)
			a.addMixer(x, width, widen*width)
		}
	}
	last := widths[3]
	a.addConv(3, "cout: %d, groups: %d", 2*last, last)
	a.addGate(2*last, 2*last/16)
	a.addLayer("op: gelu")
	return a.addMeanClassifier()
}

// EfficientFormer returns the layers of an EfficientFormer. Its blocks mix pixels by an average
// of their neighbors, and the given number of last blocks by attention.
func EfficientFormer(name string, widths, blocks [4]int, attention int) string {
	const tokens = 7 * 7
	// The addends to the scores of a head are learned constants; as an input they cost as many bytes.
	a := newArchitecture(name, image(224), fmt.Sprintf("bias: {c: 8, h: %d, w: %d}", tokens, tokens))
	a.addLayer("op: conv, from: image, k: 3, pad: 1, bias: true, cout: %d, stride: 2, act: relu", widths[0]/2)
	a.addConv(3, "cout: %d, stride: 2, act: relu", widths[0])
	for stage, width := range widths {
		if stage > 0 {
			a.addConv(3, "cout: %d, stride: 2", width)
		}
		pools := blocks[stage]
		if stage == 3 {
			pools -= attention
		}
		for range pools {
			x := a.last
			mean := a.addLayer("op: pool, kind: avg, k: 3, stride: 1, pad: 1")
			a.addLayer("op: sub, from: [%s, %s]", mean, x)
			a.addLayer("op: mul, second: constant")
			y := a.addLayer("op: add, from: [%s, %s]", x, a.last)
			a.addMixer(y, width, 4*width)
		}
	}
	last := widths[3]
	a.addLayer("op: reshape, c: 1, h: %d, w: %d", last, tokens)
	a.addLayer("op: transpose, perm: cwh")
	for range attention {
		a.addEncoderBlock("bias", tokens, last, 8, 32, 128)
	}
	a.addLayer("op: layernorm, axis: w")
	a.addLayer("op: reduce, kind: mean, axis: h")
	a.addLayer("op: linear, n: 1000, bias: true")
	return a.b.String()
}

// CLIPText returns the layers of a CLIP text encoder without its embedding: blocks of
// attention with a mask and of two linear layers, on 77 tokens.
func CLIPText(name string, width, heads, blocks int) string {
	const tokens = 77
	a := newArchitecture(name, fmt.Sprintf("x: {h: %d, w: %d}", tokens, width), fmt.Sprintf("mask: {h: %d, w: %d}", tokens, tokens))
	for range blocks {
		a.addEncoderBlock("mask", tokens, width, heads, width/heads, width/heads)
	}
	a.addLayer("op: layernorm, axis: w")
	a.addLayer("op: slice, axis: h, begin: %d, size: 1", tokens-1)
	a.addLayer("op: linear, n: 512")
	return a.b.String()
}

// addEncoderBlock adds attention as in addAttention and two linear layers, each after a
// normalization of the rows and before the sum with its input.
func (a *architecture) addEncoderBlock(bias string, tokens, width, heads, query, value int) {
	x := a.last
	norm := a.addLayer("op: layernorm, axis: w")
	a.addAttention(norm, bias, tokens, width, heads, query, value)
	x = a.addLayer("op: add, from: [%s, %s]", a.last, x)
	a.addLayer("op: layernorm, axis: w")
	a.addLayer("op: linear, n: %d, bias: true", 4*width)
	a.addLayer("op: gelu")
	a.addLayer("op: linear, n: %d, bias: true", width)
	a.addLayer("op: add, from: [%s, %s]", a.last, x)
}

// addAttention adds attention of rows x to themselves. An element of bias is added to each score.
// A head has the given numbers of elements for a query or key, and for a value.
func (a *architecture) addAttention(x, bias string, tokens, width, heads, query, value int) {
	split := func(size int, perm string) string {
		a.addLayer("op: linear, from: %s, n: %d, bias: true", x, heads*size)
		a.addLayer("op: reshape, c: %d, h: %d, w: %d", tokens, heads, size)
		return a.addLayer("op: transpose, perm: %s", perm)
	}
	q, k, v := split(query, "hcw"), split(query, "hwc"), split(value, "hcw")
	scores := a.addLayer("op: matmul, from: [%s, %s]", q, k)
	a.addLayer("op: add, from: [%s, %s]", scores, bias)
	p := a.addLayer("op: softmax, axis: w")
	a.addLayer("op: matmul, from: [%s, %s]", p, v)
	a.addLayer("op: transpose, perm: hcw")
	a.addLayer("op: reshape, c: 1, h: %d, w: %d", tokens, heads*value)
	a.addLayer("op: linear, n: %d, bias: true", width)
}
