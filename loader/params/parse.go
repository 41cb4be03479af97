package params

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"anesim/hw/regs"
	"anesim/loader"
)

// MaxText is the largest text, in bytes, that [Parse] accepts.
const MaxText = 4 << 20

// Limits on a text.
const (
	maxLines = 1 << 17

	valueBits = 42 // bits of a number, as many as in a device address
)

// A TextError reports a malformed line in a text that describes run-time parameters.
type TextError struct {
	Line int // from 1
	What string

	// Word is an unknown word and Known the words that are allowed. Both are empty for
	// other mistakes.
	Word  string
	Known []string
}

func (e *TextError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// Parse parses the text form of a [Set], which the package comment describes. Every error is a
// *TextError.
func Parse(data []byte) (*Set, error) {
	if len(data) > MaxText {
		return nil, &TextError{Line: 1, What: fmt.Sprintf("text has %d bytes; want at most %d", len(data), MaxText)}
	}
	r := reader{set: new(Set)}
	for line := range bytes.Lines(data) {
		if r.line++; r.line > maxLines {
			return nil, r.errorf("text exceeds %d lines", maxLines)
		}
		if !utf8.Valid(line) {
			return nil, r.errorf("text is not valid UTF-8")
		}
		text, _, _ := strings.Cut(string(line), "#")
		if words := strings.Fields(text); len(words) > 0 {
			if err := r.readLine(words); err != nil {
				return nil, err
			}
		}
	}
	return r.set, nil
}

// A reader holds the state of parsing a text.
type reader struct {
	set  *Set
	line int
}

func (r *reader) errorf(format string, args ...any) error {
	return &TextError{Line: r.line, What: fmt.Sprintf(format, args...)}
}

func (r *reader) readLine(words []string) error {
	switch words[0] {
	case "param":
		return r.readParam(words[1:])
	case "shape", "strides":
		return r.readAxes(words[0] == "strides", words[1:])
	}
	for _, k := range kinds {
		if k.word == words[0] {
			return r.readField(k.kind, words[1:])
		}
	}
	known := []string{"param", "shape", "strides"}
	for _, k := range kinds {
		known = append(known, k.word)
	}
	return &TextError{r.line, fmt.Sprintf("unknown keyword %q; want one of %s", words[0], strings.Join(known, ", ")), words[0], known}
}

func (r *reader) readParam(words []string) error {
	if len(words) != 5 {
		return r.errorf("param has %d operands; want NAME VALUE START STOP STEP", len(words))
	}
	if !isParameterName(words[0]) {
		return r.errorf("invalid name %q; want up to 64 letters, digits or _, not starting with a digit", words[0])
	}
	for _, p := range r.set.Parameters {
		if p.Name == words[0] {
			return r.errorf("duplicate parameter %q", p.Name)
		}
	}
	var v [4]uint64
	for i, w := range words[1:] {
		n, err := strconv.ParseUint(w, 0, valueBits)
		if err != nil {
			return r.errorf("invalid number %q; want 0 to 1<<%d-1", w, valueBits)
		}
		v[i] = n
	}
	p := Parameter{words[0], v[0], loader.Range{Start: v[1], Stop: v[2], Step: v[3]}}
	if !p.Range.Contains(p.Value) {
		return r.errorf("%s is %d; want %d to %d in steps of %d", p.Name, p.Value, v[1], v[2], v[3])
	}
	r.set.Parameters = append(r.set.Parameters, p)
	return nil
}

// isParameterName reports whether a word is a valid parameter name: letters, digits and
// underscores, not starting with a digit, at most 64 characters.
func isParameterName(s string) bool {
	for i, c := range s {
		letter := c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

func (r *reader) readField(kind loader.RelocKind, words []string) error {
	if len(words) != 3 && len(words) != 4 {
		return r.errorf("found %d operands; want DESCRIPTOR BLOCK.REGISTER.FIELD VALUE [>>N]", len(words))
	}
	task, err := strconv.Atoi(words[0])
	if err != nil || task < 0 || task > 1<<20 {
		return r.errorf("invalid descriptor number %q; want 0 to %d", words[0], 1<<20)
	}
	x := loader.Relocation{Kind: kind, Task: task}
	name, field := words[1], ""
	// Fields have no dots in their names, registers have one before them.
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		name, field = name[:i], name[i+1:]
	}
	block, register, _ := strings.Cut(name, ".")
	reg, ok := regs.Lookup(block, register)
	if !ok {
		var known []string
		for reg := range regs.Registers() {
			known = append(known, reg.Block+"."+reg.Name)
		}
		return &TextError{r.line, fmt.Sprintf("unknown register %q", name), name, known}
	}
	f, ok := reg.Field(field)
	if !ok {
		var known []string
		for _, f := range reg.Fields {
			known = append(known, f.Name)
		}
		return &TextError{r.line, fmt.Sprintf("%s.%s has no field %q; want one of %s", reg.Block, reg.Name, field, strings.Join(known, ", ")), field, known}
	}
	x.Register, x.Bit, x.Width = reg.Addr(), f.Low, f.Width
	// Fields that count units of several bytes drop the low bits of the value. Registers have 32 bits, so
	// no shift is larger than 31.
	if len(words) == 4 {
		shift, ok := strings.CutPrefix(words[3], ">>")
		n, err := strconv.Atoi(shift)
		if !ok || err != nil || n < 0 || n > 31 {
			return r.errorf("invalid shift %q; want >>0 to >>31", words[3])
		}
		x.Shift = n
	}
	if err := r.readValue(&x, words[2]); err != nil {
		return err
	}
	r.set.Relocations = append(r.set.Relocations, x)
	return nil
}

func (r *reader) readValue(x *loader.Relocation, word string) error {
	switch x.Kind {
	case loader.LiveIn:
		p, scale, plus, err := r.parseLinearTerm(word)
		if err != nil {
			return err
		}
		x.Name, x.Value, x.Range, x.Scale, x.Plus = p.Name, p.Value, p.Range, scale, plus
		return nil
	case loader.DeviceAddress:
		bar, more, _ := strings.Cut(word, "+")
		n, err := strconv.Atoi(strings.TrimPrefix(bar, "b"))
		if err != nil || bar == "" || bar[0] != 'b' || n < 0 || n >= len(regs.BARs{}) {
			return r.errorf("invalid address %q; want a buffer from b0 to b%d and an optional offset, such as b5+0x40", word, len(regs.BARs{})-1)
		}
		x.Target = n
		if word = more; more == "" {
			return nil
		}
	}
	n, err := strconv.ParseUint(word, 0, valueBits)
	if err != nil {
		return r.errorf("invalid number %q; want 0 to 1<<%d-1", word, valueBits)
	}
	x.Value = n
	return nil
}

// parseLinearTerm parses NAME or N*NAME, optionally followed by +N or -N.
func (r *reader) parseLinearTerm(word string) (p *Parameter, scale, plus int64, err error) {
	bad := func() (*Parameter, int64, int64, error) {
		return nil, 0, 0, r.errorf("invalid value %q; want a parameter such as k, 2*k or 2*k+64", word)
	}
	rest := word
	if n, after, ok := strings.Cut(word, "*"); ok {
		if scale, err = strconv.ParseInt(n, 0, 64); err != nil || scale == 0 {
			return bad()
		}
		rest = after
	}
	name := rest
	if i := strings.IndexAny(rest, "+-"); i >= 0 {
		name = rest[:i]
		if plus, err = strconv.ParseInt(rest[i:], 0, 64); err != nil {
			return bad()
		}
	}
	// Scale 0 means 1, so k and 1*k are the same relocation and are written back alike.
	if scale == 1 {
		scale = 0
	}
	var known []string
	for i := range r.set.Parameters {
		if p := &r.set.Parameters[i]; p.Name == name {
			return p, scale, plus, nil
		}
		known = append(known, r.set.Parameters[i].Name)
	}
	// Only now: a name that is declared is valid, and "undeclared" would be the wrong complaint about a
	// number.
	if !isParameterName(name) {
		return bad()
	}
	return nil, 0, 0, &TextError{r.line, fmt.Sprintf("undeclared parameter %q", name), name, known}
}

func (r *reader) readAxes(stride bool, words []string) error {
	if len(words) < 2 || words[0] != "input" && words[0] != "output" {
		return r.errorf("invalid operands %q; want input or output, a port and four values (- keeps a value)", strings.Join(words, " "))
	}
	d := loader.Input
	if words[0] == "output" {
		d = loader.Output
	}
	port, err := strconv.QuotedPrefix(strings.Join(words[1:], " "))
	list := strings.Fields(strings.Join(words[1:], " ")[len(port):])
	if err != nil {
		port, list = words[1], words[2:]
	} else if port, err = strconv.Unquote(port); err != nil {
		return r.errorf("invalid quoted name %s", words[1])
	}
	if len(list) != 4 {
		return r.errorf("found %d values; want four: N, C, H and W (- keeps a value)", len(list))
	}
	for axis, w := range list {
		if w == "-" {
			continue
		}
		p, scale, plus, err := r.parseLinearTerm(w)
		if err != nil {
			return err
		}
		r.set.Axes = append(r.set.Axes, loader.LiveAxis{Port: port, Direction: d, Axis: axis, Stride: stride, Name: p.Name, Scale: scale, Plus: plus})
	}
	return nil
}
