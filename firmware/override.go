package firmware

import (
	"errors"
	"fmt"
	"strings"

	"anesim/hw/regs"
	"anesim/internal/spelling"
)

// An Override replaces the value of a task register, or of one of its fields, in every descriptor.
type Override struct {
	Register regs.Register
	Field    *regs.Field // nil for the whole word
	Value    uint32      // raw bits of the field or word
}

// String returns the override in the form that [ParseOverride] parses.
func (o Override) String() string {
	name := o.Register.Block + "." + o.Register.Name
	if o.Field == nil {
		return fmt.Sprintf("%s=%#x", name, o.Value)
	}
	return fmt.Sprintf("%s.%s=%#x", name, o.Field.Name, uint64(o.Value)<<o.Field.Unit())
}

// Apply writes the override's value to the register file f.
func (o Override) Apply(f *regs.File) error {
	if o.Field == nil {
		return f.Store(o.Register.Addr(), o.Value)
	}
	return f.MaskedWrite(o.Register.Addr(), o.Field.With(0, 1<<o.Field.Width-1), o.Field.With(0, o.Value))
}

// An OverrideError reports a text that is not a valid override.
type OverrideError struct {
	Text string   // text of the override
	What string   // the mistake and what was expected
	Near []string // known names close to an unknown one
	Err  error    // cause, or nil
}

// Unwrap returns the cause of the error, e.Err, which may be nil.
func (e *OverrideError) Unwrap() error { return e.Err }

func (e *OverrideError) Error() string {
	return fmt.Sprintf("override %q: %s", e.Text, e.What) + spelling.Hint(e.Near)
}

// ParseOverride parses an override such as "PE.Cfg.OpMode=1" for a field of a register, or
// "Common.InDim=0x10001" for a whole register, in the notation of [regs.ParseAssignment]. The error is
// an *[OverrideError].
func ParseOverride(s string) (Override, error) {
	r, field, value, err := regs.ParseAssignment(s)
	if err == nil {
		return Override{Register: r, Field: field, Value: value}, nil
	}
	e := &OverrideError{Text: s, What: err.Error(), Err: errors.Unwrap(err)}
	var a *regs.AssignmentError
	if errors.As(err, &a) && a.Unknown != "" {
		if e.Near = spelling.Nearest(a.Unknown, a.Names); len(e.Near) == 0 && len(a.Names) > 0 {
			e.What += "; want one of " + strings.Join(a.Names, ", ")
		}
	}
	return Override{}, e
}
