package lower

import (
	"bytes"
	"testing"

	"anesim/hw/mac"
	"anesim/hw/regs"
)

// The sections of tables that are on record: a block of 128 bytes for each engine of the
// task that looks up, with the table in the first and zeros behind it.
func TestTableSections(t *testing.T) {
	exp, reciprocal := fitted(mac.Exp), fitted(mac.Reciprocal)
	tables := Weights{Table: exp, Reciprocal: reciprocal}
	for _, c := range []struct {
		layer  Layer
		blocks int  // of the table of 2^x, or of the layer's own
		sum    bool // the table of 1/x behind them
	}{
		{Reduction(Softmax, Shape{1, 1, 1, 64}, AxisC), 1, true},
		{Reduction(Softmax, Shape{1, 64, 1, 1}, AxisC), 1, true}, // its channels are columns
		{Reduction(Softmax, Shape{1, 8, 1, 64}, AxisC), 8, true},
		{Reduction(Softmax, Shape{1, 64, 8, 8}, AxisC), 16, true},
		{Reduction(Softmax, Shape{1, 32, 4, 4}, AxisH), 4, true},
		{Reduction(Softmax, Shape{1, 64, 8, 8}, AxisH), 8, true},
		{Reduction(Softmax, Shape{1, 128, 16, 16}, AxisH), 16, true},
		{Reduction(Softmax, Shape{1, 1, 256, 256}, AxisW), 1, false},
		{Reduction(Softmax, Shape{1, 8, 1, 128}, AxisW), 8, false},
		{Reduction(Softmax, Shape{1, 12, 64, 64}, AxisW), 12, false},
		{Reduction(Softmax, Shape{1, 64, 8, 8}, AxisW), 16, false},
		{Unary(Exp, Shape{1, 64, 1, 1}), 16, false},
		{Unary(Exp, Shape{1, 1, 64, 256}), 1, false},
	} {
		got, err := Compile(c.layer, tables)
		if err != nil {
			t.Errorf("%+v: %v", c.layer, err)
			continue
		}
		want := append(bytes.Clone(exp), make([]byte, (c.blocks-1)*tableBytes)...)
		if c.sum {
			want = append(want, reciprocal...)
		}
		if !bytes.Equal(got.Constants, want) {
			t.Errorf("%v over %#x of %v: a section of %d bytes, want %d", c.layer.Op, c.layer.Axes, c.layer.In, len(got.Constants), len(want))
		}
		for _, d := range got.Builder.Chain {
			f, g := new(regs.File), new(regs.Groups)
			if err := d.Apply(f); err != nil {
				t.Fatal(err)
			}
			f.Snapshot(g)
			if g.Planar() || g.NE.MACCfg.NonlinearMode() != regs.ActivationTable {
				continue
			}
			on := 0
			for _, lane := range g.KernelDMASrc.CoeffDMAConfig {
				on += count(lane.En())
			}
			if want := min(16, int(g.Common.Cout.Cout())); on != want {
				t.Errorf("%v over %#x of %v: %d lanes read a table, want %d", c.layer.Op, c.layer.Axes, c.layer.In, on, want)
			}
		}
	}
}
