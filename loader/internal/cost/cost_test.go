package cost

import (
	"runtime"
	"testing"
)

var kept [][]byte

// TestCheck checks a reader that keeps to a rule and one that does not.
func TestCheck(t *testing.T) {
	r := Rule{Bytes: 4 << 20, PerByte: 2}
	for _, tt := range []struct {
		bytes int
		ok    bool
	}{{1 << 10, true}, {1 << 26, false}} {
		read := func() { kept = [][]byte{make([]byte, tt.bytes)} }
		if err := r.Check(100, read); (err == nil) != tt.ok {
			t.Errorf("%d bytes: %v", tt.bytes, err)
		}
		if err := r.CheckFuzzed(100, read); (err == nil) != tt.ok {
			t.Errorf("%d bytes, fuzzed: %v", tt.bytes, err)
		}
	}
}

// TestCheckCountsOnlyTheReader: objects that were allocated before do not count, although the
// runtime adds many of them to its own count only at the next collection. A test of a rule once
// failed when it ran after other tests, in an order that is drawn.
func TestCheckCountsOnlyTheReader(t *testing.T) {
	for size := 8; size <= 32<<10; size += 8 {
		kept = append(kept, make([]byte, size))
	}
	kept = nil
	if err := (Rule{Bytes: 64 << 10}).Check(0, runtime.GC); err != nil {
		t.Error(err)
	}
}
