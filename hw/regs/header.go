package regs

import "strings"

// A HeaderError is the name of a word of a descriptor's header, given where a register of the
// engine is wanted.
type HeaderError struct{ Name string }

func (e *HeaderError) Error() string {
	return e.Name + ` is in the descriptor's header, which has no registers to set; edit it in the output of "dump --text" and assemble that with "asm"`
}

// HeaderName returns an error if a name, such as "Header.Bases", names the descriptor's
// header or a word of it, case aside. It returns nil for every other name.
func HeaderName(name string) *HeaderError {
	if block, _, _ := strings.Cut(name, "."); !strings.EqualFold(block, "Header") {
		return nil
	}
	return &HeaderError{name}
}
