package regs

import "strings"

// An AbsentError is an engine that later generations have and the M1 has not: what its
// own software asserts to be unsupported (decompiled, chapter 23 and section C.6).
type AbsentError struct {
	Engine string
	What   string
}

func (e *AbsentError) Error() string { return e.Engine + ", " + e.What + ", is not in the M1's engine" }

// Absent is the engine that the M1 lacks when a register is called by it, BLOCK or
// BLOCK.REGISTER, case and underscores aside; nil when it names none of them. The documents
// name these engines and no addresses of theirs.
func Absent(register string) *AbsentError {
	block, _, _ := strings.Cut(register, ".")
	block = strings.ToLower(strings.ReplaceAll(block, "_", ""))
	for _, e := range [...]AbsentError{
		{"CCDMA", "the compute-cache DMA engine"},
		{"AtomicScatter", "the engine of on-chip atomics"},
		{"LDTID", "the engine that loads task numbers"},
	} {
		if block == strings.ToLower(e.Engine) {
			return &e
		}
	}
	return nil
}
