package dump

import (
	"fmt"
	"strings"

	"anesim/hw/regs"
	"anesim/loader/asm"
)

// fieldText prints a register's fields: those that are not zero, or all.
func fieldText(w registerWord, all bool) string {
	if len(w.reg.Fields) == 0 {
		return hexOrZero(w.word)
	}
	var parts []string
	for _, f := range w.reg.Fields {
		v := f.Of(w.word)
		_, named := f.ValueName(v)
		if v == 0 && !all && !named {
			continue
		}
		text := asm.Spell(f, v)
		switch {
		case w.reg.Sole():
		case f.Type == "bool" && !all:
			text = f.Name
		default:
			text = f.Name + " " + text
		}
		parts = append(parts, text)
	}
	if u := w.reg.Unknown(w.word); u != 0 {
		parts = append(parts, fmt.Sprintf("+%#x", u))
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, ", ")
}

func hexOrZero(v uint32) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", v)
}

// A run is neighbours of one array in equal steps, or one register.
type run struct {
	words []registerWord
	step  uint32
}

// runs folds neighbours: equal words from two on, byte offsets in equal steps from three.
func runs(words []registerWord) []run {
	var out []run
	for len(words) > 0 {
		n, step := 1, uint32(0)
		if len(words) > 1 {
			step = words[1].word - words[0].word
		}
		for n < len(words) && neighbours(words[n-1].reg, words[n].reg) && words[n].word-words[n-1].word == step {
			n++
		}
		if n > 1 && step != 0 && (n < 3 || !inBytes(words[0].reg, words[0].word, step)) {
			n = 1
		}
		if n == 1 {
			step = 0
		}
		out = append(out, run{words[:n], step})
		words = words[n:]
	}
	return out
}

// inBytes reports whether the register is a byte count and nothing else is in the words.
func inBytes(r regs.Register, words ...uint32) bool {
	for _, w := range words {
		if r.Unknown(w) != 0 {
			return false
		}
	}
	return r.Sole() && r.Fields[0].Unit() > 0
}

func neighbours(a, b regs.Register) bool {
	nameA, _, arrayA := strings.Cut(a.Name, "[")
	nameB, _, arrayB := strings.Cut(b.Name, "[")
	return arrayA && arrayB && a.Block == b.Block && nameA == nameB && a.Word+1 == b.Word
}

func (r run) name() string {
	first, last := r.words[0].reg.Name, r.words[len(r.words)-1].reg.Name
	if first == last {
		return first
	}
	_, end, _ := strings.Cut(last, "[")
	return strings.TrimSuffix(first, "]") + "-" + end
}

func (r run) text(all bool) string {
	if r.step == 0 {
		return fieldText(r.words[0], all)
	}
	first, last := r.words[0], r.words[len(r.words)-1]
	if down := -r.step; r.step > down {
		return fmt.Sprintf("%s to %s, %#x down", fieldText(first, true), fieldText(last, true), down)
	}
	return fmt.Sprintf("%s to %s by %#x", fieldText(first, true), fieldText(last, true), r.step)
}

// zero reports whether the run says nothing: zeros, none of them a named choice.
func (r run) zero() bool {
	if r.step != 0 || r.words[0].word != 0 {
		return false
	}
	for _, f := range r.words[0].reg.Fields {
		if _, named := f.ValueName(0); named {
			return false
		}
	}
	return true
}
