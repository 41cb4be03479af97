package asm

import (
	"strings"

	"anesim/hw/regs"
)

// ParseAssignment parses an assignment to a register, such as BLOCK.REGISTER=VALUE, or to one of
// its fields, such as BLOCK.REGISTER.FIELD=VALUE, in the notation of descriptor text. It returns
// the register r, a mask of the bits to replace, and value, which holds the new bits in their place
// in r. All errors are of type *[Error], with line 1.
func ParseAssignment(text string) (r regs.Register, mask, value uint32, err error) {
	name, text1, ok := strings.Cut(text, "=")
	l := line{number: 1}
	whole := token{text, 1}
	if !ok || text1 == "" {
		return r, 0, 0, addPosition("assignment", 1, l.errorAt(whole, "missing value; want BLOCK.REGISTER.FIELD=VALUE"))
	}
	a := &assembler{options: new(Options), registers: make(map[string]regs.Register), params: make(map[string]Param)}
	for r := range regs.Registers() {
		a.registers[toLowerASCII(r.Block+"."+r.Name)] = r
	}
	if e := regs.HeaderName(name); e != nil {
		return r, 0, 0, addPosition("assignment", 1, l.errorAt(whole, "%v", e))
	}
	register, field := name, ""
	// The name of a register itself has a dot, so only a dot after that one separates a field.
	if _, ok := a.registers[toLowerASCII(name)]; !ok {
		if i := strings.LastIndexByte(name, '.'); i >= 0 && strings.Contains(name[:i], ".") {
			register, field = name[:i], name[i+1:]
		}
	}
	list, err := a.findRegisters(l, token{register, 1})
	if err != nil {
		return r, 0, 0, addPosition("assignment", 1, err)
	}
	if len(list) != 1 {
		return r, 0, 0, addPosition("assignment", 1, l.errorAt(whole, "%s names more than one register; want one", register))
	}
	r = list[0]
	value1 := token{text1, len(name) + 2}
	if field == "" {
		mask = ^uint32(0)
		// The value of a register with one field is that of the field, as in descriptor text. The other
		// bits of the word stay.
		if r.Sole() {
			mask = r.Fields[0].With(0, 1<<r.Fields[0].Width-1)
		}
		value, err = a.parseWord(l, &r, []token{value1})
	} else {
		value, err = a.parseWord(l, &r, []token{{field + "=" + text1, len(register) + 2}})
		if f, ok := r.Field(field); ok {
			mask = f.With(0, 1<<f.Width-1)
		}
	}
	if err != nil {
		return r, 0, 0, addPosition("assignment", 1, err)
	}
	return r, mask, value, nil
}
