package mac

import "fmt"

// A FormatError reports bytes that are not a valid activation table or not valid packed weights.
type FormatError struct {
	Form string // format that was expected: "table", "palette", "sparse" or "int8"
	Off  int    // byte offset of the error, or len(input) if the input is too short
	What string // description of the error
	Val  any    // the invalid value, nil if there is none
}

func (e *FormatError) Error() string {
	s := fmt.Sprintf("mac: %s: byte %d: %s", e.Form, e.Off, e.What)
	if e.Val != nil {
		s += fmt.Sprintf(": %v", e.Val)
	}
	return s
}
