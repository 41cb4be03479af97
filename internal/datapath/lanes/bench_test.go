package lanes

import (
	"testing"

	"anesim/hw/regs"
)

// BenchmarkPlanes splits the channels of one group into planes, as each reader of weights does.
func BenchmarkPlanes(b *testing.B) {
	var g regs.Groups
	g.Common.ConvCfg = g.Common.ConvCfg.WithOCGSize(3)
	b.ReportAllocs()
	planes := 0
	for b.Loop() {
		planes = 0
		for rest := 1000; rest > 0; {
			width, n := Planes(rest, Most(&g, 576))
			rest -= width * n
			planes += n
		}
	}
	if planes == 0 {
		b.Fatal("no planes")
	}
}
