package asm

import (
	"strconv"
	"strings"

	"anesim/hw/regs"
)

// assembleRegister handles a line that sets one register, or several adjacent registers of an
// array.
func (a *assembler) assembleRegister(l line) error {
	t := a.tasks[len(a.tasks)-1]
	head := l.tokens[0]
	if toLowerASCII(head.text) == "header.extra" {
		return a.setExtraWord(t, l)
	}
	list, err := a.findRegisters(l, head)
	if err != nil {
		return err
	}
	if len(l.tokens) == 1 {
		return l.errorAt(head, "missing value for %s", head.text)
	}
	step := int64(0)
	values := l.tokens[1:]
	// Weights of 16 engines are mostly at equal distances in memory: a step states 16 addresses in one
	// line.
	if n := len(values); n > 2 && values[n-2].text == "step" {
		if step, err = regs.ParseNumber(values[n-1].text); err != nil {
			return l.errorAt(values[n-1], "%v", err)
		}
		if n != 3 || !list[0].Sole() {
			return l.errorAt(values[n-2], "invalid step; want exactly one number before it and registers with a single field")
		}
		values = values[:1]
	}
	for i := range list {
		r := &list[i]
		v := values
		if step != 0 && i > 0 {
			first, err := regs.ParseNumber(values[0].text)
			if err != nil {
				return l.errorAt(values[0], "%v", err)
			}
			v = []token{{strconv.FormatInt(first+int64(i)*step, 10), values[0].col}}
		}
		w, err := a.parseWord(l, r, v)
		if err != nil {
			return err
		}
		t.writeRegister(r, w, v)
	}
	return nil
}

func (a *assembler) setExtraWord(t *task, l line) error {
	if len(l.tokens) != 2 {
		return l.errorAt(l.tokens[0], "Header.Extra has %d values; want one number", len(l.tokens)-1)
	}
	n, err := regs.ParseNumber(l.tokens[1].text)
	if err != nil || n < 0 || n>>32 != 0 {
		return l.errorAt(l.tokens[1], "%q is not a 32-bit number", l.tokens[1].text)
	}
	t.Extra = uint32(n)
	return nil
}

// findRegisters returns the registers that a name refers to: Block.Name, Block.Name[3],
// Block.Name[0-15], or a byte address.
func (a *assembler) findRegisters(l line, t token) ([]regs.Register, error) {
	name := toLowerASCII(t.text)
	// The disassembler writes a register that has no name as its address. Addresses are keys in one
	// spelling, without leading zeros.
	if n, err := strconv.ParseUint(name, 0, 32); err == nil {
		name = formatHex(n)
		if n == 0 {
			name = "0"
		}
	}
	if r, ok := a.registers[name]; ok {
		return []regs.Register{r}, nil
	}
	if open := strings.IndexByte(name, '['); open >= 0 && strings.HasSuffix(name, "]") {
		first, last, ok := strings.Cut(name[open+1:len(name)-1], "-")
		// No array has 256 registers, and the limit keeps the loop below short.
		lo, err := strconv.ParseUint(first, 10, 8)
		hi, err2 := strconv.ParseUint(last, 10, 8)
		if ok && err == nil && err2 == nil && lo <= hi {
			var list []regs.Register
			for i := lo; i <= hi; i++ {
				r, ok := a.registers[name[:open+1]+strconv.FormatUint(i, 10)+"]"]
				if !ok {
					list = nil
					break
				}
				list = append(list, r)
			}
			if list != nil {
				return list, nil
			}
		}
	}
	// Later chips have units that the M1 lacks. To say so helps more than the nearest name of another unit
	// would.
	if e := regs.Absent(t.text); e != nil {
		return nil, l.errorAt(t, "unknown register %q: %v", t.text, e)
	}
	e := l.errorAt(t, "unknown register %q", t.text)
	e.Nearest = nearestName(t.text, func(yield func(string) bool) {
		for r := range regs.HeaderRegisters() {
			if !yield("Header." + r.Name) {
				return
			}
		}
		for r := range regs.Registers() {
			if !yield(r.Block + "." + r.Name) {
				return
			}
		}
	})
	return nil, e
}

