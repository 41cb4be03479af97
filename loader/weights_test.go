package loader

import (
	"bytes"
	"path/filepath"
	"testing"
)

// halves reads a kernel's lane.
func halves(k *Kernel, lane int) []uint16 {
	l := k.Lanes[lane]
	out := make([]uint16, l.Size/2)
	for i := range out {
		out[i] = le.Uint16(k.Data[int(l.Base)+2*i:])
	}
	return out
}

// numbered is an N x K matrix of different values.
func numbered(n, k int) [][]uint16 {
	w := make([][]uint16, n)
	for i := range w {
		w[i] = make([]uint16, k)
		for j := range w[i] {
			w[i][j] = uint16(i*k + j + 1)
		}
	}
	return w
}

// TestPackDense holds the layout to the rule's own formula: half q*K*g + k*g + n mod g
// holds weight n,k, where g channels make a plane and planes go round the lanes.
func TestPackDense(t *testing.T) {
	for _, tt := range []struct{ n, k, width int }{
		{16, 3, 16}, {32, 5, 16}, {64, 64, 16}, {128, 9, 16}, {256, 16, 16}, {512, 7, 16}, {512, 7, 32}, {1024, 3, 32},
	} {
		w := numbered(tt.n, tt.k)
		got, err := PackDense(w, nil, tt.width)
		if err != nil {
			t.Fatal(err)
		}
		g := min(tt.width, tt.n/16)
		planes := tt.n / g
		lane := planes / 16 * g * tt.k // halves, before padding
		for n := range tt.n {
			p := n / g
			q := p%16*(planes/16) + p/16
			for k := range tt.k {
				at := q*tt.k*g + k*g + n%g
				if v := halves(got, at/lane)[at%lane]; v != w[n][k] {
					t.Fatalf("%d x %d: weight %d,%d is %d, want %d", tt.n, tt.k, n, k, v, w[n][k])
				}
			}
		}
	}
}

// TestPackDenseChunks: 768 outputs 32 wide are 512 channels 32 wide, then 256 channels
// 16 wide, the lane's planes one behind the other.
func TestPackDenseChunks(t *testing.T) {
	const n, k = 768, 2
	w := numbered(n, k)
	got, err := PackDense(w, nil, 32)
	if err != nil {
		t.Fatal(err)
	}
	h := halves(got, 3)
	for _, tt := range []struct {
		at   int
		n, k int
	}{
		{0, 3 * 32, 0}, {31, 3*32 + 31, 0}, {32, 3 * 32, 1},
		{64, 512 + 3*16, 0}, {64 + 15, 512 + 3*16 + 15, 0}, {64 + 16, 512 + 3*16, 1},
	} {
		if h[tt.at] != w[tt.n][tt.k] {
			t.Errorf("half %d of lane 3 is %d, want weight %d,%d = %d", tt.at, h[tt.at], tt.n, tt.k, w[tt.n][tt.k])
		}
	}
}

func TestPackBias(t *testing.T) {
	const n, k = 32, 3
	w, bias := numbered(n, k), make([]uint16, n)
	for i := range bias {
		bias[i] = 0x8000 + uint16(i)
	}
	got, err := PackDense(w, bias, 16)
	if err != nil {
		t.Fatal(err)
	}
	want := []uint16{0x800a, 0x800b, w[10][0], w[11][0], w[10][1], w[11][1], w[10][2], w[11][2]}
	for i, v := range want {
		if g := halves(got, 5)[i]; g != v {
			t.Errorf("half %d of lane 5 is %#x, want %#x", i, g, v)
		}
	}
	for name, pack := range map[string]func() (*Kernel, error){
		"no channels":       func() (*Kernel, error) { return PackLanes(nil, nil) },
		"16 lanes":          func() (*Kernel, error) { return PackLanes(numbered(16, 1), nil) },
		"17 dense":          func() (*Kernel, error) { return PackDense(numbered(17, 1), nil, 16) },
		"none dense":        func() (*Kernel, error) { return PackDense(nil, nil, 16) },
		"no width":          func() (*Kernel, error) { return PackDense(numbered(16, 1), nil, 0) },
		"biases":            func() (*Kernel, error) { return PackLanes(numbered(3, 1), []uint16{1}) },
		"biases, dense":     func() (*Kernel, error) { return PackDense(numbered(16, 1), []uint16{1}, 16) },
		"ragged":            func() (*Kernel, error) { return PackLanes([][]uint16{{1}, {1, 2}}, nil) },
		"no taps":           func() (*Kernel, error) { return PackLanes([][]uint16{{}, {}}, nil) },
		"no taps of 16":     func() (*Kernel, error) { return PackDense(make([][]uint16, 16), nil, 16) },
		"ragged, later one": func() (*Kernel, error) { return PackDense(append(numbered(15, 2), []uint16{1}), nil, 16) },
	} {
		if k, err := pack(); err == nil {
			t.Errorf("%s: packed as %v", name, k.Lanes)
		}
	}
}

// TestPackLanes rebuilds the constants of the vendor's small convolutions.
func TestPackLanes(t *testing.T) {
	three := func(n int) [][]uint16 {
		w := make([][]uint16, n)
		for i := range w {
			w[i] = []uint16{0x4200, 0x4200, 0x4200}
		}
		return w
	}
	for _, tt := range []struct {
		file    string
		weights [][]uint16
		bias    []uint16
	}{
		{"conv_1x1_3to2_bias", three(2), []uint16{0x3c00, 0x3c00}},
		{"conv_1x1_3to3", [][]uint16{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}}, nil},
		{"conv_1x1_3to3_w3", three(3), nil},
	} {
		t.Run(tt.file, func(t *testing.T) {
			reference(t, tt.file+".hwx")
			p, err := Open(filepath.Join(shared, tt.file+".hwx"))
			if err != nil {
				t.Fatal(err)
			}
			s, _ := p.Segment("__TEXT", "__const")
			k, err := PackLanes(tt.weights, tt.bias)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(k.Data, s.Data) {
				t.Errorf("packed\n% x\nwant\n% x", k.Data, s.Data)
			}
			for i, l := range k.Lanes {
				if p.BARs[1]+uint64(l.Base) != p.Tiles[i].Addr {
					t.Errorf("lane %d at %#x", i, l.Base)
				}
			}
		})
	}
}
