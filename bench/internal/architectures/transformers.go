package architectures

import "math"

// addAttention adds attention of x, of shape [1, tokens, width], to itself. mask is added to the scores if
// it has a name.
func (p *milProgram) addAttention(x milTensor, heads int, mask milTensor) milTensor {
	tokens, width := x.shape[1], x.shape[2]
	split := func() milTensor {
		return p.transpose(p.reshape(p.linear(x, width), 1, tokens, heads, width/heads), 0, 2, 1, 3)
	}
	q, k, v := split(), split(), split()
	scores := p.scale(p.matmul(q, k, true), 1/math.Sqrt(float64(width/heads)))
	if mask.name != "" {
		scores = p.binary("add", scores, mask)
	}
	y := p.matmul(p.softmax(scores, -1), v, false)
	return p.linear(p.reshape(p.transpose(y, 0, 2, 1, 3), 1, tokens, width), width)
}

// addFeedForward adds two linear layers with a GELU in between.
func (p *milProgram) addFeedForward(x milTensor) milTensor {
	width := x.shape[len(x.shape)-1]
	return p.linear(p.gelu(p.linear(x, 4*width)), width)
}

// addBlock adds attention and two linear layers, each after a normalization and before the sum with its input.
func (p *milProgram) addBlock(x milTensor, heads int, mask milTensor) milTensor {
	x = p.binary("add", x, p.addAttention(p.layerNorm(x), heads, mask))
	return p.binary("add", x, p.addFeedForward(p.layerNorm(x)))
}

// Whisper returns the encoder of a Whisper model for 30 s of speech.
func Whisper(layers, width, heads int) string {
	var p milProgram
	x := p.newInput("mel", 1, 80, 3000)
	x = p.gelu(p.conv(x, width, 1, milWindow{3, 1, 1}))
	x = p.gelu(p.conv(x, width, 1, milWindow{3, 2, 1}))
	x = p.binary("add", p.transpose(x, 0, 2, 1), p.newWeight(1500, width))
	for range layers {
		x = p.addBlock(x, heads, milTensor{})
	}
	return p.text(p.layerNorm(x))
}

// GPT2 returns a GPT-2 without its embedding, which computes the logits of the last token.
func GPT2(layers, width, heads, tokens int) string {
	const vocabulary = 50257
	var p milProgram
	x := p.newInput("embedded", 1, tokens, width)
	mask := p.newWeight(1, 1, tokens, tokens)
	for range layers {
		x = p.addBlock(x, heads, mask)
	}
	return p.text(p.linear(p.slice(p.layerNorm(x), 1, tokens-1, tokens), vocabulary))
}

// DistilBERT returns a DistilBERT classifier without its embedding, in the form that its publisher made
// for the engine: channels come first and tokens last, linear layers are 1x1 convolutions, each head of the
// attention is a product of its own, and the keys are turned once for all heads.
func DistilBERT(tokens int) string {
	const width, heads, size = 768, 12, 64
	var p milProgram
	mask := p.newInput("mask", 1, tokens, 1, 1)
	linear := func(x milTensor, channels int) milTensor { return p.conv(x, channels, 1, milWindow{1, 1, 0}) }
	x := p.normalizeChannels(p.newInput("embedded", 1, width, 1, tokens))
	for range 6 {
		q, k, v := linear(x, width), p.transpose(linear(x, width), 0, 3, 2, 1), linear(x, width)
		var parts []milTensor
		for h := range heads {
			from, to := h*size, (h+1)*size
			scores := p.multiplyPlanes(p.slice(k, 3, from, to), p.slice(q, 1, from, to))
			scores = p.binary("add", p.scale(scores, 1/math.Sqrt(size)), mask)
			parts = append(parts, p.multiplyPlanes(p.slice(v, 1, from, to), p.softmax(scores, 1)))
		}
		x = p.normalizeChannels(p.binary("add", linear(p.concat(1, parts...), width), x))
		x = p.normalizeChannels(p.binary("add", linear(p.gelu(linear(x, 4*width)), width), x))
	}
	x = linear(p.unary("relu", linear(p.slice(x, 3, 0, 1), width)), 2)
	return p.text(x)
}

// LlamaMLP returns the given number of the three linear layers of a Llama 2 of 7 billion weights, as 1x1
// convolutions of one token.
func LlamaMLP(blocks int) string {
	a := newArchitecture("llama2_mlp", "x: {c: 4096, h: 1, w: 1}")
	for range blocks {
		x := a.last
		gate := a.addLayer("op: conv, from: %s, cout: 11008, k: 1, act: silu", x)
		up := a.addLayer("op: conv, from: %s, cout: 11008, k: 1", x)
		a.addLayer("op: mul, from: [%s, %s]", gate, up)
		a.addLayer("op: conv, cout: 4096, k: 1")
	}
	return a.b.String()
}

