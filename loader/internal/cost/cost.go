package cost

import (
	"fmt"
	"runtime/metrics"
)

// A Rule limits how many bytes a reader may allocate for a file: Bytes, plus PerByte for each byte
// of the file.
type Rule struct {
	Bytes, PerByte uint64
}

// Reader is the rule for readers of programs. The states of a chain and the offsets of its
// descriptors are many times larger than the few words that a descriptor may have. Bytes
// includes allocations of the fuzzing engine, which runs in the same process.
var Reader = Rule{Bytes: 8 << 20, PerByte: 64}

// Check calls read, which must read a file of n bytes, and returns an error if the process
// allocates more bytes meanwhile than r allows.
func (r Rule) Check(n int, read func()) error {
	s := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s[:])
	before := s[0].Value.Uint64()
	read()
	metrics.Read(s[:])
	if cost, limit := s[0].Value.Uint64()-before, r.Bytes+r.PerByte*uint64(n); cost > limit {
		return fmt.Errorf("reading %d bytes allocated %d bytes; want at most %d", n, cost, limit)
	}
	return nil
}
