package mac

import "fmt"

// FormatError says what is wrong with the bytes of an activation table or of
// packed weights.
type FormatError struct {
	Form string // what the bytes were read as: "table", "palette", "sparse", "int8"
	Off  int    // byte offset of the trouble, len(input) when the input is short
	What string // what is wrong there
	Val  any    // the offending value, nil when there is none
}

func (e *FormatError) Error() string {
	s := fmt.Sprintf("mac: %s: byte %d: %s", e.Form, e.Off, e.What)
	if e.Val != nil {
		s += fmt.Sprintf(" (%v)", e.Val)
	}
	return s
}
