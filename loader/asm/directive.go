package asm

import (
	"encoding/binary"
	hexadecimal "encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
)

// directives are the lines that begin with a dot, and how many words may follow.
var directives = [...]struct {
	name        string
	least, most int
	read        func(a *assembler, l line) error
}{
	{".td", 0, 1, (*assembler).td},
	{".record", 0, 0, (*assembler).record},
	{".size", 1, 1, (*assembler).textSize},
	{".at", 2, math.MaxInt, (*assembler).at},
	{".container", 2, 2, (*assembler).whole},
	{".procedure", 1, 1, (*assembler).procedure},
	{".port", 4, 6, (*assembler).port},
	{".scratch", 1, 1, (*assembler).scratch},
	{".weights", 1, 1, (*assembler).weights},
	{".values", 1, math.MaxInt, (*assembler).values},
	{".align", 0, 0, (*assembler).align},
	{".bind", 2, 5, (*assembler).bind},
}

func (a *assembler) directive(l line) error {
	head := l.tokens[0]
	for _, d := range directives {
		if d.name != head.text {
			continue
		}
		if n := len(l.tokens) - 1; n < d.least || n > d.most {
			at := head
			if n > d.most {
				at = l.tokens[d.most+1]
			}
			return l.fail(at, "%s has %d words behind it, want %s", d.name, n, span(d.least, d.most))
		}
		return d.read(a, l)
	}
	e := l.fail(head, "no directive %q", head.text)
	e.Nearest = nearest(head.text, func(yield func(string) bool) {
		for _, d := range directives {
			if !yield(d.name) {
				return
			}
		}
	})
	return e
}

func span(least, most int) string {
	switch {
	case least == most:
		return strconv.Itoa(least)
	case most == math.MaxInt:
		return strconv.Itoa(least) + " or more"
	}
	return strconv.Itoa(least) + " to " + strconv.Itoa(most)
}

// td begins a descriptor: .td, or .td @OFFSET.
func (a *assembler) td(l line) error {
	t := &task{Descriptor: new(regs.Descriptor), at: l}
	if len(l.tokens) > 1 {
		off, ok := strings.CutPrefix(l.tokens[1].text, "@")
		n, err := number(off)
		if !ok || err != nil || n < 0 || n>>31 != 0 || n%regs.Alignment != 0 {
			return l.fail(l.tokens[1], "%q is no offset of a descriptor: @ and a multiple of %#x", l.tokens[1].text, regs.Alignment)
		}
		t.Offset, t.placed = uint32(n), true
	}
	a.tasks = append(a.tasks, t)
	return nil
}

func (a *assembler) record(l line) error {
	if len(a.tasks) == 0 {
		return l.fail(l.tokens[0], ".record stands ahead of the first .td")
	}
	a.tasks[len(a.tasks)-1].breakRecord = true
	return nil
}

// textSize is the text's length where it goes on behind the chain.
func (a *assembler) textSize(l line) error {
	a.size, a.sizeLine = l.tokens[1], l
	return nil
}

// at puts bytes at an offset of the file: .at 0x40 c0ffee.
func (a *assembler) at(l line) error {
	off, err := number(l.tokens[1].text)
	if err != nil || off < 0 {
		return l.fail(l.tokens[1], "%q is no offset", l.tokens[1].text)
	}
	r := rawBytes{off: uint64(off), at: l}
	for _, t := range l.tokens[2:] {
		b, err := hexadecimal.DecodeString(t.text)
		if err != nil {
			return l.fail(t, "%q are no bytes in hexadecimal", t.text)
		}
		r.data = append(r.data, b...)
	}
	a.raw = append(a.raw, r)
	return nil
}

// whole says that the text is a container taken apart: .container SIZE TEXT-OFFSET.
func (a *assembler) whole(l line) error {
	var n [2]int64
	for i, t := range l.tokens[1:] {
		var err error
		if n[i], err = number(t.text); err != nil || n[i] < 0 {
			return l.fail(t, "%q is no number of bytes", t.text)
		}
	}
	if limit := a.limit(); uint64(n[0]) > limit {
		return l.fail(l.tokens[1], "container of %#x bytes exceeds the %#x that a text of %d bytes may ask for", n[0], limit, a.source)
	}
	a.container, a.unit.file, a.unit.textOff = true, make([]byte, n[0]), uint64(n[1])
	return nil
}

func (a *assembler) procedure(l line) error {
	a.unit.Procedure = l.tokens[1].text
	return nil
}

