package anesim_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"anesim"
	"anesim/internal/samples"
	"anesim/loader"
	"anesim/loader/params"
)

// ranges are layers that one program serves at every size of a range.
var ranges = []struct {
	layer string
	key   string
	sizes loader.Range
	want  []string // fields that must follow the size
}{
	// The length of a reduction whose right side is made at run time: what the kernel DMA
	// fetches, where each lane's coefficients stand, and the strides of both sources.
	{"matmul m=16 n=32 rhs=runtime", "k", loader.Range{Start: 32, Stop: 128, Step: 32},
		[]string{"KernelDMASrc.CoeffBaseAddr", "KernelDMASrc.CoeffBfrSize", "Common.Cin", "TileDMASrc.Src1RowStride", "L2.ResultBase"}},
	{"matmul m=16 k=32 rhs=runtime", "n", loader.Range{Start: 32, Stop: 128, Step: 32},
		[]string{"Common.InDim.Win", "TileDMASrc.Src1PlaneStride", "TileDMADst.DstPlaneStride"}},
	// A batch as groups of planes.
	{"relu c=8 h=4 w=32", "n", loader.Range{Start: 1, Stop: 4, Step: 1}, []string{"Common.GroupConvCfg.NumGroups"}},
	{"conv cin=8 w=32 cout=16 k=3 pad=same", "h", loader.Range{Start: 4, Stop: 16, Step: 1},
		[]string{"Common.InDim.Hin", "Common.OutDim.Hout", "Common.TileCfg.TileHeight", "TileDMASrc.Src1PlaneStride", "TileDMADst.DstPlaneStride"}},
	{"linear k=64 n=32", "m", loader.Range{Start: 5, Stop: 8, Step: 1}, []string{"TileDMASrc.Src1RowStride", "Common.InDim.Win", "TileDMADst.DstRowStride"}},
}

// One program serves a range of shapes: at every size it leaves what the layer of that size
// leaves, in as many cycles.
func TestOneProgramForARange(t *testing.T) {
	for _, x := range ranges {
		t.Run(x.layer+" "+x.key, func(t *testing.T) {
			words := strings.Fields(x.layer)
			m, set, err := anesim.LayerOver(t.Context(), x.key, x.sizes, words[0], words[1:]...)
			if err != nil {
				t.Fatal(err)
			}
			text := string(set.Append(nil))
			for _, field := range x.want {
				if !strings.Contains(text, field) {
					t.Errorf("%s does not follow the size:\n%s", field, text)
				}
			}
			read, err := params.Parse([]byte(text))
			if err != nil || !bytes.Equal(read.Append(nil), []byte(text)) {
				t.Fatalf("%v:\n%s", err, text)
			}
			l, err := values(t).Load(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			for v := x.sizes.Stop; v >= x.sizes.Start && v <= x.sizes.Stop; v -= x.sizes.Step {
				if err := l.Bind(x.key, v); err != nil {
					t.Fatal(err)
				}
				one, err := anesim.Layer(words[0], append(slices.Clone(words[1:]), fmt.Sprintf("%s=%d", x.key, v))...)
				if err != nil {
					t.Fatal(err)
				}
				want := runOne(t, one)
				got := call(t, l)
				if g, w := checksums(got), checksums(want); g != w || got.Report.Cycles != want.Report.Cycles || got.Report.DMA != want.Report.DMA {
					t.Errorf("%s=%d: %d cycles, %+v\n%sthe layer alone: %d cycles, %+v\n%s", x.key, v, got.Report.Cycles, got.Report.DMA, g, want.Report.Cycles, want.Report.DMA, w)
				}
			}
			for _, v := range []uint64{0, x.sizes.Stop + 1, 1 << 50} {
				var e *loader.RelocError
				if err := l.Bind(x.key, v); !errors.As(err, &e) {
					t.Errorf("%s=%d: %v", x.key, v, err)
				}
			}
		})
	}
}

func runOne(t *testing.T, m *anesim.Model) *anesim.Result {
	t.Helper()
	res, err := m.Run(t.Context(), anesim.Options{Values: true})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestRangesThatHaveNoProgram(t *testing.T) {
	var d *params.DeriveError
	for _, x := range []struct {
		layer, key string
		r          loader.Range
		want       string
	}{
		{"conv h=8 w=8 cout=16 k=1", "cin", loader.Range{Start: 16, Stop: 64, Step: 16}, ""},
		{"add c=8 w=32", "h", loader.Range{Start: 2, Stop: 12, Step: 2}, "at h=2 Common.PlanarPatch.Log2H of descriptor 0 is 1, but 3 at h=12, which is not linear"},
		{"relu c=8 w=32", "h", loader.Range{Start: 4, Stop: 4, Step: 1}, "the range is invalid"},
		{"relu c=8 w=32", "h", loader.Range{Start: 1, Stop: 1 << 20, Step: 1}, "more than 1024 values"},
		{"conv cin=8 h=8 w=32 cout=16 k=3", "n", loader.Range{Start: 1, Stop: 3, Step: 1}, "descriptors"},
	} {
		words := strings.Fields(x.layer)
		if _, _, err := anesim.LayerOver(t.Context(), x.key, x.r, words[0], words[1:]...); !errors.As(err, &d) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s over %s: %v", x.layer, x.key, err)
		}
	}
	if _, err := samples.Read(t, samples.Residual).WithParameters(new(params.Set)); err == nil {
		t.Error("a network took run-time parameters")
	}
}
