package regs

import "strings"

// A HeaderError reports that a word of a descriptor's header was named where an engine register is
// required.
type HeaderError struct{ Name string }

func (e *HeaderError) Error() string {
	return e.Name + ` is in the descriptor's header, which has no registers to set; edit it in the output of "dump --text" and assemble that with "asm"`
}

// headerName returns an error if the given name, such as "Header.Bases", names the header of a
// descriptor or one of its words, ignoring case. For all other names it returns nil.
func headerName(name string) *HeaderError {
	if block, _, _ := strings.Cut(name, "."); !strings.EqualFold(block, "Header") {
		return nil
	}
	return &HeaderError{name}
}
