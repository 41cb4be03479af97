package cost

import (
	"fmt"
	"runtime"
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

// Check calls read, which must read a file of n bytes. It returns an error if the process allocates
// more bytes during the call than r allows. The count is exact, but to take it, Check stops all
// goroutines twice.
func (r Rule) Check(n int, read func()) error {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read()
	runtime.ReadMemStats(&after)
	return r.checkAllocatedBytes(n, after.TotalAlloc-before.TotalAlloc)
}

// CheckFuzzed performs a faster but less exact form of [Rule.Check], for fuzzing. The runtime counts
// small objects late, so the count may include up to about a megabyte per processor of earlier
// allocations. r.Bytes must leave room for them.
func (r Rule) CheckFuzzed(n int, read func()) error {
	s := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s[:])
	before := s[0].Value.Uint64()
	read()
	metrics.Read(s[:])
	return r.checkAllocatedBytes(n, s[0].Value.Uint64()-before)
}

func (r Rule) checkAllocatedBytes(n int, cost uint64) error {
	if limit := r.Bytes + r.PerByte*uint64(n); cost > limit {
		return fmt.Errorf("reading %d bytes allocated %d bytes; want at most %d", n, cost, limit)
	}
	return nil
}
