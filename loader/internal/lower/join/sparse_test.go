package join

import (
	"encoding/binary"
	"testing"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/family"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// numberedHalves returns n nonzero values, most of them different.
func numberedHalves(n int) []float16.Float16 {
	v := make([]float16.Float16, n)
	for i := range v {
		v[i] = float16.Float16(0x2000 + i%0x1800)
	}
	return v
}

// Zero-skipping weights of a depthwise convolution take one plane for each channel. Planes begin
// at multiples of 64 bytes with the size of their body: 18 bytes of taps and two bytes of masks
// for each phase.
func TestStridedDepthwisePlanes(t *testing.T) {
	for _, channels := range []int{5, 16, 40, 256} {
		in := layer.Shape{N: 1, C: channels, H: 10, W: 10}
		l := layer.Depthwise(in, layer.Same(3, 2, in))
		w := layer.Weights{Filter: numberedHalves(channels * 9)}
		p, err := family.Lower(&l, &w)
		if err != nil {
			t.Fatal(err)
		}
		_, g := p.Tasks[0].Registers()
		if !g.NE.KernelCfg.Sparse() {
			t.Errorf("%d channels: dense", channels)
		}
		if got, want := len(p.Constants.Data), 64*channels; got != want {
			t.Errorf("%d channels take %d bytes, want %d", channels, got, want)
			continue
		}
		for at := 0; at < len(p.Constants.Data); at += 64 {
			if n := binary.LittleEndian.Uint16(p.Constants.Data[at:]); n != 26 {
				t.Errorf("%d channels: a body of %d bytes at %#x, want 26", channels, n, at)
			}
		}
		lanes := 0
		for _, d := range g.KernelDMASrc.CoeffDMAConfig {
			if d.En() {
				lanes++
			}
		}
		if want := min(task.Engines, channels); lanes != want {
			t.Errorf("%d channels: %d lanes, want %d", channels, lanes, want)
		}
		sizes := w
		sizes.SizesOnly = true
		q, err := family.Lower(&l, &sizes)
		if err != nil {
			t.Fatal(err)
		}
		if _, other := q.Tasks[0].Registers(); other.KernelDMASrc != g.KernelDMASrc {
			t.Errorf("%d channels: lanes differ if only sizes are computed", channels)
		}
		if op := g.NE.MACCfg.OpMode(); op != regs.MultiplyAccumulate {
			t.Errorf("%d channels: %v", channels, op)
		}
	}
}
