package anesim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"anesim"
	"anesim/hw"
)

// Networks whose L2 holds few of the tensors that are needed at once have the values that they
// have with every tensor in memory, and move fewer bytes.
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

// A tensor that many layers later is needed again goes through memory before those that the next layer
// needs, a larger one before a smaller one of the same lifetime, and no more than there must.
func TestWhichTensorsGoThroughMemory(t *testing.T) {
	const tensor = 16 * 28 * 64 // bytes of 16 channels of 28 rows, which are aligned to 64 bytes
	const chain = `
inputs: {x: {c: 16, h: 28, w: 28}, z: {c: 16, h: 28, w: 28}}
layers:
  - {name: long, op: sub, from: [x, z]}
  - {name: a, op: max, from: [long, z]}
  - {name: middle, op: sub, from: [a, z]}
  - {name: b, op: max, from: [middle, x]}
  - {name: c, op: min, from: [b, z]}
  - {name: d, op: sub, from: [c, middle]}
  - {name: e, op: max, from: [d, z]}
  - {name: y, op: sub, from: [e, long]}
`
	// The two tensors that wait are needed for the same number of steps, and one is larger.
	const pair = `
inputs: {x: {c: 16, h: 28, w: 28}, u: {c: 8, h: 28, w: 28}}
layers:
  - {name: small, op: sub, from: [u, u]}
  - {name: large, op: sub, from: [x, x]}
  - {name: a, op: max, from: [large, x]}
  - {name: b, op: min, from: [small, u]}
  - {name: c, op: max, from: [a, x]}
  - {name: d, op: min, from: [b, u]}
  - {name: v, op: sub, from: [d, small]}
  - {name: y, op: sub, from: [c, large]}
`
	for _, tc := range []struct {
		text  string
		l2    int
		names string
	}{
		{chain, 8 * tensor, ""},
		{chain, 4*tensor + tensor/4, ""},
		{chain, 4 * tensor, "long"},
		{chain, 3*tensor + tensor/2, "long"},
		{pair, 4*tensor + tensor/4, ""},
		{pair, 4 * tensor, "large"},
		{pair, 3*tensor + tensor/4, "large small"},
	} {
		m, err := anesim.Read("m.yaml", strings.NewReader(tc.text), int64(len(tc.text)))
		if err != nil {
			t.Fatal(err)
		}
		chip := hw.M1()
		chip.L2Bytes.Value = float64(tc.l2)
		res, err := m.Run(t.Context(), anesim.Options{Chip: chip})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range res.Programs[0].Spilled {
			if strings.Contains(s.Why, "does not fit") {
				names = append(names, s.Tensor)
			}
		}
		if got := strings.Join(names, " "); got != tc.names {
			t.Errorf("L2 of %d bytes: %q go through memory; want %q", tc.l2, got, tc.names)
		}
	}
}
