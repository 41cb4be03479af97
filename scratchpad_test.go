package anesim_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/network/keys"
)

// Layers and networks are lowered for the chip's scratchpad: on a smaller one the values are
// the same and nothing faults, or the layer is refused with one that fits it.
func TestSmallerScratchpad(t *testing.T) {
	sizes := []float64{1 << 20, 256 << 10, 64 << 10, 40_000}
	refused := 0
	for _, spelled := range []string{
		"conv cin=32 h=24 w=24 cout=48 k=3 pad=same act=gelu", "conv cin=96 h=40 w=40 cout=32 k=3 stride=2", "deconv cin=16 h=9 w=9 cout=8 k=4 stride=2",
		"matmul m=200 k=300 n=160", "matmul m=64 k=256 n=96 rhs=runtime", "linear m=128 k=512 n=64 bias=true", "add c=64 h=40 w=40",
		"mul c=128 h=30 w=30 second=constant", "softmax c=8 h=64 w=96 axis=w", "softmax c=64 h=20 w=20 axis=c", "layernorm c=1 h=128 w=768 axis=w",
		"reduce c=64 h=32 w=32 kind=mean axis=hw", "transpose c=128 h=1 w=300", "pool c=32 h=32 w=32 k=2 stride=2", "tile c=2 h=4 w=32 reps=1x3x2x2", "gelu c=256 h=24 w=24",
		"mul c=256 h=1 w=1024", "log c=64 h=1 w=640", "conv cin=96 h=1 w=1500 cout=64 kh=1 kw=3 sx=2 pad=0,0,1,1", "matmul m=1 k=16384 n=16",
	} {
		words := strings.Fields(spelled)
		m, err := anesim.Layer(words[0], words[1:]...)
		if err != nil {
			t.Fatal(spelled, ": ", err)
		}
		whole, err := m.Run(t.Context(), scratchpad(2<<20))
		if err != nil {
			t.Fatal(spelled, ": ", err)
		}
		for _, bytes := range sizes {
			r, err := m.Run(t.Context(), scratchpad(bytes))
			if refusal := (*keys.RefusalError)(nil); errors.As(err, &refusal) && bytes <= 256<<10 {
				refused++
				if fits, err := anesim.Layer(words[0], slices.Concat(words[1:], refusal.Nearest)...); err == nil {
					if _, err := fits.Run(t.Context(), scratchpad(bytes)); err != nil {
						t.Errorf("%s with %g bytes: %v: %v", spelled, bytes, refusal, err)
					}
				}
				continue
			}
			if err != nil || len(r.Report.Faults) > 0 {
				t.Errorf("%s with %g bytes: %v, %v", spelled, bytes, err, r.Report.Faults)
				continue
			}
			if !slices.Equal(r.Outputs[0].Data, whole.Outputs[0].Data) {
				t.Errorf("%s: other values with %g bytes", spelled, bytes)
			}
		}
	}
	if refused == 0 {
		t.Error("every layer fits the smallest scratchpad")
	}
}

// Tensors that do not fit a smaller scratchpad go through memory: more bytes, later, the
// same values.
func TestNetworkOnASmallerScratchpad(t *testing.T) {
	const text = `
inputs: {x: {c: 64, h: 32, w: 32}}
layers:
- {name: a, op: conv, cout: 64, k: 3, pad: same, act: relu}
- {name: b, op: conv, cout: 128, k: 3, pad: same}
- {name: c, op: conv, cout: 64, k: 1, act: gelu}
- {name: d, op: add, from: [a, c]}
- {name: e, op: softmax, axis: c}
`
	m, err := anesim.Read("stack.yaml", strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	var whole *anesim.Result
	var bytes uint64
	var cycles clock.Cycles
	for _, size := range []float64{2 << 20, 512 << 10, 256 << 10, 128 << 10} {
		r, err := m.Run(t.Context(), scratchpad(size))
		if err != nil || r.Report == nil || len(r.Outputs) != 1 {
			t.Fatal(r, err)
		}
		moved := r.Report.DMA.Total()
		if whole == nil {
			whole = r
		} else if moved <= bytes || r.Report.Cycles <= cycles {
			t.Errorf("%g bytes move %d in %d cycles, more move %d in %d", size, moved, r.Report.Cycles, bytes, cycles)
		}
		bytes, cycles = moved, r.Report.Cycles
		if !slices.Equal(r.Outputs[0].Data, whole.Outputs[0].Data) {
			t.Errorf("other values with %g bytes", size)
		}
	}
}

// Tasks have as many output channels as an engine holds the coefficients of: less memory takes
// more tasks, more of it fewer, and the values stay.
func TestKernelMemory(t *testing.T) {
	layers := []string{"matmul m=200 k=1024 n=1024", "conv cin=512 h=16 w=16 cout=512 k=3 groups=2 pad=same", "conv cin=512 h=14 w=14 cout=512 k=3 pad=same", "matmul m=512 k=1024 n=768 act=gelu"}
	if testing.Short() {
		layers = layers[:1]
	}
	for _, spelled := range layers {
		words := strings.Fields(spelled)
		m, err := anesim.Layer(words[0], words[1:]...)
		if err != nil {
			t.Fatal(spelled, ": ", err)
		}
		tasks := 0
		var values []float16.Float16
		for _, size := range []float64{256 << 10, 64 << 10, 16 << 10} {
			o := scratchpad(2 << 20)
			o.Chip.KernelMemory.Value = size
			r, err := m.Run(t.Context(), o)
			if err != nil || len(r.Report.Faults) > 0 {
				t.Fatalf("%s with %g bytes: %v, %v", spelled, size, err, r.Report)
			}
			n := len(r.Report.Descriptors)
			if values == nil {
				values = r.Outputs[0].Data
			} else if n <= tasks || !slices.Equal(values, r.Outputs[0].Data) {
				t.Errorf("%s with %g bytes: %d tasks, %d with more of them, values alike: %t", spelled, size, n, tasks, slices.Equal(values, r.Outputs[0].Data))
			}
			tasks = n
		}
	}
}

// scratchpad returns options for a chip with an L2 of the given number of bytes.
func scratchpad(bytes float64) anesim.Options {
	c := hw.M1()
	c.L2Bytes.Value = bytes
	return anesim.Options{Chip: c, Values: true}
}
