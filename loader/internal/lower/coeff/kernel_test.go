package coeff

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/datapath/lanes"
	"anesim/internal/material"
	"anesim/loader"
	"anesim/loader/layer"
)

// newNumberedWeights returns n channels of k taps, whose fp16 bits count from 1.
func newNumberedWeights(n, k int) *ChannelWeights {
	return &ChannelWeights{Groups: 1, Channels: n, Taps: k, Weight: func(_, c, i int) float16.Float16 {
		return float16.Float16(c*k + i + 1)
	}}
}

// laneValues returns the fp16 bits of a lane's values.
func laneValues(k *Kernel, lane int) []uint16 {
	l := k.Lanes[lane]
	list := make([]uint16, l.Size/layer.ElementBytes)
	for i := range list {
		list[i] = binary.LittleEndian.Uint16(k.Data[l.Base+layer.ElementBytes*i:])
	}
	return list
}

// Dense coefficients stand where the formula of the compiler's section hashes has them:
// value q*K*g + k*g + n mod g is weight n,k, where g channels make a plane and planes go
// round the lanes.
func TestPack(t *testing.T) {
	for _, tt := range []struct{ n, k, width int }{
		{16, 3, 16}, {32, 5, 16}, {64, 64, 16}, {128, 9, 16}, {256, 16, 16}, {512, 7, 16}, {512, 7, 32}, {1024, 3, 32},
	} {
		f := newNumberedWeights(tt.n, tt.k)
		got := f.Pack(tt.width)
		g := min(tt.width, tt.n/lanes.Count)
		planes := tt.n / g
		lane := planes / lanes.Count * g * tt.k // values, before padding
		for n := range tt.n {
			p := n / g
			q := p%lanes.Count*(planes/lanes.Count) + p/lanes.Count
			for k := range tt.k {
				at := q*tt.k*g + k*g + n%g
				if v, want := laneValues(got, at/lane)[at%lane], uint16(f.Weight(0, n, k)); v != want {
					t.Fatalf("%d x %d: weight %d,%d is %d, want %d", tt.n, tt.k, n, k, v, want)
				}
			}
		}
	}
}

// 768 outputs 32 wide are 512 channels 32 wide, then 256 channels 16 wide, the lane's
// planes one behind the other.
func TestPackChunks(t *testing.T) {
	f := newNumberedWeights(768, 2)
	h := laneValues(f.Pack(32), 3)
	for _, tt := range []struct{ at, n, k int }{
		{0, 3 * 32, 0}, {31, 3*32 + 31, 0}, {32, 3 * 32, 1},
		{64, 512 + 3*16, 0}, {64 + 15, 512 + 3*16 + 15, 0}, {64 + 16, 512 + 3*16, 1},
	} {
		if want := uint16(f.Weight(0, tt.n, tt.k)); h[tt.at] != want {
			t.Errorf("value %d of lane 3 is %d, want weight %d,%d = %d", tt.at, h[tt.at], tt.n, tt.k, want)
		}
	}
}

// A bias is a row of values ahead of each plane; what is only timed has the same lanes.
func TestPackBias(t *testing.T) {
	f := newNumberedWeights(32, 3)
	f.Bias = func(_, n int) float16.Float16 { return float16.Float16(0x8000 + n) }
	got := f.Pack(16)
	tap := func(n, k int) uint16 { return uint16(f.Weight(0, n, k)) }
	want := []uint16{0x800a, 0x800b, tap(10, 0), tap(11, 0), tap(10, 1), tap(11, 1), tap(10, 2), tap(11, 2)}
	for i, v := range want {
		if g := laneValues(got, 5)[i]; g != v {
			t.Errorf("value %d of lane 5 is %#x, want %#x", i, g, v)
		}
	}
	f.SizesOnly = true
	sized := f.Pack(16)
	if sized.Data != nil || len(sized.Lanes) != len(got.Lanes) || sized.Size() != got.Size() {
		t.Errorf("sizes alone: %d lanes of %d bytes, want %d of %d", len(sized.Lanes), sized.Size(), len(got.Lanes), got.Size())
	}
}

// Fewer than sixteen outputs have a lane each, as in the compiler's small convolutions.
func TestPackSmall(t *testing.T) {
	constant := func(n int, bits func(c, k int) uint16) *ChannelWeights {
		return &ChannelWeights{Groups: 1, Channels: n, Taps: 3, Weight: func(_, c, k int) float16.Float16 { return float16.Float16(bits(c, k)) }}
	}
	threes := func(int, int) uint16 { return 0x4200 }
	withBias := constant(2, threes)
	withBias.Bias = func(int, int) float16.Float16 { return 0x3c00 }
	for name, f := range map[string]*ChannelWeights{
		"conv_1x1_3to2_bias": withBias,
		"conv_1x1_3to3":      constant(3, func(c, k int) uint16 { return uint16(3*c + k) }),
		"conv_1x1_3to3_w3":   constant(3, threes),
	} {
		k := f.Pack(16)
		if n := len(k.Lanes); n != f.Channels {
			t.Errorf("%s: %d lanes of %d outputs", name, n, f.Channels)
		}
		for c := range k.Lanes {
			var want []uint16
			if f.Bias != nil {
				want = append(want, uint16(f.Bias(0, c)))
			}
			for i := range f.Taps {
				want = append(want, uint16(f.Weight(0, c, i)))
			}
			if got := laneValues(k, c)[:len(want)]; !slices.Equal(got, want) {
				t.Errorf("%s: lane %d begins with %#x, want %#x", name, c, got, want)
			}
		}
		files := material.More(t, "programs/"+name+".hwx")
		if len(files) == 0 {
			continue
		}
		p, err := loader.Open(files[0])
		if err != nil {
			t.Fatal(err)
		}
		s, _ := p.Segment("__TEXT", "__const")
		if !bytes.Equal(k.Data, s.Data) {
			t.Errorf("%s: packed\n% x\nwant\n% x", name, k.Data, s.Data)
		}
		for i, l := range k.Lanes {
			if p.BARs[1]+uint64(l.Base) != p.Tiles[i].Addr {
				t.Errorf("%s: lane %d at %#x", name, i, l.Base)
			}
		}
	}
}