// port declares a tensor: .port input x b4 1x64x1x16 [strides=N,C,H,W] [bytes=N].
func (a *assembler) port(l line) error {
	p := loader.Port{Direction: loader.Input, Name: l.tokens[2].text, Type: loader.Float16()}
	switch l.tokens[1].text {
	case "input":
	case "output":
		p.Direction = loader.Output
	default:
		e := l.fail(l.tokens[1], "%q is neither input nor output", l.tokens[1].text)
		e.Nearest = nearest(l.tokens[1].text, slices.Values([]string{"input", "output"}))
		return e
	}
	digits, ok := strings.CutPrefix(l.tokens[3].text, "b")
	bar, err := strconv.Atoi(digits)
	if most := len(regs.BARs{}) - 1; !ok || err != nil || bar <= regs.BARScratch || bar > most {
		return l.fail(l.tokens[3], "%q is no buffer of a port: b%d to b%d", l.tokens[3].text, regs.BARScratch+1, most)
	}
	p.BAR = bar
	if err := four(l, l.tokens[4], "x", 1<<17-1, p.Shape[:]); err != nil {
		return err
	}
	// Rows take whole units of 64 bytes, one plane stands behind the other.
	row := (uint64(p.Shape[3])*2 + 63) &^ 63
	plane := row * uint64(p.Shape[2])
	p.Strides = [4]uint64{plane * uint64(p.Shape[1]), plane, row, 2}
	for _, t := range l.tokens[5:] {
		name, _, assigned := strings.Cut(t.text, "=")
		if !assigned {
			return l.fail(t, "%q has no value: want strides=N,C,H,W or bytes=N", t.text)
		}
		value := t.after(len(name) + 1)
		switch name {
		case "strides":
			var strides [4]int
			if err := four(l, value, ",", 1<<40, strides[:]); err != nil {
				return err
			}
			for i, s := range strides {
				p.Strides[i] = uint64(s)
			}
		case "bytes":
			n, err := number(value.text)
			if err != nil || n < 1 {
				return l.fail(t, "%q is no number of bytes", t.text)
			}
			p.Bytes = uint64(n)
		default:
			e := l.fail(t, "no such word of .port: %q", t.text)
			e.Nearest = nearest(name, slices.Values([]string{"strides", "bytes"}))
			return e
		}
	}
	for _, q := range a.unit.Ports {
		if q.Name == p.Name {
			return l.fail(l.tokens[2], "a second port %q", p.Name)
		}
	}
	a.unit.Ports = append(a.unit.Ports, p)
	return nil
}

// four reads four numbers from 1 on.
func four(l line, t token, separator string, most int64, dst []int) error {
	parts := strings.Split(t.text, separator)
	if len(parts) != 4 {
		return l.fail(t, "%q are not four numbers with %q between them: N, C, H, W", t.text, separator)
	}
	for i, s := range parts {
		n, err := number(s)
		if err != nil || n < 1 || n > most {
			return l.fail(t, "%q of %q is not between 1 and %d", s, t.text, most)
		}
		dst[i] = int(n)
	}
	return nil
}

func (a *assembler) scratch(l line) error {
	n, err := number(l.tokens[1].text)
	if err != nil || n < 1 || n > loader.MaxScratch {
		return l.fail(l.tokens[1], "%q is not between 1 and %#x bytes", l.tokens[1].text, loader.MaxScratch)
	}
	a.unit.Scratch = uint64(n)
	return nil
}

// weights puts a file's values behind the constants so far.
func (a *assembler) weights(l line) error {
	t := l.tokens[1]
	name := t.text
	if unquoted, err := strconv.Unquote(name); err == nil {
		name = unquoted
	}
	if a.options.Weights == nil {
		return l.fail(t, "no file can be read from here")
	}
	b, err := a.options.Weights(name)
	if err != nil {
		return &Error{Line: l.number, Col: t.col, What: "weights " + name, Err: err}
	}
	a.unit.Constants = append(a.unit.Constants, b...)
	return nil
}

// values puts fp16 values behind the constants so far.
func (a *assembler) values(l line) error {
	for _, t := range l.tokens[1:] {
		v, err := parseValue(regs.Field{Name: "a coefficient", Width: 16, Type: "half"}, t.text)
		if err != nil {
			return l.fail(t, "%v", err)
		}
		a.unit.Constants = binary.LittleEndian.AppendUint16(a.unit.Constants, uint16(float16.Frombits(uint16(v))))
	}
	return nil
}

// align fills the constants up to the next lane.
func (a *assembler) align(line) error {
	for len(a.unit.Constants)%loader.TileSize != 0 {
		a.unit.Constants = append(a.unit.Constants, 0)
	}
	return nil
}

// bind declares a run-time parameter: .bind NAME VALUE [START STOP STEP].
func (a *assembler) bind(l line) error {
	t := l.tokens[1]
	if len(l.tokens) == 4 || len(l.tokens) == 5 {
		return l.fail(t, ".bind takes a name, a value, and then START STOP STEP or nothing")
	}
	if _, twice := a.params[t.text]; twice {
		return l.fail(t, "a second .bind of %q", t.text)
	}
	n := [4]uint64{3: 1}
	for i, t := range l.tokens[2:] {
		v, err := number(t.text)
		if err != nil || v < 0 {
			return l.fail(t, "%q is no parameter's value", t.text)
		}
		n[i] = uint64(v)
	}
	p := Param{Name: t.text, Value: n[0], Range: loader.Range{Start: n[1], Stop: n[2], Step: n[3]}}
	if len(l.tokens) == 3 {
		p.Range = loader.Range{Stop: 1<<42 - 1, Step: 1}
	}
	if v, ok := a.options.Bind[p.Name]; ok {
		p.Value = v
	}
	a.params[p.Name] = p
	a.unit.Params = append(a.unit.Params, p)
	return nil
}
