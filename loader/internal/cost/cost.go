package cost

import (
	"fmt"
	"runtime/metrics"
)

// Rule is what a reader may allocate, in all and not at a time: so many bytes and so many
// for each byte of the file.
type Rule struct {
	Bytes, PerByte uint64
}

// Reader is the rule of a program's reader. A chain's states and the places of its
// descriptors are many times the few words that a descriptor may have. Some of the bytes
// are the fuzzing engine's, which allocates in the same process.
var Reader = Rule{Bytes: 8 << 20, PerByte: 64}

// Check runs a reader on a file of n bytes; the error says by how much it breaks the rule.
func (r Rule) Check(n int, read func()) error {
	s := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s[:])
	before := s[0].Value.Uint64()
	read()
	metrics.Read(s[:])
	if cost, most := s[0].Value.Uint64()-before, r.Bytes+r.PerByte*uint64(n); cost > most {
		return fmt.Errorf("%d bytes cost %d bytes of memory, the rule allows %d", n, cost, most)
	}
	return nil
}
