package lower_test

import (
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
)

// The second worked sample of the documents: a convolution of 8 to 8 channels with a
// rectifier, a mean over height and width, and a 1x1 convolution to 4. Its listing gives
// where the descriptors stand, the strides of its windows and of its weight tiles, twelve
// relocations and two configuration words.
//
// What the listing has otherwise: it prints a batch stride of 64 for the output, which has
// one element and needs none (here 4 channels of 64 bytes); and its last operation is
// called a matrix product, which for one row is this convolution. As a linear layer it
// would transpose channels and columns ahead of the product.
func TestSecondSample(t *testing.T) {
	in := layer.Shape{N: 1, C: 8, H: 16, W: 16}
	conv := layer.Conv(in, 8, layer.Same(3, 1, in))
	mid := layer.Shape{N: 1, C: 8, H: 1, W: 1}
	net := join.Network{Inputs: []join.Tensor{{Name: "t0_ane", Shape: in}}, Outputs: []string{"t5_ane"}}
	from := "t0_ane"
	for i, l := range []layer.Layer{conv, layer.Unary(layer.ReLU, in), layer.Reduction(layer.ReduceMean, in, layer.AxisH|layer.AxisW), layer.Conv(mid, 4, layer.Valid(1, 1))} {
		w := layer.Weights{}
		if l.Op == layer.Convolution {
			w.Filter = make([]float16.Float16, l.Cout*l.In.C*l.Window.Kh*l.Window.Kw)
		}
		part, err := join.NewPart(l, w)
		if err != nil {
			t.Fatal(err)
		}
		out := []string{"a", "b", "c", "t5_ane"}[i]
		net.Nodes = append(net.Nodes, join.Node{Part: part, Inputs: []string{from}, Output: out})
		from = out
	}
	j, err := net.Join()
	if err != nil {
		t.Fatal(err)
	}
	p, err := j.Builder.Build("main_ane")
	if err != nil {
		t.Fatal(err)
	}
	var offsets []uint32
	var words []uint32
	var tiles [][]uint32
	lanes := 0
	for _, d := range j.Builder.Chain {
		var f regs.File
		if err := d.Apply(&f); err != nil {
			t.Fatal(err)
		}
		var g regs.Groups
		f.Snapshot(&g)
		offsets = append(offsets, d.Offset)
		words = append(words, regs.Raw(g.Common.ConvCfg))
		var sizes []uint32
		k := &g.KernelDMASrc
		for i, c := range k.CoeffDMAConfig {
			if c.En() {
				sizes = append(sizes, k.CoeffBfrSize[i].Bytes())
				lanes++
			}
		}
		tiles = append(tiles, sizes)
	}
	if want := []uint32{0x000, 0x300, 0x500}; !slices.Equal(offsets, want) {
		t.Errorf("descriptors at %#x, want %#x", offsets, want)
	}
	if want := []uint32{0x5042a063, 0x5000a021, 0x5000a021}; !slices.Equal(words, want) {
		t.Errorf("configuration words %#x, want %#x", words, want)
	}
	if lanes != 12 {
		t.Errorf("%d relocations, want 12", lanes)
	}
	if !slices.Equal(tiles[0], slices.Repeat([]uint32{0xc0}, 8)) || len(tiles[1]) > 0 || !slices.Equal(tiles[2], slices.Repeat([]uint32{0x40}, 4)) {
		t.Errorf("weight tiles %#x, want eight of 0xc0, none, four of 0x40", tiles)
	}
	if j.Into[1] != 0 || j.Builder.Scratch != 0 {
		t.Errorf("the rectifier is done by layer %d, %d bytes of scratch; want 0 and none", j.Into[1], j.Builder.Scratch)
	}
	strides := map[string][4]uint64{"t0_ane": {8192, 1024, 64, 2}, "t5_ane": {256, 64, 64, 2}}
	for _, port := range j.Builder.Ports {
		if port.Strides != strides[port.Name] {
			t.Errorf("%s has strides %d, want %d", port.Name, port.Strides, strides[port.Name])
		}
	}
	if in, out := p.BARs[4], p.BARs[5]; in != 0x30000000 || out != 0x30004000 {
		t.Errorf("windows at %#x and %#x, want 0x30000000 and 0x30004000", in, out)
	}
}
