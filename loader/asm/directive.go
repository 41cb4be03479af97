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

// directives lists the directives of descriptor text with their minimum and maximum number
// of operands.
var directives = [...]struct {
	name        string
	least, most int
	read        func(a *assembler, l line) error
}{
	{".td", 0, 1, (*assembler).beginDescriptor},
	{".record", 0, 0, (*assembler).beginRecord},
	{".size", 1, 1, (*assembler).setTextSize},
	{".at", 2, math.MaxInt, (*assembler).addRawBytes},
	{".container", 2, 2, (*assembler).beginContainer},
	{".procedure", 1, 1, (*assembler).setProcedureName},
	{".port", 4, 6, (*assembler).declarePort},
	{".scratch", 1, 1, (*assembler).setScratchSize},
	{".weights", 1, 1, (*assembler).appendWeights},
	{".values", 1, math.MaxInt, (*assembler).appendValues},
	{".align", 0, 0, (*assembler).alignConstants},
	{".bind", 2, 5, (*assembler).declareParam},
}

func (a *assembler) assembleDirective(l line) error {
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
			return l.errorAt(at, "%s has %d operands; want %s", d.name, n, formatOperandCount(d.least, d.most))
		}
		return d.read(a, l)
	}
	e := l.errorAt(head, "unknown directive %q", head.text)
	e.Nearest = nearestName(head.text, func(yield func(string) bool) {
		for _, d := range directives {
			if !yield(d.name) {
				return
			}
		}
	})
	return e
}

func formatOperandCount(least, most int) string {
	switch {
	case least == most:
		return strconv.Itoa(least)
	case most == math.MaxInt:
		return strconv.Itoa(least) + " or more"
	}
	return strconv.Itoa(least) + " to " + strconv.Itoa(most)
}

// beginDescriptor handles .td and .td @OFFSET, which begin a descriptor, the latter at OFFSET.
func (a *assembler) beginDescriptor(l line) error {
	t := &task{Descriptor: new(regs.Descriptor), at: l}
	if len(l.tokens) > 1 {
		off, ok := strings.CutPrefix(l.tokens[1].text, "@")
		n, err := regs.ParseNumber(off)
		if !ok || err != nil || n < 0 || n>>31 != 0 || n%regs.Alignment != 0 {
			return l.errorAt(l.tokens[1], "invalid descriptor offset %q; want @ and a multiple of %#x", l.tokens[1].text, regs.Alignment)
		}
		t.Offset, t.placed = uint32(n), true
	}
	a.tasks = append(a.tasks, t)
	return nil
}

func (a *assembler) beginRecord(l line) error {
	if len(a.tasks) == 0 {
		return l.errorAt(l.tokens[0], "unexpected .record before the first .td")
	}
	a.tasks[len(a.tasks)-1].breakRecord = true
	return nil
}

// setTextSize handles .size N: the text has N bytes, with zeros after the descriptors.
func (a *assembler) setTextSize(l line) error {
	a.size, a.sizeLine = l.tokens[1], l
	return nil
}

// addRawBytes handles .at, which stores bytes at an offset of the file, as in ".at 0x40
// c0ffee".
func (a *assembler) addRawBytes(l line) error {
	off, err := regs.ParseNumber(l.tokens[1].text)
	if err != nil || off < 0 {
		return l.errorAt(l.tokens[1], "invalid offset %q; want a number of bytes", l.tokens[1].text)
	}
	r := rawBytes{off: uint64(off), at: l}
	for _, t := range l.tokens[2:] {
		b, err := hexadecimal.DecodeString(t.text)
		if err != nil {
			return l.errorAt(t, "invalid bytes %q; want hexadecimal digits", t.text)
		}
		r.data = append(r.data, b...)
	}
	a.raw = append(a.raw, r)
	return nil
}

// beginContainer handles .container SIZE OFFSET: the file is a container of SIZE bytes with
// the descriptors at OFFSET.
func (a *assembler) beginContainer(l line) error {
	var n [2]int64
	for i, t := range l.tokens[1:] {
		var err error
		if n[i], err = regs.ParseNumber(t.text); err != nil || n[i] < 0 {
			return l.errorAt(t, "invalid number of bytes %q; want 0 or more", t.text)
		}
	}
	if limit := a.byteLimit(); uint64(n[0]) > limit {
		return l.errorAt(l.tokens[1], "container of %#x bytes exceeds the limit of %#x bytes for a text of %d bytes", n[0], limit, a.source)
	}
	a.container, a.unit.file, a.unit.textOff = true, make([]byte, n[0]), uint64(n[1])
	return nil
}

func (a *assembler) setProcedureName(l line) error {
	a.unit.Procedure = l.tokens[1].text
	return nil
}

