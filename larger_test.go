package anesim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"anesim"
	"anesim/hw"
)

// A machine with more of anything is not slower. Two things cost a little: layers are lowered
// for more kernel memory in larger tasks, whose results leave together where they have one patch
// (9.3 % in the worst of 3000 layers; no other unit waits for more than in tasks for the M1),
// and with more multipliers the array stops sooner for results on their way to memory (0.7 %).
func TestLargerMachinesAreNotSlower(t *testing.T) {
	layers := 60
	if os.Getenv("LONG") != "" {
		layers = 3000
	}
	twice := []struct {
		name  string
		set   func(*hw.Chip)
		slack float64 // as a share of the time
	}{
		{"PatchPixels", func(c *hw.Chip) { c.PatchPixels.Value *= 2 }, 1e-3},
		{"Engines", func(c *hw.Chip) { c.Engines.Value *= 2 }, 1e-3},
		{"Engines x 4", func(c *hw.Chip) { c.Engines.Value *= 4 }, 1e-3},
		{"MACs", func(c *hw.Chip) { c.MACs.Value *= 2 }, 0.01},
		{"KernelMemory", func(c *hw.Chip) { c.KernelMemory.Value *= 2 }, 0.1},
		{"KernelMemory x 8", func(c *hw.Chip) { c.KernelMemory.Value *= 8 }, 0.1},
		{"LaneRate", func(c *hw.Chip) { c.LaneRate.Value *= 2 }, 1e-3},
		{"TileRate", func(c *hw.Chip) { c.TileRate.Value *= 2 }, 1e-3},
		{"ReadRate", func(c *hw.Chip) { c.ReadRate.Value *= 2 }, 1e-3},
		{"TotalRate", func(c *hw.Chip) { c.TotalRate.Value *= 2 }, 1e-3},
		{"PlanarRate", func(c *hw.Chip) { c.PlanarRate.Value *= 2 }, 1e-3},
		{"TransposeRate", func(c *hw.Chip) { c.TransposeRate.Value *= 2 }, 1e-3},
		{"L2Banks", func(c *hw.Chip) { c.L2Banks.Value *= 2 }, 1e-3},
	}
	time := func(m *anesim.Model, c hw.Chip) float64 {
		res, err := m.Run(t.Context(), anesim.Options{Chip: c})
		if err != nil {
			t.Fatalf("%s: %v", m.Name(), err)
		}
		return float64(res.Report.Time)
	}
	r := rand.New(rand.NewPCG(1, 2))
	tried := 0
	for tried < layers {
		words := strings.Fields(randomLayer(r))
		m, err := anesim.Layer(words[0], words[1:]...)
		if err != nil {
			continue
		}
		if _, err := m.Programs(t.Context(), anesim.Options{}); err != nil {
			continue // beyond a limit of the engine
		}
		tried++
		base := time(m, hw.M1())
		for _, x := range twice {
			c := hw.M1()
			x.set(&c)
			if now := time(m, c); now > base*(1+x.slack) {
				t.Errorf("%s: %s takes %.1f ns with more of %s, %.1f ns without (%+.1f %%)", m.Name(), words, now, x.name, base, 100*(now/base-1))
			}
		}
	}
}

// randomLayer returns the operation and keys of a random layer, as arguments of the command line.
func randomLayer(r *rand.Rand) string {
	pick := func(list ...int) int { return list[r.IntN(len(list))] }
	channels := func() int { return pick(1, 3, 16, 64, 100, 256, 512) }
	side := func() int { return pick(1, 4, 7, 14, 28, 56, 112) }
	switch r.IntN(6) {
	case 0, 1:
		return fmt.Sprintf("conv cin=%d h=%d w=%d cout=%d k=%d pad=same", channels(), side(), side(), channels(), pick(1, 1, 3, 5))
	case 2:
		return fmt.Sprintf("matmul m=%d k=%d n=%d", pick(1, 8, 64, 200, 512), pick(32, 64, 256, 1024), pick(32, 64, 256, 1024))
	case 3:
		return fmt.Sprintf("add c=%d h=%d w=%d", channels(), side(), side())
	case 4:
		return fmt.Sprintf("softmax c=%d h=%d w=%d", pick(1, 16, 64), pick(1, 14, 56), pick(8, 64, 256))
	}
	return fmt.Sprintf("pool op=max c=%d h=%d w=%d k=%d s=2", channels(), side(), side(), pick(2, 3))
}
