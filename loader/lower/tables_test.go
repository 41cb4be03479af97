package lower

import (
	"bytes"
	"testing"

	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/layer"
)

// The sections of tables that are on record: a block of 128 bytes for each engine of the
// task that looks up, with the table in the first and zeros behind it.
func TestTableSections(t *testing.T) {
	exp, reciprocal := fitted(mac.Exp), fitted(mac.Reciprocal)
	tables := layer.Weights{Table: exp, Reciprocal: reciprocal}
	for _, c := range []struct {
		layer  layer.Layer
		blocks int  // of the table of 2^x, or of the layer's own
		sum    bool // the table of 1/x behind them
	}{
		{layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 1, H: 1, W: 64}, layer.AxisC), 1, true},
		{layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 64, H: 1, W: 1}, layer.AxisC), 1, true}, // its channels are columns
		{layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 8, H: 1, W: 64}, layer.AxisC), 8, true},
		{layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 64, H: 8, W: 8}, layer.AxisC), 16, true},
		{layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 32, H: 4, W: 4}, layer.AxisH), 4, true},
		{layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 64, H: 8, W: 8}, layer.AxisH), 8, true},
		{layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 128, H: 16, W: 16}, layer.AxisH), 16, true},
		{layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 1, H: 256, W: 256}, layer.AxisW), 1, false},
		{layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 8, H: 1, W: 128}, layer.AxisW), 8, false},
		{layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 12, H: 64, W: 64}, layer.AxisW), 12, false},
		{layer.Reduction(layer.Softmax, layer.Shape{N: 1, C: 64, H: 8, W: 8}, layer.AxisW), 16, false},
		{layer.Unary(layer.Exp, layer.Shape{N: 1, C: 64, H: 1, W: 1}), 16, false},
		{layer.Unary(layer.Exp, layer.Shape{N: 1, C: 1, H: 64, W: 256}), 1, false},
	} {
		got, err := Compile(c.layer, tables)
		if err != nil {
			t.Errorf("%+v: %v", c.layer, err)
			continue
		}
		want := append(bytes.Clone(exp), make([]byte, (c.blocks-1)*coeff.TableBytes)...)
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
