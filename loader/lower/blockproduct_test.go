package lower_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader/layer"
	. "anesim/loader/lower"
)

// The compiler takes two tasks for a product with constants, and three in blocks of eight pixels, with
// a patch as high as the block: at 16 to 64 rows, if there are enough results for the values that
// each sums.
func TestProductOfFewRows(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 32))
	for rows, blocks := range map[int]bool{1: false, 8: false, 16: true, 17: false, 24: true, 32: true, 64: true, 128: false} {
		for i := range 4 {
			bias, many := i%2 == 0, i/2 == 0
			k, n, want := 1+r.IntN(100), 400+r.IntN(100), 2
			if !many {
				k, n = 300+r.IntN(100), 1+r.IntN(30)
			} else if blocks {
				want = 3
			}
			l := layer.Product(rows, k, n, layer.Constant)
			l.Bias = bias
			if r.IntN(2) == 0 {
				l.Activation = layer.ReLU
			}
			w := layer.Weights{Filter: halves(r, k*n)}
			if bias {
				w.Bias = halves(r, n)
			}
			c, err := Compile(l, w)
			if err != nil {
				t.Fatal(err)
			}
			if c.Tasks != want {
				t.Errorf("%dx%d by %dx%d: %d tasks, want %d", rows, k, k, n, c.Tasks, want)
			}
			x := halves(r, rows*k)
			got, err := run(l, w, map[string][]float16.Float16{"x": x})
			if err != nil {
				t.Fatal(err)
			}
			for i, y := range got {
				sum, size := 0.0, 0.0
				if bias {
					sum = float64(w.Bias[i%n].Float32())
					size = math.Abs(sum)
				}
				for j := range k {
					p := float64(x[i/n*k+j].Float32()) * float64(w.Filter[j*n+i%n].Float32())
					sum, size = sum+p, size+math.Abs(p)
				}
				if l.Activation == layer.ReLU {
					sum = max(0, sum)
				}
				if math.Abs(float64(y.Float32())-sum) > 0x1p-10*math.Abs(sum)+0x1p-15*size+0x1p-24 {
					t.Fatalf("%+v: element %d is %v, want %v", l, i, y, sum)
				}
			}
		}
	}
}

func TestProductBlocks(t *testing.T) {
	for rows, patch := range map[int]uint32{16: 1, 32: 2} {
		c, err := Compile(layer.Product(rows, 256, 256, layer.Constant), layer.Weights{})
		if err != nil {
			t.Fatal(err)
		}
		g := taskAt(t, c, 1)
		cfg, in := g.Common.Cfg, g.InShape()
		if in.Width != 8 || in.Height != rows/8 || cfg.SmallSourceMode() || cfg.ShPref() != patch || cfg.ShMin() != patch || cfg.ShMax() != patch {
			t.Errorf("%d rows: %dx%d, Cfg %#x; want blocks of 8, patch %d", rows, in.Height, in.Width, regs.Raw(cfg), patch)
		}
	}
}

// taskAt are the registers of a program's task.
func taskAt(t *testing.T, c *Lowered, index int) *regs.Groups {
	t.Helper()
	var bars regs.BARs
	for i := range bars {
		bars[i] = uint64(i+1) << 30
	}
	s := regs.Stream{Text: c.Text, FirstWords: c.FirstWords, BARs: bars}
	for task, err := range s.Tasks(new(regs.File)) {
		if err != nil {
			t.Fatal(err)
		}
		if task.Index == index {
			return &task.Groups
		}
	}
	t.Fatalf("no task %d", index)
	return nil
}