// declarePort handles a tensor declaration: .port input x b4 1x64x1x16 [strides=N,C,H,W]
// [bytes=N].
func (a *assembler) declarePort(l line) error {
	p := loader.Port{Direction: loader.Input, Name: l.tokens[2].text, Type: loader.Float16()}
	switch l.tokens[1].text {
	case "input":
	case "output":
		p.Direction = loader.Output
	default:
		e := l.errorAt(l.tokens[1], "unknown direction %q; want input or output", l.tokens[1].text)
		e.Nearest = nearestName(l.tokens[1].text, slices.Values([]string{"input", "output"}))
		return e
	}
	digits, ok := strings.CutPrefix(l.tokens[3].text, "b")
	bar, err := strconv.Atoi(digits)
	if most := len(regs.BARs{}) - 1; !ok || err != nil || bar <= regs.BARScratch || bar > most {
		return l.errorAt(l.tokens[3], "invalid port buffer %q; want b%d to b%d", l.tokens[3].text, regs.BARScratch+1, most)
	}
	p.BAR = bar
	if err := parseFourNumbers(l, l.tokens[4], "x", 1<<17-1, p.Shape[:]); err != nil {
		return err
	}
	// By default a row takes a multiple of 64 bytes, and planes are stored one after the
	// other.
	row := (uint64(p.Shape[3])*2 + 63) &^ 63
	plane := row * uint64(p.Shape[2])
	p.Strides = [4]uint64{plane * uint64(p.Shape[1]), plane, row, 2}
	for _, t := range l.tokens[5:] {
		name, _, assigned := strings.Cut(t.text, "=")
		if !assigned {
			return l.errorAt(t, "missing value in %q; want strides=N,C,H,W or bytes=N", t.text)
		}
		value := t.suffixFrom(len(name) + 1)
		switch name {
		case "strides":
			var strides [4]int
			if err := parseFourNumbers(l, value, ",", 1<<40, strides[:]); err != nil {
				return err
			}
			for i, s := range strides {
				p.Strides[i] = uint64(s)
			}
		case "bytes":
			n, err := regs.ParseNumber(value.text)
			if err != nil || n < 1 {
				return l.errorAt(t, "invalid size %q; want bytes=N with N above 0", t.text)
			}
			p.Bytes = uint64(n)
		default:
			e := l.errorAt(t, "unknown option %q of .port; want strides or bytes", t.text)
			e.Nearest = nearestName(name, slices.Values([]string{"strides", "bytes"}))
			return e
		}
	}
	for _, q := range a.unit.Ports {
		if q.Name == p.Name {
			return l.errorAt(l.tokens[2], "duplicate port %q", p.Name)
		}
	}
	a.unit.Ports = append(a.unit.Ports, p)
	return nil
}

// parseFourNumbers parses four numbers between 1 and most, separated by separator, into dst.
func parseFourNumbers(l line, t token, separator string, most int64, dst []int) error {
	parts := strings.Split(t.text, separator)
	if len(parts) != 4 {
		return l.errorAt(t, "malformed extents %q; want four numbers N, C, H, W separated by %q", t.text, separator)
	}
	for i, s := range parts {
		n, err := regs.ParseNumber(s)
		if err != nil || n < 1 || n > most {
			return l.errorAt(t, "extent %q in %q is not between 1 and %d", s, t.text, most)
		}
		dst[i] = int(n)
	}
	return nil
}

func (a *assembler) setScratchSize(l line) error {
	n, err := regs.ParseNumber(l.tokens[1].text)
	if err != nil || n < 1 || n > loader.MaxScratch {
		return l.errorAt(l.tokens[1], "scratch size %q is not between 1 and %#x bytes", l.tokens[1].text, loader.MaxScratch)
	}
	a.unit.Scratch = uint64(n)
	return nil
}

// appendWeights handles .weights NAME, which appends the fp16 values in a file to the constants.
func (a *assembler) appendWeights(l line) error {
	t := l.tokens[1]
	name := t.text
	if unquoted, err := strconv.Unquote(name); err == nil {
		name = unquoted
	}
	if a.options.Weights == nil {
		return l.errorAt(t, ".weights is not supported here, because no files can be read")
	}
	b, err := a.options.Weights(name)
	if err != nil {
		return &Error{Line: l.number, Col: t.col, What: "cannot read weights " + strconv.Quote(name), Err: err}
	}
	a.unit.Constants = append(a.unit.Constants, b...)
	return nil
}

// appendValues handles .values, which appends fp16 values to the constants.
func (a *assembler) appendValues(l line) error {
	for _, t := range l.tokens[1:] {
		v, err := regs.Field{Name: "a weight", Width: 16, Type: "half"}.ParseText(t.text)
		if err != nil {
			return l.errorAt(t, "%v", err)
		}
		a.unit.Constants = binary.LittleEndian.AppendUint16(a.unit.Constants, uint16(float16.Frombits(uint16(v))))
	}
	return nil
}

// alignConstants handles .align, which pads the constants to a multiple of 64 bytes, where a lane
// may start.
func (a *assembler) alignConstants(line) error {
	for len(a.unit.Constants)%loader.TileSize != 0 {
		a.unit.Constants = append(a.unit.Constants, 0)
	}
	return nil
}

// declareParam handles a run-time parameter: .bind NAME VALUE [START STOP STEP].
func (a *assembler) declareParam(l line) error {
	t := l.tokens[1]
	if len(l.tokens) == 4 || len(l.tokens) == 5 {
		return l.errorAt(t, ".bind has %d operands; want NAME VALUE or NAME VALUE START STOP STEP", len(l.tokens)-1)
	}
	if _, twice := a.params[t.text]; twice {
		return l.errorAt(t, "duplicate .bind of %q", t.text)
	}
	n := [4]uint64{3: 1}
	for i, t := range l.tokens[2:] {
		v, err := regs.ParseNumber(t.text)
		if err != nil || v < 0 {
			return l.errorAt(t, "invalid parameter value %q; want 0 or more", t.text)
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
