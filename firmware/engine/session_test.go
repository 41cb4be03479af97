package engine

import (
	"fmt"
	"testing"

	"anesim/loader"
	"anesim/loader/lower"
)

// A program computes the same wherever it is moved to.
func TestRelocatedPrograms(t *testing.T) {
	p, err := lower.ExampleProgram("concat")
	if err != nil {
		t.Fatal(err)
	}
	run := func(p *loader.Program) (*Result, error) { return Run(t.Context(), p, Options{Values: true}, Job{}) }
	want, err := run(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []uint64{loader.PageSize, 1 << 30, 1 << 40} {
		got, err := run(relocateProgram(p, by))
		if err != nil {
			t.Fatalf("moved up by %#x: %v", by, err)
		}
		if a, b := fmt.Sprint(want.Outputs[0].Data), fmt.Sprint(got.Outputs[0].Data); a != b || got.Report.Cycles != want.Report.Cycles {
			t.Errorf("moved up by %#x: %s, want %s", by, b, a)
		}
	}
	if _, err := run(relocateProgram(p, 1<<42)); err == nil {
		t.Error("a program outside of the device's addresses runs")
	}
}
