package compression_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/compression"
	ox "anesim/internal/network/onnxtest"
	"anesim/loader/layer"
	"anesim/loader/network"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

// lowerAll returns the bytes of the programs of a network.
func lowerAll(t *testing.T, n *list.Network, timed bool) []byte {
	t.Helper()
	programs, reasons, err := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1, SizesOnly: timed})
	if err != nil || len(programs) != 1 {
		t.Fatalf("%d programs: %q, %v", len(programs), reasons, err)
	}
	var all []byte
	for i := range programs[0].Segments {
		all = append(all, programs[0].Segments[i].Data...)
	}
	return append(all, programs[0].Text...)
}

// Weights compressed as a what-if give the program of a file that stores them so: a file of bytes with a
// scale for each channel.
func TestCompressGivesTheProgramOfAFileWithBytes(t *testing.T) {
	const cout, cin, n = 48, 64, 80
	scale := func(c int) float32 { return float32(c%7+1) / 1024 }
	quantized := func(channels, per int, channelLast bool) (whole []int, plain []float32) {
		at := func(c, i int) int {
			if channelLast {
				return i*channels + c
			}
			return c*per + i
		}
		whole, plain = make([]int, channels*per), make([]float32, channels*per)
		for c := range channels {
			for i := range per {
				q := (i*37+c*11)%253 - 126
				if i == 5 {
					q = 127 // the largest one states the scale
				}
				whole[at(c, i)], plain[at(c, i)] = q&0xff, scale(c)*float32(q)
			}
		}
		return whole, plain
	}
	scales := func(channels int) (s []float32) {
		for c := range channels {
			s = append(s, scale(c))
		}
		return s
	}
	kernels, flat := quantized(cout, cin*9, false)
	columns, product := quantized(n, cin, true)
	for name, tc := range map[string][2][]ox.Message{
		"convolution": {
			{ox.Whole("q", 3, 1, []int{cout, cin, 3, 3}, kernels...), ox.Constant("s", []int{cout}, scales(cout)...), ox.Node("DequantizeLinear", "w", []string{"q", "s"}, ox.Int("axis", 0))},
			{ox.Constant("w", []int{cout, cin, 3, 3}, flat...)},
		},
		"product": {
			{ox.Whole("q", 3, 1, []int{cin, n}, columns...), ox.Constant("s", []int{n}, scales(n)...), ox.Node("DequantizeLinear", "w", []string{"q", "s"}, ox.Int("axis", 1))},
			{ox.Constant("w", []int{cin, n}, product...)},
		},
	} {
		read := func(parts []ox.Message) *list.Network {
			if name == "convolution" {
				parts = append(parts, ox.Input("x", 1, cin, 14, 14), ox.Node("Conv", "y", []string{"x", "w"}), ox.Output("y"))
			} else {
				parts = append(parts, ox.Input("x", 6, cin), ox.Node("MatMul", "y", []string{"x", "w"}), ox.Output("y"))
			}
			net, err := network.ReadONNX(ox.Model(parts...), network.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return net
		}
		file, plain := read(tc[0]), read(tc[1])
		how, err := compression.ParseForm("int8")
		if err != nil {
			t.Fatal(err)
		}
		made, count, err := compression.Compress(plain, how)
		if err != nil || count != 1 {
			t.Fatalf("%s: %d layers, %v", name, count, err)
		}
		for _, timed := range []bool{false, true} {
			want, got, dense := lowerAll(t, file, timed), lowerAll(t, made, timed), lowerAll(t, plain, timed)
			if !bytes.Equal(got, want) || bytes.Equal(got, dense) {
				t.Errorf("%s, only timed %t: %d bytes, %d of the file with bytes, %d of fp16; want those of the file", name, timed, len(got), len(want), len(dense))
			}
		}
	}
}

// A palette has as many values as its name says, fewer bits make smaller programs, and the network that was
// compressed is as it was.
func TestCompressToPalettes(t *testing.T) {
	const n = 256
	values := make([]float32, n*n)
	for i := range values {
		values[i] = float32((i*7919)%4093-2046) / 4096
	}
	net, err := network.ReadONNX(ox.Model(ox.Input("x", 6, n), ox.Constant("w", []int{n, n}, values...), ox.Node("MatMul", "y", []string{"x", "w"}), ox.Output("y")), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before, last := lowerAll(t, net, false), 0
	for _, c := range []struct {
		name   string
		values int
	}{{"palette4", 16}, {"palette6", 64}, {"palette8", 256}} {
		how, err := compression.ParseForm(c.name)
		if err != nil {
			t.Fatal(err)
		}
		made, _, err := compression.Compress(net, how)
		if err != nil {
			t.Fatal(err)
		}
		w := made.Layers[0].Weights
		if err := w.Load(); err != nil {
			t.Fatal(err)
		}
		distinct := slices.Clone(w.Filter)
		slices.Sort(distinct)
		if got := len(slices.Compact(distinct)); got != c.values || w.Form != layer.FormPalette {
			t.Errorf("%s: %d values as %v", c.name, got, w.Form)
		}
		size := len(lowerAll(t, made, false))
		if size < last || size >= len(before) {
			t.Errorf("%s: %d bytes; want at least %d of fewer bits and less than %d of fp16", c.name, size, last, len(before))
		}
		last = size
	}
	if !bytes.Equal(lowerAll(t, net, false), before) {
		t.Error("compressing changed the network")
	}
	if _, err := compression.ParseForm("int4"); err == nil {
		t.Error("int4 is a form")
	}
	// Weights that are not numbers do not break the rounding, nor does a layer of zeros.
	odd := *net
	odd.Layers = slices.Clone(net.Layers)
	odd.Layers[0].Weights.Stored = nil
	for _, v := range []float16.Float16{0, 0x7e00, 0x7c00, 0xfc00} {
		odd.Layers[0].Weights.Filter = slices.Repeat([]float16.Float16{v}, n*n)
		for _, how := range compression.Forms() {
			made, _, err := compression.Compress(&odd, how)
			if err != nil {
				t.Fatal(err)
			}
			lowerAll(t, made, false)
		}
	}
}
