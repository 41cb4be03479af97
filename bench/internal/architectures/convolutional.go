package architectures

import "fmt"

// MobileOne returns the layers of a MobileOne network as it is deployed, with merged branches.
// The numbers of channels of its five stages are in widths. The last two stages end with blocks
// that have squeeze-and-excitation gates; their numbers are in gated.
func MobileOne(name string, widths [5]int, gated [2]int) string {
	a := newArchitecture(name, image(224))
	a.addLayer("op: conv, cout: %d, k: 3, stride: 2, pad: 1, bias: true, act: relu", widths[0])
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
			a.addUnit(fmt.Sprintf("groups: cin, k: 3, stride: %d, pad: 1", stride), in, gate)
			a.addUnit(fmt.Sprintf("cout: %d, k: 1", width), width, gate)
		}
	}
	return a.addClassifier(widths[4])
}

// addUnit adds a convolution with the given keys, followed by a ReLU. If gate is true, a
// squeeze-and-excitation gate over the given number of channels comes between them.
func (a *architecture) addUnit(keys string, channels int, gate bool) {
	if !gate {
		a.addLayer("op: conv, %s, bias: true, act: relu", keys)
		return
	}
	x := a.addLayer("op: conv, %s, bias: true", keys)
	a.addLayer("op: reduce, kind: mean, axis: hw")
	a.addLayer("op: conv, cout: %d, k: 1, bias: true, act: relu", channels/16)
	a.addLayer("op: conv, cout: %d, k: 1, bias: true", channels)
	g := a.addLayer("op: sigmoid")
	a.addLayer("op: mul, from: [%s, %s]", x, g)
	a.addLayer("op: relu")
}

// ResNet18 returns the layers of ResNet-18: four stages of two blocks of two convolutions each.
func ResNet18() string {
	a := newArchitecture("resnet18", image(224))
	a.addLayer("op: conv, cout: 64, k: 7, stride: 2, pad: 3, bias: true, act: relu")
	a.addLayer("op: pool, kind: max, k: 3, stride: 2, pad: 1")
	for stage, width := range [...]int{64, 128, 256, 512} {
		for block := range 2 {
			in, stride := a.last, 1
			if stage > 0 && block == 0 {
				stride = 2
			}
			a.addLayer("op: conv, cout: %d, k: 3, stride: %d, pad: 1, bias: true, act: relu", width, stride)
			x := a.addLayer("op: conv, cout: %d, k: 3, pad: 1, bias: true", width)
			if stride == 2 {
				in = a.addLayer("op: conv, from: [%s], cout: %d, k: 1, stride: 2, bias: true", in, width)
			}
			a.addLayer("op: add, from: [%s, %s], act: relu", x, in)
		}
	}
	return a.addClassifier(512)
}

// ResNet50 returns the layers of ResNet-50 version 1.5, which has the stride in the 3x3
// convolution.
func ResNet50() string {
	a := newArchitecture("resnet50", image(224))
	a.addLayer("op: conv, cout: 64, k: 7, stride: 2, pad: 3, bias: true, act: relu")
	a.addLayer("op: pool, kind: max, k: 3, stride: 2, pad: 1")
	for stage, blocks := range [...]int{3, 4, 6, 3} {
		width := 64 << stage
		for i := range blocks {
			in, stride := a.last, 1
			if i == 0 && stage > 0 {
				stride = 2
			}
			shortcut := in
			if i == 0 {
				shortcut = a.addLayer("op: conv, from: %s, cout: %d, k: 1, stride: %d, bias: true", in, 4*width, stride)
			}
			a.addLayer("op: conv, from: %s, cout: %d, k: 1, bias: true, act: relu", in, width)
			a.addLayer("op: conv, cout: %d, k: 3, stride: %d, pad: 1, bias: true, act: relu", width, stride)
			out := a.addLayer("op: conv, cout: %d, k: 1, bias: true", 4*width)
			a.addLayer("op: add, from: [%s, %s]", out, shortcut)
			a.addLayer("op: relu")
		}
	}
	return a.addClassifier(2048)
}

// DenseNet121 returns the layers of DenseNet-121. Each layer of a block reads all earlier
// outputs of the block.
func DenseNet121() string {
	const growth, bottleneck = 32, 128
	a := newArchitecture("densenet121", image(224))
	a.addLayer("op: conv, cout: 64, k: 7, stride: 2, pad: 3, bias: true, act: relu")
	a.addLayer("op: pool, kind: max, k: 3, stride: 2, pad: 1")
	channels := 64
	blocks := [...]int{6, 12, 24, 16}
	for i, layers := range blocks {
		for range layers {
			all := a.last
			a.addNormalization()
			a.addLayer("op: conv, cout: %d, k: 1, bias: true, act: relu", bottleneck)
			next := a.addLayer("op: conv, cout: %d, k: 3, pad: 1", growth)
			a.addLayer("op: concat, from: [%s, %s]", all, next)
			channels += growth
		}
		a.addNormalization()
		if i < len(blocks)-1 {
			channels /= 2
			a.addLayer("op: conv, cout: %d, k: 1", channels)
			a.addLayer("op: pool, kind: avg, k: 2, stride: 2")
		}
	}
	return a.addClassifier(channels)
}

// addNormalization adds a batch normalization, as a multiplication and an addition with a constant
// per channel, followed by a ReLU.
func (a *architecture) addNormalization() {
	a.addLayer("op: mul, second: constant")
	a.addLayer("op: add, second: constant")
	a.addLayer("op: relu")
}
