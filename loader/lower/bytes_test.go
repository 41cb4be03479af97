package lower_test

import (
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/datapath/mac"
	"anesim/loader/layer"
	. "anesim/loader/lower"
)

// The negation of every byte whose number is known, two of them in each fp16 value of a
// row, is 1 for 0 and 0 for the others; a byte whose highest bit is set claims nothing.
func TestByteNegation(t *testing.T) {
	for _, s := range []layer.Shape{{N: 1, C: 1, H: 64, W: 64}, {N: 1, C: 3, H: 5, W: 10}, {N: 2, C: 2, H: 1, W: 130}, {N: 1, C: 1, H: 3, W: 2}} {
		l := layer.Unary(layer.LogicalNot, s)
		w := layer.Weights{Table: Fitted(mac.Not)}
		half := func(low, high int) float16.Float16 { return float16.Float16(low | high<<8) }
		not := func(v int) int {
			if v == 0 {
				return 1
			}
			return 0
		}
		x := make([]float16.Float16, s.Elements()/2)
		want := make([]float16.Float16, len(x))
		for i := range x {
			low, high := 37*i%128, i%2
			x[i], want[i] = half(low, high), half(not(low), not(high))
		}
		got, err := run(l, w, map[string][]float16.Float16{"x": x})
		if err != nil {
			t.Errorf("%v: %v", s, err)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%v: bytes %#04x are %#04x, want %#04x", s, x[i], got[i], want[i])
				break
			}
		}
		x[0] = half(128, 0)
		if _, err := run(l, w, map[string][]float16.Float16{"x": x}); err == nil || !strings.Contains(err.Error(), "highest bit is a sign") {
			t.Errorf("%v: a byte of 128: %v", s, err)
		}
	}
}
