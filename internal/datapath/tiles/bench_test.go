package tiles

import (
	"testing"

	"anesim/hw/regs"
)

// BenchmarkPlan measures the plan of a task. The layers themselves are measured in one place, beside
// their peers: go test ./bench -run '^$' -bench Kernels/tiles.
func BenchmarkPlan(b *testing.B) {
	sparse := inner(128, 128, 3)
	sparse.kh, sparse.kw, sparse.sx, sparse.sy, sparse.packing = 3, 3, 2, 2, ZeroSkipping
	for _, tc := range []struct {
		name string
		g    *regs.Groups
	}{
		{"dense", inner(128, 128, 3).registers()},
		{"sparse", sparse.fill(false).packed(sparse.pack())},
	} {
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Plan(tc.g, AllTiles, m1)
			}
		})
	}
}
