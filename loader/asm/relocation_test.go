package asm

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

// relocatedFields lists the fields that the relocations of a container set, with their descriptors. It
// finds them by itself: it walks the words of the text from each descriptor's header on.
func relocatedFields(t *testing.T, p *loader.Program) (list []string) {
	t.Helper()
	for _, r := range p.Relocations {
		field := ""
		for d, err := range regs.Chain(p.Text, p.FirstWords) {
			if err != nil {
				t.Fatal(err)
			}
			at := d.Offset + 4*uint32(d.Words)
			for i := len(d.Records) - 1; i >= 0; i-- { // from the end: records close the descriptor
				at -= 4 * uint32(len(d.Records[i].Values))
				if n := (r.Off - at) / 4; r.Off >= at && int(n) < len(d.Records[i].Values) {
					register, _ := regs.RegisterAt(d.Records[i].Addr + 4*n)
					field = fmt.Sprint(d.Index, " ", register.Block, ".", register.Name)
				}
				at -= 4
			}
		}
		if field == "" {
			t.Fatalf("relocation at %#x is at no register word", r.Off)
		}
		list = append(list, field)
	}
	return list
}

// TestRandomEditsOfContainers edits the text of containers at random: descriptors change places, appear
// twice or are dropped, and so do lines of registers. The container is refused, or it can be read, and
// then either its relocations are at the words where they were or it has gaps, of which asm warns.
func TestRandomEditsOfContainers(t *testing.T) {
	var texts [][]string // lines
	for _, l := range []struct {
		layer   layer.Layer
		weights layer.Weights
	}{
		{layer.Layer{Op: layer.Softmax, In: layer.Shape{N: 1, C: 64, H: 8, W: 8}, Axes: layer.AxisC}, layer.Weights{Table: make([]byte, 128), Reciprocal: make([]byte, 128)}},
		{layer.Layer{Op: layer.Concat, In: layer.Shape{N: 1, C: 32, H: 1, W: 1}, Parts: []int{16, 16}}, layer.Weights{}},
	} {
		p, err := lower.Lower(l.layer, l.weights)
		if err != nil {
			t.Fatal(err)
		}
		text, err := Disassemble(p)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.SplitAfter(string(text), "\n"))
	}
	for _, name := range []string{"identity", "add"} {
		p, err := lower.ExampleProgram(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := Disassemble(p)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.SplitAfter(string(text), "\n"))
	}
	n := 600
	if testing.Short() {
		n = 150
	}
	register := regexp.MustCompile(`^[A-Z]\w+\.\w+`)
	r := rand.New(rand.NewPCG(8, 53))
	refused, moved, kept := 0, 0, 0
	for i := range n {
		lines := slices.Clone(texts[i%len(texts)])
		unedited := assembleContainer(t, lines)
		before := relocatedFields(t, unedited)
		if gaps, err := unedited.RelocationGaps(); err != nil || len(gaps) > 0 {
			t.Fatalf("text %d has gaps before any edit: %v, %v", i%len(texts), gaps, err)
		}
		// The descriptors are the lines from each .td to the next, the last to the first .at after it.
		var heads, registers []int
		for k, line := range lines {
			switch {
			case line == ".td\n":
				heads = append(heads, k)
			case len(heads) > 0 && register.MatchString(line):
				registers = append(registers, k)
			}
		}
		end := heads[len(heads)-1] + 1
		for end < len(lines) && !strings.HasPrefix(lines[end], ".at") {
			end++
		}
		heads = append(heads, end)
		edit := r.IntN(6)
		switch k, other := r.IntN(len(heads)-1), r.IntN(len(heads)-1); edit {
		case 0, 1, 2:
			a, b := lines[heads[k]:heads[k+1]], lines[heads[other]:heads[other+1]]
			var out []string
			out = append(out, lines[:heads[0]]...)
			for j := range len(heads) - 1 {
				switch part := lines[heads[j]:heads[j+1]]; {
				case edit == 0 && j == k:
					out = append(out, b...) // two change places
				case edit == 0 && j == other:
					out = append(out, a...)
				case edit == 1 && j == k: // one is dropped
				case edit == 2 && j == k:
					out = append(append(out, part...), b...) // one appears again
				default:
					out = append(out, part...)
				}
			}
			lines = append(out, lines[end:]...)
		case 3:
			at := registers[r.IntN(len(registers))]
			lines = slices.Delete(lines, at, at+1)
		case 4:
			at := registers[r.IntN(len(registers))]
			lines = slices.Insert(lines, at, lines[registers[r.IntN(len(registers))]])
		case 5:
			a, b := registers[r.IntN(len(registers))], registers[r.IntN(len(registers))]
			lines[a], lines[b] = lines[b], lines[a]
		}
		text := strings.Join(lines, "")
		u, err := Assemble("f.td", []byte(text), nil)
		var file []byte
		if err == nil {
			file, err = u.File()
		}
		if err != nil {
			var line *Error
			var container *ContainerError
			if !errors.As(err, &line) && !errors.As(err, &container) {
				t.Fatalf("edit %d: %T %v of\n%s", edit, err, err, text)
			}
			refused++
			continue
		}
		p, err := loader.Read("container", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("edit %d: a container that was written cannot be read: %v\n%s", edit, err, text)
		}
		gaps := u.RelocationGaps()
		if slices.Equal(relocatedFields(t, p), before) {
			kept++
			continue
		}
		if moved++; len(gaps) == 0 {
			t.Errorf("edit %d: relocations %q are now %q, and no gap\n%s", edit, before, relocatedFields(t, p), text)
		}
	}
	t.Logf("%d refused, %d with relocations elsewhere, %d with relocations in place", refused, moved, kept)
	if refused < n/10 || kept < n/10 {
		t.Errorf("%d refused, %d kept of %d edits; want both", refused, kept, n)
	}
}

// assembleContainer returns the program of a text that was not edited.
func assembleContainer(t *testing.T, lines []string) *loader.Program {
	t.Helper()
	u, err := Assemble("f.td", []byte(strings.Join(lines, "")), nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := u.File()
	if err != nil {
		t.Fatal(err)
	}
	p, err := loader.Read("container", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
