package anesim_test

import (
	"fmt"
	"testing"

	"anesim"
)

// Layers that keep their tensors in L2 lay them out without bank conflicts, so that no width
// costs more than the next power of two does. They once did so only for the planar engine: a 3x3
// convolution of 28 columns took ten times as long as one of 64.
func TestWidthsBetweenPowersOfTwo(t *testing.T) {
	for _, format := range []string{
		"{op: conv, groups: cin, k: 3, pad: 1}\n- {op: conv, cout: 64, k: 1}\n",
		"{op: conv, groups: cin, k: 3, stride: 2, pad: 1}\n- {op: conv, cout: 64, k: 1}\n",
		"{name: b, op: conv, groups: cin, k: 3, pad: 1}\n- {op: add, from: [b, a]}\n",           // the planar engine reads a too
		"{name: b, op: sigmoid}\n- {op: conv, k: 7, pad: 3, groups: cin}\n",                     // a copy on the MAC engines
		"{op: conv, cout: 64, k: 5, pad: 2}\n- {op: conv, cout: 64, k: 3, pad: 1, act: relu}\n", // dense
	} {
		cost := func(w int) (total, stall uint64) {
			text := fmt.Sprintf("inputs: {x: {c: 64, h: 32, w: %d}}\nlayers:\n- {name: a, op: conv, cout: 64, k: 1}\n- %s", w, format)
			m := readModel(t, "three.yaml", []byte(text), anesim.OpenOptions{})
			res, err := m.Run(t.Context(), anesim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range res.Report.Descriptors {
				total += uint64(d.Cycles.Total())
				stall += uint64(d.Cycles.L2ReadStall)
			}
			return total, stall
		}
		for _, top := range []int{16, 32, 64} {
			most, _ := cost(top)
			for w := top/2 + 2; w < top; w += 3 {
				if got, stall := cost(w); got > most || stall > got/4 {
					t.Errorf("%d columns: %d cycles, %d of them L2 read stalls, but %d columns take %d:\n%s", w, got, stall, top, most, format)
				}
			}
		}
	}
}
