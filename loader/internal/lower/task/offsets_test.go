package task

import (
	"testing"

	"anesim/loader/layer"
)

// What a register holds of memory is written, and one more is refused.
func TestOffsetsInMemory(t *testing.T) {
	for n, ok := range map[int]bool{0: true, 64: true, layer.MaxSurface - 63: true, layer.MaxSurface + 1: false, -64: false} {
		x := New()
		x.setDMAWord(&x.g.TileDMASrc.Src1RowStride, n)
		if refused := x.err != nil; refused == ok || ok && x.g.TileDMASrc.Src1RowStride.Bytes() != uint32(n) {
			t.Errorf("%d: %v, %#x", n, x.err, x.g.TileDMASrc.Src1RowStride)
		}
	}
}
