package anesim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"anesim"
)

// Networks whose L2 holds few of the tensors that are needed at once have the values that they
// have with every tensor in memory, and move fewer bytes. So many tensors go through memory that
// they are not chosen one at a time.
func TestManyTensorsAtOnce(t *testing.T) {
	t.Parallel()
	const layers = 900
	for _, reach := range []int{40, layers} { // how far back a layer reads
		r := rand.New(rand.NewPCG(49, uint64(reach)))
		var b strings.Builder
		b.WriteString("inputs:\n")
		made := make([][]string, 5) // names of tensors of each shape
		for k := range made {
			made[k] = []string{fmt.Sprintf("x%d", k)}
			fmt.Fprintf(&b, "  x%d: {c: %d, h: 28, w: 28}\n", k, 10+23*k)
		}
		b.WriteString("layers:\n")
		for i := range layers {
			k := r.IntN(len(made))
			from := made[k]
			second := from[max(0, len(from)-1-r.IntN(reach)):]
			op := [...]string{"sub", "max", "min"}[r.IntN(3)]
			fmt.Fprintf(&b, "  - {name: a%d, op: %s, from: [%s, %s]}\n", i, op, from[len(from)-1], second[0])
			made[k] = append(from, fmt.Sprintf("a%d", i))
		}
		run := func(inMemory bool) *anesim.Result {
			m, err := (&anesim.OpenOptions{InMemory: inMemory}).Read("many.yaml", strings.NewReader(b.String()), int64(b.Len()))
			if err != nil {
				t.Fatal(err)
			}
			res, err := m.Run(t.Context(), anesim.Options{Values: true})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		kept, memory := run(false), run(true)
		if n := len(kept.Programs[0].Spilled); n < 100 {
			t.Errorf("reach %d: %d tensors go through memory, want many", reach, n)
		}
		if a, b := kept.Report.DMA.Total(), memory.Report.DMA.Total(); a >= b*9/10 {
			t.Errorf("reach %d: %d bytes, and %d with all tensors in memory; want a tenth less", reach, a, b)
		}
		for i := range kept.Outputs {
			if !slices.Equal(kept.Outputs[i].Data, memory.Outputs[i].Data) {
				t.Errorf("reach %d: output %d has other values with all tensors in memory", reach, i)
			}
		}
	}
}
