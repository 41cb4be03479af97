package firmware

import (
	"fmt"
	"strings"
)

// An InitRecord is one register write of an [InitTable]. It sets the bits in Mask to those of
// Value. Bits that are 1 in Value are set even if they are not in Mask.
type InitRecord struct {
	Block    string // name of the block; see Blocks
	Offset   uint32 // bytes from the block's base
	Mask     uint32
	Value    uint32
	Evidence string // measured, bytes, decompiled, fitted, inferred or assumed
	Source   string // place in the documents, and the purpose if it is known
}

// affectedBits returns the bits that the record sets or clears. According to the documents, bits of
// Value are set even if they are not in Mask.
func (r InitRecord) affectedBits() uint32 { return r.Mask | r.Value }

// An InitTable lists the register writes that start the engine, in order.
type InitTable struct {
	Records []InitRecord
}

// Count returns the number of records that write to the named block.
func (t *InitTable) Count(block string) int {
	n := 0
	for _, r := range t.Records {
		if r.Block == block {
			n++
		}
	}
	return n
}

// Check returns an *[InitError] for the first invalid record, or nil if there is none. A record is
// invalid if its block is unknown, its address is misaligned or outside the block, its block has
// more records than in the M1's table, or an earlier record gives the same bits other values.
func (t *InitTable) Check() error {
	var c checker
	for i, r := range t.Records {
		if what := c.checkRecord(r); what != "" {
			return &InitError{Index: i, Block: r.Block, Off: -1, What: what}
		}
	}
	return nil
}

// An InitError reports an init table that cannot be read or applied, with the place of the mistake.
type InitError struct {
	Index int    // index of the record, or of the next one to read; -1 if the error concerns no record
	Block string // block of the record, or ""
	Off   int64  // byte offset in the binary form, -1 elsewhere
	Line  int    // line in the CSV form, from 1; 0 elsewhere
	What  string // the mistake and what was expected
	Err   error  // cause, or nil
}

// Unwrap returns the cause of the error, e.Err, which may be nil.
func (e *InitError) Unwrap() error { return e.Err }

func (e *InitError) Error() string {
	var b strings.Builder
	b.WriteString("init table")
	if e.Line > 0 {
		fmt.Fprintf(&b, " line %d", e.Line)
	}
	if e.Off >= 0 {
		fmt.Fprintf(&b, " offset %#x", e.Off)
	}
	if e.Index >= 0 {
		fmt.Fprintf(&b, " record %d", e.Index)
	}
	if e.Block != "" {
		fmt.Fprintf(&b, " (%s)", e.Block)
	}
	return b.String() + ": " + e.What
}

// A checker validates the records of an init table in order.
type checker struct {
	counts map[string]int
	words  map[uint64]wordState
}

// A wordState records which bits of a register earlier records have written, and their
// values.
type wordState struct {
	bits, value uint32
}

// checkRecord checks that r is valid after the records checked before it. It returns a description
// of the mistake, or "" if there is none.
func (c *checker) checkRecord(r InitRecord) string {
	b, ok := blockNamed(r.Block)
	if !ok {
		return fmt.Sprintf("unknown block %q; want a block in the M1's init table", r.Block)
	}
	if c.words == nil {
		c.counts, c.words = make(map[string]int), make(map[uint64]wordState)
	}
	if c.counts[b.Name]++; c.counts[b.Name] > b.Records {
		return fmt.Sprintf("block has more than %d records, the number in the M1's init table", b.Records)
	}
	addr := b.Base + uint64(r.Offset)
	if addr%4 != 0 {
		return fmt.Sprintf("offset %#x is not a multiple of 4", r.Offset)
	}
	if addr >= b.End {
		return fmt.Sprintf("offset %#x is outside the block's %#x bytes", r.Offset, b.End-b.Base)
	}
	old := c.words[addr]
	if common := old.bits & r.affectedBits(); (old.value^r.Value)&common != 0 {
		return fmt.Sprintf("changes bits %#x of the word at %#x from %#x to %#x, which an earlier record set",
			common, addr, old.value&common, r.Value&common)
	}
	c.words[addr] = wordState{old.bits | r.affectedBits(), old.value | r.Value}
	return ""
}
