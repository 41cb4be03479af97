package lower

import (
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/rows"
	"anesim/loader/layer"
)

// Tasks of products of two inputs, counted in a public table of the compiler's programs.
func TestRuntimeProductTasks(t *testing.T) {
	for _, c := range []struct {
		rows, k, n int
		turned     bool // the right side is given as n rows of k
		tasks      int
	}{
		{64, 64, 64, true, 3}, {128, 64, 128, true, 3}, {256, 64, 256, true, 4}, {512, 64, 512, true, 6},
		{64, 64, 64, false, 2}, {128, 128, 64, false, 2}, {256, 256, 64, false, 3}, {512, 512, 64, false, 5},
		{16, 2048, 2048, false, 1}, {16, 2048, 2048, true, 2}, {128, 2048, 2048, false, 2}, {128, 2048, 2048, true, 3},
	} {
		l := layer.Product(c.rows, c.k, c.n, layer.Runtime)
		l.TransposeY = c.turned
		got, err := Compile(l, layer.Weights{})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got.Tasks != c.tasks {
			t.Errorf("%+v: %d tasks", c, got.Tasks)
		}
	}
}

// A lane's table takes of the room for its weights: of 2,048 columns of 512 weights 512, 768
// and 768 with a table, as one program has them, and halves without.
func TestColumnsBesideATable(t *testing.T) {
	for _, c := range []struct {
		table, n, k int
		bias        []float16.Float16
		want        []coeff.Share
	}{
		{128, 2048, 512, nil, []coeff.Share{{Group: 0, Groups: 1, First: 1536, Channels: 512}, {Group: 0, Groups: 1, First: 768, Channels: 768}, {Group: 0, Groups: 1, First: 0, Channels: 768}}},
		{0, 2048, 512, nil, []coeff.Share{{Group: 0, Groups: 1, First: 0, Channels: 1024}, {Group: 0, Groups: 1, First: 1024, Channels: 1024}}},
		{0, 2048, 512, []float16.Float16{0}, []coeff.Share{{Group: 0, Groups: 1, First: 1536, Channels: 512}, {Group: 0, Groups: 1, First: 768, Channels: 768}, {Group: 0, Groups: 1, First: 0, Channels: 768}}},
		{0, 16, layer.MaxLane / 2, nil, []coeff.Share{{Group: 0, Groups: 1, First: 0, Channels: 16}}},
		{128, 16, layer.MaxLane / 2, nil, nil},
	} {
		g := rows.Group{Table: make([]byte, c.table), Bias: c.bias}
		if got, ok := g.Shares(c.n, c.k); !slices.Equal(got, c.want) || ok != (c.want != nil) {
			t.Errorf("%+v: %v, %v", c, got, ok)
		}
	}
}
