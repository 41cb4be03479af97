package lower

import (
	"testing"

	"anesim/loader/internal/lower/family"
	"anesim/loader/internal/lower/place"
	"anesim/loader/layer"
)

// Which convolutions of a 2 MiB source take columns, and where their tiles stand: what
// the compiler does with the two that do and the four that do not.
func TestColumns(t *testing.T) {
	in := layer.Shape{N: 1, C: 256, H: 64, W: 64}
	for _, c := range []struct {
		w        layer.Window
		channels int
		source   place.Layout // zero of rows
		result   place.Layout
		rows     uint32 // a tile
	}{
		{layer.Same(3, 1, in), 32, place.Layout{Channel: 0x70, Row: 0x7030, Depth: 0x7000, Group: 0x7000},
			place.Layout{Base: 0x1c0c00, Channel: 0x40, Row: 0x820, Depth: 0x800, Group: 0x800}, 64},
		{layer.Same(3, 1, in), 224, place.Layout{}, place.Layout{Base: 0x108000}, 32},
		{layer.Valid(3, 1), 32, place.Layout{}, place.Layout{Base: 0x110000}, 32},
		{layer.Valid(3, 1), 224, place.Layout{}, place.Layout{Base: 0x1e0000}, 58},
		{layer.Same(3, 2, in), 64, place.Layout{}, place.Layout{Base: 0x1d0ae0}, 28},
		{layer.Same(3, 2, in), 192, place.Layout{Channel: 0x60, Row: 0x6010, Depth: 0x6000, Group: 0x6000},
			place.Layout{Base: 0x180400, Channel: 0x40, Row: 0x3010, Depth: 0x3000, Group: 0x3000}, 32},
	} {
		l := layer.Conv(in, 256, c.w)
		b, err := Compile(l, layer.Weights{SizesOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		p, err := family.Lower(&l, &layer.Weights{SizesOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, made := range p.Tasks {
			_, g := made.Registers()
			if int(g.Common.Cout.Cout()) != c.channels {
				continue
			}
			found = true
			if c.source.Row > 0 && made.First.At != c.source {
				t.Errorf("%+v, %d channels: source at %+v, want %+v", c.w, c.channels, made.First.At, c.source)
			}
			l2 := &g.L2
			result := place.Layout{Base: int(l2.ResultBase.Bytes()), Channel: int(l2.ResultChannelStride.Bytes()), Row: int(l2.ResultRowStride.Bytes()),
				Depth: int(l2.ResultDepthStride.Bytes()), Group: int(l2.ResultGroupStride.Bytes())}
			if result != c.result || g.Common.TileCfg.TileHeight() != c.rows {
				t.Errorf("%+v, %d channels: %d rows, result at %+v, want %d, %+v", c.w, c.channels,
					g.Common.TileCfg.TileHeight(), result, c.rows, c.result)
			}
		}
		if !found || b.Tasks != 2 {
			t.Errorf("%+v: %d tasks, none of %d channels", c.w, b.Tasks, c.channels)
		}
	}
}
