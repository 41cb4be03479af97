package lower

import (
	"testing"

	"anesim/loader/layer"
)

// Which convolutions of a 2 MiB source take columns, and where their tiles stand: what
// the compiler does with the two that do and the four that do not.
func TestColumns(t *testing.T) {
	in := layer.Shape{N: 1, C: 256, H: 64, W: 64}
	for _, c := range []struct {
		w        layer.Window
		channels int
		source   layout // zero of rows
		result   layout
		rows     uint32 // a tile
	}{
		{layer.Same(3, 1, in), 32, layout{channel: 0x70, row: 0x7030, depth: 0x7000, group: 0x7000},
			layout{base: 0x1c0c00, channel: 0x40, row: 0x820, depth: 0x800, group: 0x800}, 64},
		{layer.Same(3, 1, in), 224, layout{}, layout{base: 0x108000}, 32},
		{layer.Valid(3, 1), 32, layout{}, layout{base: 0x110000}, 32},
		{layer.Valid(3, 1), 224, layout{}, layout{base: 0x1e0000}, 58},
		{layer.Same(3, 2, in), 64, layout{}, layout{base: 0x1d0ae0}, 28},
		{layer.Same(3, 2, in), 192, layout{channel: 0x60, row: 0x6010, depth: 0x6000, group: 0x6000},
			layout{base: 0x180400, channel: 0x40, row: 0x3010, depth: 0x3000, group: 0x3000}, 32},
	} {
		l := layer.Conv(in, 256, c.w)
		b, err := Compile(l, layer.Weights{SizesOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		p, err := newPlan(&l, &layer.Weights{SizesOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, task := range p.tasks {
			g := &task.g
			if int(g.Common.Cout.Cout()) != c.channels {
				continue
			}
			found = true
			if c.source.row > 0 && task.first.at != c.source {
				t.Errorf("%+v, %d channels: source at %+v, want %+v", c.w, c.channels, task.first.at, c.source)
			}
			l2 := &g.L2
			result := layout{int(l2.ResultBase.Bytes()), int(l2.ResultChannelStride.Bytes()), int(l2.ResultRowStride.Bytes()),
				int(l2.ResultDepthStride.Bytes()), int(l2.ResultGroupStride.Bytes())}
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
