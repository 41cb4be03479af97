package regs

import "strings"

// A HeaderError reports the name of a word of the descriptor's header that was given instead of an
// engine register.
type HeaderError struct{ Name string }

func (e *HeaderError) Error() string {
	return e.Name + ` is in the descriptor's header, which has no registers to set; edit it in the output of "dump --text" and assemble that with "asm"`
}

// HeaderName returns an error if name, such as "Header.Bases", denotes the descriptor's header or
// one of its words, ignoring case. Otherwise it returns nil.
func HeaderName(name string) *HeaderError {
	if block, _, _ := strings.Cut(name, "."); !strings.EqualFold(block, "Header") {
		return nil
	}
	return &HeaderError{name}
}
