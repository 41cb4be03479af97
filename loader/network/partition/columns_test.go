package partition_test

import (
	"fmt"
	"testing"

	"anesim/loader/network"
	"anesim/loader/network/partition"
)

// TestSharedColumns checks that two matmuls with transposed results are lowered at all sizes at
// which they are lowered without shared columns.
func TestSharedColumns(t *testing.T) {
	for _, rows := range []int{2, 16, 100, 512, 2048, 16384} {
		for _, k := range []int{16, 768, 4096, 16384} {
			for _, columns := range []int{16, 768, 4096} {
				text := fmt.Sprintf(`
inputs: {x: {h: %d, w: %d}}
layers:
- {name: q, op: linear, from: x, n: %[3]d}
- {name: r, op: linear, from: x, n: %[3]d}
- {name: s, op: transpose, from: q, perm: cwh}
- {name: t, op: transpose, from: r, perm: cwh}
`, rows, k, columns)
				refused := func(text string) (count int) {
					n, err := network.ReadYAML([]byte(text))
					if err != nil {
						t.Fatal(err)
					}
					_, reasons, err := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1, SizesOnly: true})
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range reasons {
						if r != "" {
							count++
						}
					}
					return count
				}
				// Results of the matmuls that are outputs keep them from sharing.
				if got, want := refused(text), refused(text+"outputs: [q, r, s, t]\n"); got > want {
					t.Errorf("%d x %d x %d: %d layers refused, %d without shared columns", rows, k, columns, got, want)
				}
			}
		}
	}
}
