package anesim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"anesim"
)

// A step that writes its result over a source in L2 must find the rows of both at the same places. The
// reader of the result here, a convolution with a stride, wants its rows spaced otherwise than the source
// has them, so that a product of two rows once overwrote elements that it had yet to read.
func TestResultsOverSourcesOfOtherRows(t *testing.T) {
	for h := 1; h <= 5; h++ {
		for w := 9; w <= 33; w += 4 {
			for _, product := range []string{"op: mul, from: [s, s]", "op: mul, from: [s, x]", "op: max, from: [s, z]"} {
				text := fmt.Sprintf(`inputs: {x: {c: 16, h: %d, w: %d}, z: {c: 16, h: %[1]d, w: %[2]d}}
layers:
  - {name: s, op: add, from: [x, z]}
  - {name: q, %s}
  - {name: y, op: conv, from: [q], cout: 7, kh: %d, kw: 3, sx: 2, sy: 1}
`, h, w, product, min(h, 2))
				run := func(inMemory bool) []uint16 {
					m, err := (&anesim.OpenOptions{InMemory: inMemory}).Read("net.yaml", strings.NewReader(text), int64(len(text)))
					if err != nil {
						t.Fatal(err)
					}
					res, err := m.Run(context.Background(), anesim.Options{Values: true, Seed: 3})
					if err != nil {
						t.Fatal(err)
					}
					var bits []uint16
					for _, v := range res.Outputs[0].Data {
						bits = append(bits, v.Bits())
					}
					return bits
				}
				if l2, memory := run(false), run(true); !slices.Equal(l2, memory) {
					t.Errorf("%dx%d, %s: values differ if tensors stay in L2", h, w, product)
				}
			}
		}
	}
}
