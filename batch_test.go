package anesim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"anesim"
)

// An input that several layers read is loaded once, whatever the batch; where it is not kept in
// L2, the result says so. Values are those with every tensor in memory.
func TestInputsOfABatchAreKept(t *testing.T) {
	for _, layers := range []string{
		"- {name: a, op: conv, cout: 64, k: 1, from: x}\n- {name: b, op: conv, cout: 64, k: 1, from: x}\n- {name: u, op: add, from: [a, b]}\n",
		"- {name: a, op: conv, cout: 64, k: 3, pad: 1, from: x}\n- {name: u, op: add, from: [a, x]}\n",
		"- {name: a, op: conv, cout: 64, k: 1, from: x}\n- {name: b, op: sigmoid, from: x}\n- {name: c, op: add, from: [a, b]}\n- {name: u, op: add, from: [c, x]}\n",
	} {
		run := func(batch, side int, inMemory bool) *anesim.Result {
			text := fmt.Sprintf("inputs: {x: {n: %d, c: 64, h: %d, w: %[2]d}}\nlayers:\n%s", batch, side, layers)
			m, err := (&anesim.OpenOptions{InMemory: inMemory}).Read("batch.yaml", strings.NewReader(text), int64(len(text)))
			if err != nil {
				t.Fatal(err)
			}
			res, err := m.Run(t.Context(), anesim.Options{Values: side < 32})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		one := run(1, 28, false)
		for _, batch := range []int{2, 3} {
			res := run(batch, 28, false)
			if got, want := res.Report.DMA.Source1, uint64(batch)*one.Report.DMA.Source1; got != want || len(res.Programs[0].Spilled) > 0 {
				t.Errorf("a batch of %d reads %d bytes, want %d; spilled %v\n%s", batch, got, want, res.Programs[0].Spilled, layers)
			}
			if a, b := res.Outputs[0].Data, run(batch, 28, true).Outputs[0].Data; len(a) == 0 || !slices.Equal(a, b) {
				t.Errorf("a batch of %d has other values with all in memory\n%s", batch, layers)
			}
		}
		res := run(8, 56, false)
		spilled := res.Programs[0].Spilled
		if len(spilled) == 0 || !strings.Contains(fmt.Sprint(spilled), "{x ") {
			t.Errorf("a large input is read again and not named: %v\n%s", spilled, layers)
		}
	}
}
