package network

import (
	"strings"
	"testing"

	ox "anesim/internal/network/onnxtest"
)

// A layer norm of the sizes that Apple's compiler is known to refuse, depending on its constants, has a
// note, once in a network; a smaller one, or one without constants, has none.
func TestRefusedLayerNorms(t *testing.T) {
	for _, tc := range []struct {
		rows, columns int
		scaled        bool
		want          int
	}{{512, 1024, true, 1}, {128, 4096, true, 1}, {64, 4096, true, 0}, {512, 768, true, 0}, {512, 1024, false, 0}} {
		ones := make([]float32, tc.columns)
		for i := range ones {
			ones[i] = 1
		}
		in := []string{"x"}
		if tc.scaled {
			in = append(in, "scale")
		}
		n, err := ReadONNX(ox.Model(ox.Input("x", 1, tc.rows, tc.columns), ox.Constant("scale", []int{tc.columns}, ones...),
			ox.Node("LayerNormalization", "h", in), ox.Node("LayerNormalization", "y", append([]string{"h"}, in[1:]...)), ox.Output("y")), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(strings.Join(n.Notes, "\n"), "Apple's compiler refused"); got != tc.want {
			t.Errorf("%d rows of %d elements, constants %t: %d notes %q; want %d", tc.rows, tc.columns, tc.scaled, got, n.Notes, tc.want)
		}
	}
}
