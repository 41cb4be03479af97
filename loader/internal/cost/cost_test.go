package cost

import "testing"

var kept []byte

// TestCheck checks a reader that keeps to a rule and one that does not.
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
