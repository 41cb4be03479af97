package regs

import "strings"

// An AbsentError reports a register of an engine unit that later chips have but the M1 lacks.
type AbsentError struct {
	Engine string
	What   string
}

func (e *AbsentError) Error() string {
	return e.Engine + " (" + e.What + ") does not exist in the M1's engine"
}

// Absent returns an error if the given name, in the form BLOCK or BLOCK.REGISTER, belongs to an
// engine unit that the M1 lacks. It ignores case and underscores. For all other names it returns
// nil.
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
