package firmware

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"anesim/hw/regs"
	"anesim/hw/spelling"
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
// "Common.InDim=0x10001" for a whole register. The number of a group, such as "G4", may replace its
// name. Case does not matter. A field has the values of descriptor text; see [regs.Field.ParseText]. A
// register whose only field is a size or a float has that field's values. The error is an
// *[OverrideError].
func ParseOverride(s string) (Override, error) {
	fail := func(cause error, near []string, format string, args ...any) (Override, error) {
		return Override{}, &OverrideError{Text: s, What: fmt.Sprintf(format, args...), Near: near, Err: cause}
	}
	unknown := func(name string, names []string, format string, args ...any) (Override, error) {
		near := spelling.Nearest(name, names)
		if len(near) == 0 && len(names) > 0 {
			format += "; want one of %s"
			args = append(args, strings.Join(names, ", "))
		}
		return fail(nil, near, format, args...)
	}
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return fail(nil, nil, "missing value; want GROUP.REGISTER.FIELD=VALUE")
	}
	path := strings.Split(strings.TrimSpace(name), ".")
	if len(path) != 2 && len(path) != 3 {
		return fail(nil, nil, "malformed name; want GROUP.REGISTER.FIELD=VALUE or GROUP.REGISTER=VALUE")
	}
	var o Override
	if o.Register, ok = regs.Lookup(path[0], path[1]); !ok {
		if e := regs.HeaderName(path[0] + "." + path[1]); e != nil {
			return fail(e, nil, "%v", e)
		}
		if e := regs.Absent(path[0]); e != nil {
			return fail(e, nil, "%v", e)
		}
		blocks, registers := registerNames(path[0])
		if len(registers) == 0 {
			return unknown(path[0], blocks, "unknown register group %q", path[0])
		}
		return unknown(path[1], registers, "group %s has no register %q", path[0], path[1])
	}
	if len(path) == 2 && o.Register.Sole() {
		o.Field = &o.Register.Fields[0]
	}
	if len(path) == 3 {
		f, ok := o.Register.Field(path[2])
		if !ok {
			var fields []string
			for _, f := range o.Register.Fields {
				fields = append(fields, f.Name)
			}
			return unknown(path[2], fields, "register %s.%s has no field %q", o.Register.Block, o.Register.Name, path[2])
		}
		o.Field = &f
	}
	value = strings.TrimSpace(value)
	if o.Field != nil {
		v, err := o.Field.ParseText(value)
		if err != nil {
			return fail(err, nil, "%v", err)
		}
		o.Value = v
		return o, nil
	}
	v, err := regs.ParseNumber(value)
	switch {
	case err != nil:
		return fail(err, nil, "%v", err)
	case v < math.MinInt32 || v > math.MaxUint32: // a negative number is encoded in two's complement
		return fail(nil, nil, "value %s does not fit in 32 bits", value)
	}
	o.Value = uint32(v)
	return o, nil
}

// registerNames returns the names of all register groups, and of the registers in the named group.
func registerNames(group string) (groups, registers []string) {
	for r := range regs.Registers() {
		if !slices.Contains(groups, r.Block) {
			groups = append(groups, r.Block)
		}
		if strings.EqualFold(r.Block, group) || strings.EqualFold(r.Group, group) {
			registers = append(registers, r.Name)
		}
	}
	return groups, registers
}
