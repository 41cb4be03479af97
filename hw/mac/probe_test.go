package mac

import (
	"testing"

	"github.com/x448/float16"
)

func halves(v ...float32) []float16.Float16 {
	h := make([]float16.Float16, len(v))
	for i := range v {
		h[i] = float16.Fromfloat32(v[i])
	}
	return h
}

func ones(n int) []float16.Float16 {
	h := make([]float16.Float16, n)
	for i := range h {
		h[i] = 0x3c00
	}
	return h
}

func repeat(n int, v ...float32) []float16.Float16 {
	var h []float16.Float16
	for range n {
		h = append(h, halves(v...)...)
	}
	return h
}

func TestProbes(t *testing.T) {
	for _, tt := range []struct {
		name string
		x    []float16.Float16
		want float32
	}{
		{"4096 then 1024 ones", append(halves(4096), ones(1024)...), 5116},
		{"8192 then 16 ones", append(halves(8192), ones(16)...), 8208},
		{"16000 ones", ones(16000), 16000},
		{"2049", halves(2048, 1), 2048},
		{"two denormals", []float16.Float16{0x0200, 0x0100}, 0},
	} {
		if got := Dot(tt.x, ones(len(tt.x))); got != float16.Fromfloat32(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for _, tt := range []struct{ b, want float32 }{
		{1024, 16}, {3000, 16}, {4090, 16}, {4094, 16}, {4096, 4}, {8000, 4}, {16000, 4}, {30000, 4},
	} {
		for _, x := range [][]float16.Float16{repeat(16, tt.b, -tt.b, 1), repeat(16, tt.b, 1, -tt.b)} {
			if got := Dot(x, ones(len(x))); got.Float32() != tt.want {
				t.Errorf("[%v %v %v] x 16: %v, want %v", x[0], x[1], x[2], got, tt.want)
			}
		}
	}
}
