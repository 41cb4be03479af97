package bench

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/datapath/mac"
	"anesim/internal/datapath/tiles"
)

// small returns layers of every kind that are small enough for tests in any build.
func small() []Layer {
	return []Layer{
		{Cin: 24, Cout: 48, H: 13, W: 9, K: 3},
		{Cin: 32, Cout: 32, H: 1, W: 40, K: 1},
		{Cin: 64, Cout: 16, H: 1, W: 1, K: 1},
		{Cin: 32, Cout: 32, H: 11, W: 11, K: 3, Depthwise: true},
		{Cin: 3, Cout: 80, H: 6, W: 20, K: 5},
	}
}

func build(t testing.TB, l Layer) *Workload {
	t.Helper()
	w, err := l.Build(1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Each output is one Dot of the layer's own operands, packed lanes apart.
func TestLayerIsItsDots(t *testing.T) {
	for _, l := range small() {
		w := build(t, l)
		w.Run(2)
		pad, k := (l.K-1)/2, l.Taps()
		x := make([]float16.Float16, k)
		for n := range l.Cout {
			channels := l.Cin
			if l.Depthwise {
				channels = 1
			}
			for p := range l.H * l.W {
				i := 0
				for c := range channels {
					if l.Depthwise {
						c = n
					}
					for ky := range l.K {
						for kx := range l.K {
							y, xx := p/l.W+ky-pad, p%l.W+kx-pad
							x[i] = 0
							if y >= 0 && y < l.H && xx >= 0 && xx < l.W {
								x[i] = w.source[(c*l.H+y)*l.W+xx]
							}
							i++
						}
					}
				}
				if got, want := w.Output()[n*l.H*l.W+p], mac.Dot(x, w.weights[n*k:][:k]); got != want {
					t.Fatalf("%+v: channel %d, pixel %d is %v, the dot product is %v", l, n, p, got, want)
				}
			}
		}
	}
}

func TestWorkersGiveTheSameBits(t *testing.T) {
	for _, l := range small() {
		w := build(t, l)
		w.Run(1)
		one := slices.Clone(w.Output())
		for _, workers := range []int{2, 3, runtime.GOMAXPROCS(0)} {
			clear(w.Output())
			w.Run(workers)
			if !slices.Equal(one, w.Output()) {
				t.Errorf("%+v: %d workers give other bits than one", l, workers)
			}
		}
	}
}

// The multiply-accumulates a benchmark reports are those the model counts.
func TestMACsAreThePlan(t *testing.T) {
	for _, l := range append(small(), Conv3x3(), Matmul(1024), Conv1x1(), Depthwise3x3()) {
		planned := uint64(0)
		for _, x := range build(t, l).tasks {
			work := tiles.Plan(&x.groups, tiles.AllTiles, tiles.Params{Engines: 16, MACs: 256, PatchPixels: 256, MaxPack: 8})
			planned += work.MACs
		}
		if planned != l.MACs() {
			t.Errorf("%+v has %d multiply-accumulates, the plan %d", l, l.MACs(), planned)
		}
	}
	if got := Conv3x3().MACs(); got != 462_422_016 {
		t.Errorf("3x3 256 to 256 over 28x28 has %d multiply-accumulates", got)
	}
}

func TestLayersThatCannotBe(t *testing.T) {
	ok := Layer{Cin: 16, Cout: 16, H: 4, W: 4, K: 1}
	for name, change := range map[string]func(*Layer){
		"no height":        func(l *Layer) { l.H = 0 },
		"width":            func(l *Layer) { l.W = 1<<14 + 1 },
		"outputs":          func(l *Layer) { l.Cout = 15 },
		"inputs":           func(l *Layer) { l.Cin = -1 },
		"even kernel":      func(l *Layer) { l.K = 2 },
		"wide kernel":      func(l *Layer) { l.K = 17 },
		"depthwise":        func(l *Layer) { l.Depthwise, l.Cin = true, 32 },
		"too large":        func(l *Layer) { l.H, l.W = 1<<14, 1<<14 },
		"too many weights": func(l *Layer) { l.Cin, l.Cout, l.H, l.W = 1<<16, 1<<16, 1, 1 },
	} {
		l := ok
		change(&l)
		var e *LayerError
		if _, err := l.Build(1); !errors.As(err, &e) {
			t.Errorf("%s: %v, want a *LayerError", name, err)
		}
	}
}
