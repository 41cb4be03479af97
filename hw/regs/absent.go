package regs

import "strings"

// An AbsentError names an engine that later generations have but the M1 lacks. The M1's own
// software asserts that it is not supported (decompiled, chapter 23 and section C.6).
type AbsentError struct {
	Engine string
	What   string
}

func (e *AbsentError) Error() string {
	return e.Engine + " (" + e.What + ") does not exist in the M1's engine"
}

// Absent returns an error if register, such as BLOCK or BLOCK.REGISTER, names an engine that the M1
// lacks. It ignores case and underscores. It returns nil for all other names. The documents name
// these engines but give no addresses.
func Absent(register string) *AbsentError {
	block, _, _ := strings.Cut(register, ".")
	block = strings.ToLower(strings.ReplaceAll(block, "_", ""))
	for _, e := range [...]AbsentError{
		{"CCDMA", "compute-cache DMA engine"},
		{"AtomicScatter", "engine for on-chip atomics"},
		{"LDTID", "engine that loads task numbers"},
	} {
		if block == strings.ToLower(e.Engine) {
			return &e
		}
	}
	return nil
}
