package engine_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/firmware/engine"
	"anesim/hw/evidence"
	"anesim/loader"
	"anesim/loader/asm"
	"anesim/loader/lower"
)

// edited returns the descriptor chain of the conv example after replacing text in its descriptors;
// oldnew holds pairs of strings as for strings.NewReplacer.
func edited(t *testing.T, oldnew ...string) *loader.Program {
	t.Helper()
	p, err := lower.ExampleProgram("conv")
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(p.Text))
	if p, err = (&loader.Options{FirstWords: p.FirstWords}).Read("chain", bytes.NewReader(p.Text), size); err != nil {
		t.Fatal(err)
	}
	text, err := asm.Disassemble(p)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(string(text), oldnew[i]) {
			t.Fatalf("no %q in:\n%s", oldnew[i], text)
		}
	}
	u, err := asm.Assemble("edited", []byte(strings.NewReplacer(oldnew...).Replace(string(text))), nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := u.File()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = (&loader.Options{FirstWords: p.FirstWords}).Read("edited", bytes.NewReader(file), int64(len(file))); err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	lanesLow  = "CoeffBaseAddr[0-2] 0 step 0x40"
	lanesFar  = "CoeffBaseAddr[0-2] 0x70000000 step 0x40"
	lanesNear = "CoeffBaseAddr[0-2] 0x100000 step 0x40"
)

// A program that the device refuses at its first descriptor has no values made up for it.
// The inputs that were set wait for the next call.
func TestNoValuesForAChainThatDoesNotStart(t *testing.T) {
	p := edited(t, "Din=1", "Din=0", lanesLow, lanesNear)
	l := load(t, p, engine.Options{Values: true})
	var first *loader.Port
	for port := range p.Inputs() {
		if first == nil {
			first = port
		}
	}
	if err := l.Set(first.Name, make([]float16.Float16, engine.Elements(first))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		res, err := l.Call(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if f := res.Report.Faults; len(f) != 1 || f[0].Unit != "common" || f[0].Cycle != 0 {
			t.Errorf("faults %v, want one of the zero depth at cycle 0", f)
		}
		if len(res.Inputs) != 0 || len(res.Synthetic) != 0 {
			t.Errorf("%d inputs were written, %v of them made up, for a chain that does not start", len(res.Inputs), res.Synthetic)
		}
	}
}

// Inputs beyond a bound are not made up: the run has its times and says why it has no values.
func TestHugeInputsAreNotMadeUp(t *testing.T) {
	for lanes, limited := range map[string]bool{lanesNear: false, lanesFar: true} {
		res, err := engine.Run(t.Context(), edited(t, lanesLow, lanes), engine.Options{Values: true}, engine.Job{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(res.Limits) > 0; got != limited || got == (len(res.Outputs) > 0) {
			t.Errorf("%s: limits %v and %d outputs", lanes, res.Limits, len(res.Outputs))
		}
		if limited && (res.Limits[0].Kind != evidence.MissingInput || res.Report.Cycles == 0) {
			t.Errorf("%s: %v, %d cycles", lanes, res.Limits[0], res.Report.Cycles)
		}
	}
}
