package loader_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"anesim/hw/regs"
	"anesim/internal/material"
	"anesim/loader"
	"anesim/loader/asm"
	"anesim/loader/e5"
)

// randomProgram is a container of a random chain: registers with any bits in any records,
// surfaces inside their windows.
func randomProgram(t *testing.T, r *rand.Rand) *loader.Program {
	t.Helper()
	var registers []regs.Register
	for q := range regs.Registers() {
		registers = append(registers, q)
	}
	moves := func(name string) bool {
		for _, block := range []string{"TileDMASrc", "TileDMADst", "KernelDMASrc"} {
			if name == block {
				return true
			}
		}
		return false
	}
	var chain []*regs.Descriptor
	for range 1 + r.IntN(4) {
		d := &regs.Descriptor{Words: regs.HeaderWords}
		d.Header.Bases = regs.HeaderBases(r.Uint32()).WithRBase0(4).WithRBase1(5).WithWBase(6)
		d.Header.Control = regs.HeaderControl(r.Uint32())
		d.Header.Exceptions = regs.HeaderExceptions(r.Uint32())
		for range 1 + r.IntN(8) {
			first := r.IntN(len(registers))
			rec := regs.Record{Addr: registers[first].Addr()}
			for j := first; j < len(registers) && len(rec.Values) < 1+r.IntN(12); j++ {
				if registers[j].Block != registers[first].Block || registers[j].Addr() != rec.Addr+4*uint32(len(rec.Values)) {
					break
				}
				w := r.Uint32()
				if moves(registers[j].Block) {
					w = 0 // nothing moves, so that any program links
				}
				rec.Values = append(rec.Values, w)
			}
			d.Records = append(d.Records, rec)
			d.Words += 1 + len(rec.Values)
		}
		chain = append(chain, d)
	}
	port := func(name string, d loader.Direction, bar int) loader.Port {
		w := 1 + r.IntN(100)
		row := uint64(2*w+63) &^ 63
		c := 1 + r.IntN(9)
		return loader.Port{Name: name, Direction: d, BAR: bar, Shape: [4]int{1, c, 1, w}, Strides: [4]uint64{row * uint64(c), row, row, 2}}
	}
	b := &loader.Builder{
		Chain: loader.Sequence(chain...), Late: r.IntN(2) == 0, Scratch: uint64(r.IntN(3)) * 0x4000,
		Ports: []loader.Port{port("a", loader.Input, 4), port("b", loader.Input, 5), port("y", loader.Output, 6)},
	}
	for range r.IntN(300) {
		b.Constants = append(b.Constants, byte(r.Uint32()))
	}
	p, err := b.Build("random")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestForms takes random programs through every form that can carry them. Every form
// writes again the bytes it was read from, comes apart into text and together again, and
// keeps the chain; only the Linux driver's form numbers buffers anew, and of a program
// that has its numbers it changes nothing.
func TestForms(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 9))
	n := 300
	if testing.Short() {
		n = 50
	}
	for i := range n {
		p := randomProgram(t, r)
		files := map[string][]byte{"container": p.Bytes(), "text": p.Text}
		pkg, err := p.Package()
		if err != nil {
			t.Fatal(err)
		}
		files["firmware"] = pkg.Bytes()
		if files["anec"], err = p.ANEC(); err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{"container", "text", "firmware", "anec"} {
			if err := carries(form, files[form], p); err != nil {
				t.Errorf("program %d as %s: %v", i, form, err)
			}
		}
		if err := dispatched(p); err != nil {
			t.Errorf("program %d: %v", i, err)
		}
		for _, form := range []string{"text", "firmware", "anec"} {
			if err := rebuilt(form, files[form], p); err != nil {
				t.Errorf("program %d, container of %s: %v", i, form, err)
			}
		}
	}
}

// carries holds one form of a program to TestForms.
func carries(form string, file []byte, from *loader.Program) error {
	p, err := (&loader.Options{FirstWords: from.FirstWords, Inspect: true}).Read(form, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	if string(p.Form) != form {
		return fmt.Errorf("is read as %s", p.Form)
	}
	if !bytes.Equal(p.Bytes(), file) {
		return fmt.Errorf("is written otherwise than read")
	}
	if form != "anec" && !bytes.Equal(p.Text, from.Text) {
		return fmt.Errorf("the chain changed")
	}
	text, err := asm.Disassemble(p)
	if err != nil {
		return err
	}
	u, err := asm.Assemble(form, text, nil)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	again, err := u.File()
	if err != nil {
		return err
	}
	if !bytes.Equal(again, file) {
		return fmt.Errorf("text gives other bytes")
	}
	if form == "anec" {
		once, err := p.ANEC()
		if err != nil || !bytes.Equal(once, file) {
			return fmt.Errorf("its own numbers are changed: %v", err)
		}
	}
	return nil
}

// rebuilt makes a container of a form of a program: the chain stays, but for the buffers
// that the Linux driver's form numbers anew.
func rebuilt(form string, file []byte, from *loader.Program) error {
	p, err := (&loader.Options{FirstWords: from.FirstWords}).Read(form, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	c, err := p.Rebuild()
	if err != nil {
		return err
	}
	if !bytes.Equal(c.Text, p.Text) || c.FirstWords != p.FirstWords || len(c.Ports) != len(p.Ports) {
		return fmt.Errorf("the chain or the ports changed")
	}
	return carries("container", c.Bytes(), c)
}

// dispatched writes the dispatch descriptor of a program and reads it.
func dispatched(p *loader.Program) error {
	d, err := e5.New([]e5.Entry{{Key: "input-file-path", Value: p.Name}}, e5.Part{Program: p, Container: p.Bytes()})
	if err != nil {
		return err
	}
	file := d.Bytes()
	again, err := e5.Read(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(again.Bytes(), file) {
		return fmt.Errorf("the dispatch descriptor is written otherwise than read")
	}
	var u *loader.UnsupportedError
	if _, err := loader.Read("e5", bytes.NewReader(file), int64(len(file))); !errors.As(err, &u) || u.Form != loader.DispatchDescriptor {
		return fmt.Errorf("the dispatch descriptor is taken for something else: %v", err)
	}
	return nil
}

// TestRealForms takes the programs of Apple's compiler through the same forms.
func TestRealForms(t *testing.T) {
	files := material.Files(t, "programs/*.hwx", "programs/text/*.bin", "oracles/*.text.bin")
	anec := 0
	for _, name := range files {
		p, err := (&loader.Options{Inspect: true}).Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(p.Segments) == 0 {
			continue // its memory cannot be laid out
		}
		if err := dispatched(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		pkg, err := p.Package()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := carries("firmware", pkg.Bytes(), p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		file, err := p.ANEC()
		var u *loader.UnsupportedError
		if errors.As(err, &u) && p.Form == loader.FormText {
			continue // weights that are an input
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		anec++
		if err := carries("anec", file, p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if anec < 8 {
		t.Errorf("%d programs went into the Linux driver's form", anec)
	}
}
