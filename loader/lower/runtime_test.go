package lower

import "testing"

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
		l := Product(c.rows, c.k, c.n, Runtime)
		l.TransposeY = c.turned
		got, err := Compile(l, Weights{})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got.Tasks != c.tasks {
			t.Errorf("%+v: %d tasks", c, got.Tasks)
		}
	}
}
