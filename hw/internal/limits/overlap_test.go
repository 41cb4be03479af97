package limits

import (
	"strings"
	"testing"

	"anesim/hw/regs"
)

// Values of a tile whose rows overlap in L2 are not claimed.
func TestRowsThatOverlap(t *testing.T) {
	for _, tc := range []struct {
		what   string
		change func(*regs.Operand)
		known  bool
	}{
		{"whole rows", func(*regs.Operand) {}, true},
		{"rows in slices", func(o *regs.Operand) { o.Tile.Channel = 64 }, false},
		{"rows of one channel", func(o *regs.Operand) { o.Tile.Row, o.Shape.Channels, o.Shape.Height = 64, 1, 3 }, false},
		{"groups", func(o *regs.Operand) { o.Tile.Group, o.Shape.Groups = 64, 2 }, false},
		{"one channel", func(o *regs.Operand) { o.Tile.Channel, o.Shape.Channels = 64, 1 }, true},
		{"rows that pass through", func(o *regs.Operand) { o.Tile.Channel, o.L2 = 64, regs.Streamed }, true},
		{"one row for all", func(o *regs.Operand) { o.Tile.Channel = 0 }, true},
		{"bytes", func(o *regs.Operand) { o.Tile.Channel, o.Tile.Element = 64, 1 }, true},
	} {
		o := regs.Operand{Role: regs.SecondSource, Used: true, L2: regs.Resident}
		o.Shape = regs.Shape{Groups: 1, Channels: 4, Height: 1, Width: 64}
		o.Tile.Channel = 128
		tc.change(&o)
		l := findOverlap(&o)
		if (l == nil) != tc.known || l != nil && !strings.Contains(l.What, "source 2 has overlapping rows in L2: rows have 128 bytes and a stride of 64 bytes") {
			t.Errorf("%s: %v", tc.what, l)
		}
	}
}
