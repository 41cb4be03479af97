package cost

import "testing"

var kept []byte

// TestCheck has a reader inside the rule and one outside.
func TestCheck(t *testing.T) {
	r := Rule{Bytes: 1 << 20, PerByte: 2}
	for _, tt := range []struct {
		bytes int
		ok    bool
	}{{1 << 10, true}, {1 << 26, false}} {
		if err := r.Check(100, func() { kept = make([]byte, tt.bytes) }); (err == nil) != tt.ok {
			t.Errorf("%d bytes: %v", tt.bytes, err)
		}
	}
}
