package regs

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// An AssignmentError reports a text that is not an assignment to a register or to one of its fields.
type AssignmentError struct {
	What    string   // the mistake and what was expected
	Unknown string   // name of a group, register or field that does not exist, or ""
	Names   []string // names that exist in its place
	Err     error    // cause, or nil
}

func (e *AssignmentError) Error() string { return e.What }

// Unwrap returns the cause of the error, e.Err, which may be nil.
func (e *AssignmentError) Unwrap() error { return e.Err }

// ParseAssignment parses an assignment such as "PE.Cfg.OpMode=1" to a field of a register, or
// "Common.InDim=0x10001" to a whole register. The number of a group, such as "G4", may replace its
// name. Case does not matter. A field has the values of descriptor text; see [Field.ParseText]. A
// register whose only field is a size or a float has that field's values. The value consists of the raw
// bits of the field, or of the word if field is nil. The error is an *[AssignmentError].
func ParseAssignment(text string) (r Register, field *Field, value uint32, err error) {
	fail := func(cause error, format string, args ...any) (Register, *Field, uint32, error) {
		return Register{}, nil, 0, &AssignmentError{What: fmt.Sprintf(format, args...), Err: cause}
	}
	unknown := func(name string, names []string, format string, args ...any) (Register, *Field, uint32, error) {
		return Register{}, nil, 0, &AssignmentError{What: fmt.Sprintf(format, args...), Unknown: name, Names: names}
	}
	name, number, ok := strings.Cut(text, "=")
	if !ok {
		return fail(nil, "missing value; want GROUP.REGISTER.FIELD=VALUE")
	}
	path := strings.Split(strings.TrimSpace(name), ".")
	if len(path) != 2 && len(path) != 3 {
		return fail(nil, "malformed name; want GROUP.REGISTER.FIELD=VALUE or GROUP.REGISTER=VALUE")
	}
	if r, ok = Lookup(path[0], path[1]); !ok {
		// What has no register is better explained than called unknown.
		if e := headerName(path[0] + "." + path[1]); e != nil {
			return fail(e, "%v", e)
		}
		if e := Absent(path[0]); e != nil {
			return fail(e, "%v", e)
		}
		groups, registers := registerNames(path[0])
		if len(registers) == 0 {
			return unknown(path[0], groups, "unknown register group %q", path[0])
		}
		return unknown(path[1], registers, "group %s has no register %q", path[0], path[1])
	}
	switch {
	case len(path) == 3:
		f, ok := r.Field(path[2])
		if !ok {
			var names []string
			for _, f := range r.Fields {
				names = append(names, f.Name)
			}
			return unknown(path[2], names, "register %s.%s has no field %q", r.Block, r.Name, path[2])
		}
		field = &f
	case r.Sole():
		field = &r.Fields[0]
	}
	number = strings.TrimSpace(number)
	if field != nil {
		if value, err = field.ParseText(number); err != nil {
			return fail(err, "%v", err)
		}
		return r, field, value, nil
	}
	v, err := ParseNumber(number)
	switch {
	case err != nil:
		return fail(err, "%v", err)
	case v < math.MinInt32 || v > math.MaxUint32: // a negative number is encoded in two's complement
		return fail(nil, "value %s does not fit in 32 bits", number)
	}
	return r, nil, uint32(v), nil
}

// registerNames returns the names of all register groups, and of the registers in the named group.
func registerNames(group string) (groups, registers []string) {
	for r := range Registers() {
		if !slices.Contains(groups, r.Block) {
			groups = append(groups, r.Block)
		}
		if strings.EqualFold(r.Block, group) || strings.EqualFold(r.Group, group) {
			registers = append(registers, r.Name)
		}
	}
	return groups, registers
}
