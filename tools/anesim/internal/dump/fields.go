package dump

import (
	"fmt"
	"strings"

	"anesim/hw/regs"
	"anesim/loader/asm"
)

// formatFields returns the fields of a register as text. Unless all is true, it omits fields that
// are zero and have no name for zero.
func formatFields(w registerWord, all bool) string {
	if len(w.reg.Fields) == 0 {
		return formatHex(w.word)
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

func formatHex(v uint32) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", v)
}

// A run is a range of adjacent registers of one array whose values differ by a constant step, or
// a single register.
type run struct {
	words []registerWord
	step  uint32
}

// groupRuns merges adjacent registers of an array into runs. A run consists of two or more equal
// words, or of three or more byte offsets at equal distances.
func groupRuns(words []registerWord) []run {
	var out []run
	for len(words) > 0 {
		n, step := 1, uint32(0)
		if len(words) > 1 {
			step = words[1].word - words[0].word
		}
		for n < len(words) && areAdjacent(words[n-1].reg, words[n].reg) && words[n].word-words[n-1].word == step {
			n++
		}
		if n > 1 && step != 0 && (n < 3 || !isRegisterInBytes(words[0].reg, words[0].word, step)) {
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

// isRegisterInBytes reports whether the value of register r is a number of bytes. It returns false
// if a bit of words is set that is not part of that number.
func isRegisterInBytes(r regs.Register, words ...uint32) bool {
	for _, w := range words {
		if r.Unknown(w) != 0 {
			return false
		}
	}
	return r.Sole() && r.Fields[0].Unit() > 0
}

func areAdjacent(a, b regs.Register) bool {
	nameA, _, arrayA := strings.Cut(a.Name, "[")
	nameB, _, arrayB := strings.Cut(b.Name, "[")
	return arrayA && arrayB && a.Block == b.Block && nameA == nameB && a.Word+1 == b.Word
}

func (r run) formatName() string {
	first, last := r.words[0].reg.Name, r.words[len(r.words)-1].reg.Name
	if first == last {
		return first
	}
	_, end, _ := strings.Cut(last, "[")
	return strings.TrimSuffix(first, "]") + "-" + end
}

func (r run) formatFields(all bool) string {
	if r.step == 0 {
		return formatFields(r.words[0], all)
	}
	first, last := r.words[0], r.words[len(r.words)-1]
	if down := -r.step; r.step > down {
		return fmt.Sprintf("%s to %s, %#x down", formatFields(first, true), formatFields(last, true), down)
	}
	return fmt.Sprintf("%s to %s by %#x", formatFields(first, true), formatFields(last, true), r.step)
}

// isUnnamedZero reports whether all words of the run are zero and no field gives zero a name.
func (r run) isUnnamedZero() bool {
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
