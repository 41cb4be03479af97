package firmware

import (
	"fmt"
	"strings"
)

// An InitRecord is a masked read-modify-write of one MMIO word:
// word = word &^ Mask | Value.
type InitRecord struct {
	Block    string // name of the block, see Blocks
	Offset   uint32 // bytes from the block's base
	Mask     uint32
	Value    uint32
	Evidence string // measured, bytes, decompiled, fitted, inferred or assumed
	Source   string // where the record stands, and what it does when that is known
}

// bits are the bits the record decides: the documents' formula sets the bits of Value
// whether Mask has them or not.
func (r InitRecord) bits() uint32 { return r.Mask | r.Value }

// An InitTable is a list of init records in the order they are applied.
type InitTable struct {
	Records []InitRecord
}

// Count returns the number of records of a block.
func (t *InitTable) Count(block string) int {
	n := 0
	for _, r := range t.Records {
		if r.Block == block {
			n++
		}
	}
	return n
}

// Check reports the first record that cannot be applied, as an *InitError: one of an
// unknown block, misaligned, outside its block, beyond the count of its block in the
// M1 image, or overlapping an earlier record with another value.
func (t *InitTable) Check() error {
	var c checker
	for i, r := range t.Records {
		if what := c.add(r); what != "" {
			return &InitError{Index: i, Block: r.Block, Off: -1, What: what}
		}
	}
	return nil
}

// An InitError is an init table that cannot be read or applied.
type InitError struct {
	Index int    // record in the table, from 0; -1 when no record is to blame
	Block string // block of the record, or ""
	Off   int64  // byte offset in the binary form, -1 elsewhere
	Line  int    // line in the CSV form, from 1; 0 elsewhere
	What  string // what is wrong, and what was expected
	Err   error  // the cause, or nil
}

// Unwrap returns the cause.
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

// A checker sees a table's records in order and says what is wrong with one.
type checker struct {
	counts map[string]int
	words  map[uint64]decided
}

// decided is what earlier records made of a word: the bits they set, and to what.
type decided struct {
	bits, value uint32
}

func (c *checker) add(r InitRecord) string {
	b, ok := BlockNamed(r.Block)
	if !ok {
		return fmt.Sprintf("no block of the M1 image is named %q", r.Block)
	}
	if c.words == nil {
		c.counts, c.words = make(map[string]int), make(map[uint64]decided)
	}
	if c.counts[b.Name]++; c.counts[b.Name] > b.Records {
		return fmt.Sprintf("more than the %d records the M1 image has for the block", b.Records)
	}
	addr := b.Base + uint64(r.Offset)
	if addr%4 != 0 {
		return fmt.Sprintf("offset %#x is no multiple of 4", r.Offset)
	}
	if addr >= b.End {
		return fmt.Sprintf("offset %#x is outside the block's %#x bytes", r.Offset, b.End-b.Base)
	}
	old := c.words[addr]
	if common := old.bits & r.bits(); (old.value^r.Value)&common != 0 {
		return fmt.Sprintf("changes bits %#x of the word at %#x from %#x to %#x, which an earlier record set",
			common, addr, old.value&common, r.Value&common)
	}
	c.words[addr] = decided{old.bits | r.bits(), old.value | r.Value}
	return ""
}