// DepthAnything returns Depth Anything small: a vision transformer with patches of 14x14 and a head that
// merges four of its results, of 48, 96, 192 and 384 channels, at growing sizes.
func DepthAnything(height, width int) string {
	const channels, heads, layers, features = 384, 6, 12, 64
	rows, columns := height/14, width/14
	tokens := rows*columns + 1
	var p milProgram
	x := p.conv(p.newInput("image", 1, 3, height, width), channels, 1, milWindow{14, 14, 0})
	x = p.transpose(p.reshape(x, 1, channels, rows*columns), 0, 2, 1)
	x = p.binary("add", p.concat(1, p.newWeight(1, 1, channels), x), p.newWeight(1, tokens, channels))
	var maps []milTensor
	for i := range layers {
		x = p.addBlock(x, heads, milTensor{})
		// The head reads the last four layers, as in the small model of the paper.
		if i < layers-4 {
			continue
		}
		y := p.transpose(p.slice(p.layerNorm(x), 1, 1, tokens), 0, 2, 1)
		k := len(maps)
		y = p.conv(p.reshape(y, 1, channels, rows, columns), 48<<k, 1, milWindow{1, 1, 0})
		switch k {
		// Of the four maps, two are enlarged, one keeps its size and one is halved.
		case 0, 1:
			y = p.addUpsampling(y, 4>>k)
		case 3:
			y = p.conv(y, channels, 1, milWindow{3, 2, 1})
		}
		maps = append(maps, p.conv(y, features, 1, milWindow{3, 1, 1}))
	}
	refine := func(v milTensor) milTensor {
		y := v
		for range 2 {
			y = p.conv(p.unary("relu", y), features, 1, milWindow{3, 1, 1})
		}
		return p.binary("add", v, y)
	}
	merged := maps[3]
	for k := 3; k >= 0; k-- {
		if k < 3 {
			merged = p.binary("add", merged, refine(maps[k]))
		}
		h, w := 8*rows>>k, 8*columns>>k
		merged = p.conv(p.resize(refine(merged), h, w), features, 1, milWindow{1, 1, 0})
	}
	y := p.resize(p.conv(merged, features/2, 1, milWindow{3, 1, 1}), height, width)
	y = p.unary("relu", p.conv(y, features/2, 1, milWindow{3, 1, 1}))
	return p.text(p.unary("relu", p.conv(y, 1, 1, milWindow{1, 1, 0})))
}

// Parakeet returns the encoder of a Parakeet TDT 0.6b for 30 s of speech: layers of two pairs of linear layers,
// attention with relative positions and a convolution. Its linear layers have palettes of 4 bits.
func Parakeet(layers int) string {
	const channels, heads, frames, size = 1024, 8, 375, 128
	var p milProgram
	linear := func(x milTensor, columns int) milTensor {
		return p.linearBy(p.newPalette(4, columns, x.shape[len(x.shape)-1]), x)
	}
	x := p.newInput("features", 1, 1, 3000, 128)
	x = p.unary("relu", p.conv(x, 256, 1, milWindow{3, 2, 1}))
	for range 2 {
		x = p.conv(p.conv(x, 256, 256, milWindow{3, 2, 1}), 256, 1, milWindow{1, 1, 0})
		x = p.unary("relu", x)
	}
	x = linear(p.reshape(p.transpose(x, 0, 2, 1, 3), 1, frames, 4096), channels)
	feedForward := func(x milTensor) milTensor {
		y := linear(p.unary("silu", linear(p.layerNorm(x), 4*channels)), channels)
		return p.binary("add", x, p.scale(y, 0.5))
	}
	for range layers {
		x = feedForward(x)
		y := p.layerNorm(x)
		split := func() milTensor {
			return p.transpose(p.reshape(linear(y, channels), 1, frames, heads, size), 0, 2, 1, 3)
		}
		q, k, v := split(), split(), split()
		// A query meets the key of each distance; the shift by a column a row puts distances in columns of keys.
		byDistance := p.matmul(p.binary("add", q, p.newWeight(1, heads, 1, size)), p.newWeight(1, heads, size, 2*frames-1), false)
		shifted := p.add("pad", []int{1, heads, frames, 2 * frames}, "constant_val = fp16(0x0p+0)", `mode = string("constant")`, "pad = "+milInts(0, 0, 0, 0, 0, 0, 1, 0), "x = "+byDistance.name)
		shifted = p.slice(p.reshape(shifted, 1, heads, 2*frames, frames), 2, 1, 2*frames)
		shifted = p.slice(p.reshape(shifted, 1, heads, frames, 2*frames-1), 3, 0, frames)
		byContent := p.matmul(p.scale(p.binary("add", q, p.newWeight(1, heads, 1, size)), 1/math.Sqrt(size)), k, true)
		scores := p.binary("add", byContent, p.scale(shifted, 1/math.Sqrt(size)))
		z := p.transpose(p.matmul(p.softmax(scores, -1), v, false), 0, 2, 1, 3)
		x = p.binary("add", x, linear(p.reshape(z, 1, frames, channels), channels))

		y = p.conv(p.transpose(p.layerNorm(x), 0, 2, 1), 2*channels, 1, milWindow{1, 1, 0})
		y = p.binary("mul", p.slice(y, 1, 0, channels), p.unary("sigmoid", p.slice(y, 1, channels, 2*channels)))
		y = p.unary("silu", p.conv(y, channels, channels, milWindow{9, 1, 4}))
		y = p.transpose(p.conv(y, channels, 1, milWindow{1, 1, 0}), 0, 2, 1)
		x = p.layerNorm(feedForward(p.binary("add", x, y)))
	}
	return p.text(linear(x, 640))
}