// parseWord parses the values that line l gives for register r and returns the register's word.
func (a *assembler) parseWord(l line, r *regs.Register, values []token) (uint32, error) {
	var w, set uint32 // set marks the bits given so far
	for i, t := range values {
		name, _, assigned := strings.Cut(t.text, "=")
		switch {
		case strings.HasPrefix(t.text, "+"):
			n, err := regs.ParseNumber(t.text[1:])
			if err != nil || n < 0 || n>>32 != 0 {
				return 0, l.errorAt(t, "invalid bits %q; want + and a number below 2^32", t.text)
			}
			// Bits that are given twice are a mistake of whoever wrote the text; the last one must not win
			// silently.
			if set&uint32(n) != 0 {
				return 0, l.errorAt(t, "bits %#x are set twice", set&uint32(n))
			}
			w, set = w|uint32(n), set|uint32(n)
			continue
		case assigned && name == "word":
			n, err := a.parseWordNumber(l, t.suffixFrom(len("word=")))
			if err != nil {
				return 0, err
			}
			if len(values) != 1 {
				return 0, l.errorAt(t, "word= sets all bits and cannot be combined with other values")
			}
			return n, nil
		case i == 0 && !assigned && r.Sole():
			v, err := a.parseField(l, r.Fields[0], t)
			if err != nil {
				return 0, err
			}
			w, set = r.Fields[0].With(w, v), r.Fields[0].With(set, 1<<r.Fields[0].Width-1)
			continue
		// A bare number is the whole word for a register with several fields.
		case !assigned && t.text != "" && (t.text[0] == '-' || t.text[0] == '$' || '0' <= t.text[0] && t.text[0] <= '9'):
			if len(values) != 1 {
				return 0, l.errorAt(t, "number sets all bits of %s and cannot be combined with other values", r.Name)
			}
			return a.parseWordNumber(l, t)
		}
		f, v, err := a.parseAssignment(l, r, t)
		if err != nil {
			return 0, err
		}
		mask := f.With(0, 1<<f.Width-1)
		if set&mask != 0 {
			return 0, l.errorAt(t, "field %s is set twice", f.Name)
		}
		w, set = f.With(w, v), set|mask
	}
	return w, nil
}

// parseAssignment parses FIELD=VALUE, or FIELD alone for a field of one bit that is set. It
// returns the field of r and its value.
func (a *assembler) parseAssignment(l line, r *regs.Register, t token) (f regs.Field, v uint32, err error) {
	name, value, assigned := strings.Cut(t.text, "=")
	f, ok := r.Field(name)
	switch {
	case !ok:
		e := l.errorAt(t, "unknown field %q of %s.%s", name, r.Block, r.Name)
		e.Nearest = nearestName(name, func(yield func(string) bool) {
			for _, f := range r.Fields {
				if !yield(f.Name) {
					return
				}
			}
		})
		return f, 0, e
	case assigned:
		v, err = a.parseField(l, f, t.suffixFrom(len(t.text)-len(value)))
		return f, v, err
	case f.Type != "bool":
		return f, 0, l.errorAt(t, "missing value for %s; want %[1]s=...", f.Name)
	}
	return f, 1, nil
}

// parseField parses a value of field f, or a run-time parameter $NAME.
func (a *assembler) parseField(l line, f regs.Field, t token) (uint32, error) {
	text := t.text
	if strings.HasPrefix(text, "$") {
		n, err := a.resolveParam(l, t)
		if err != nil {
			return 0, err
		}
		text = strconv.FormatUint(n, 10)
	}
	v, err := f.ParseText(text)
	if err != nil {
		e := l.errorAt(t, "%v", err)
		e.Nearest = nearestName(t.text, func(yield func(string) bool) {
			values, _ := f.Enum()
			for _, name := range values.Values() {
				if !yield(name) {
					return
				}
			}
		})
		return 0, e
	}
	return v, nil
}

// parseWordNumber parses a number with at most 32 bits, or a run-time parameter $NAME.
func (a *assembler) parseWordNumber(l line, t token) (uint32, error) {
	if strings.HasPrefix(t.text, "$") {
		n, err := a.resolveParam(l, t)
		if err == nil && n>>32 != 0 {
			err = l.errorAt(t, "value %#x exceeds 32 bits", n)
		}
		return uint32(n), err
	}
	n, err := regs.ParseNumber(t.text)
	if err != nil || n>>32 > 0 || n < -1<<31 {
		return 0, l.errorAt(t, "%q is not a 32-bit number", t.text)
	}
	return uint32(n), nil
}

// writeRegister makes the descriptor set register r to w. The values are the tokens that w
// was parsed from.
func (t *task) writeRegister(r *regs.Register, w uint32, values []token) {
	if r.Group == "H" {
		t.header[r.Word] = w
		switch r.Name {
		case "Next":
			t.next = true
		case "Timing":
			// A number sets the whole word; fields set only the named ones.
			f, _ := r.Field("NextSize")
			t.nextSize = f.Of(w) != 0
			for _, v := range values {
				name, _, assigned := strings.Cut(v.text, "=")
				all := name == "word" || !assigned && !strings.HasPrefix(name, "+")
				t.nextSize = t.nextSize || all || strings.EqualFold(name, f.Name)
			}
		}
		return
	}
	addr := r.Addr()
	if n := len(t.Records); n > 0 && !t.breakRecord {
		last := &t.Records[n-1]
		if len(last.Values) < maxRecord && last.Addr+4*uint32(len(last.Values)) == addr {
			last.Values = append(last.Values, w)
			return
		}
	}
	t.breakRecord = false
	t.Records = append(t.Records, regs.Record{Addr: addr, Values: []uint32{w}})
}

// maxRecord is the largest number of registers that one record can set.
const maxRecord = 64
