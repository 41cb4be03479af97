package lower_test

import (
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/hw/mac"
	. "anesim/loader/lower"
)

// The negation of every byte whose number is known, two of them in each fp16 value of a
// row, is 1 for 0 and 0 for the others; a byte whose highest bit is set claims nothing.
func TestByteNegation(t *testing.T) {
	for _, s := range []Shape{{1, 1, 64, 64}, {1, 3, 5, 10}, {2, 2, 1, 130}, {1, 1, 3, 2}} {
		l := Unary(LogicalNot, s)
		w := Weights{Table: Fitted(mac.Not)}
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
