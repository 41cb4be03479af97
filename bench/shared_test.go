package bench

import (
	"path/filepath"
	"testing"

	"anesim"
	"anesim/hw"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/lower"
)

// shared is where the real programs stand beside the checkout.
var shared = filepath.Join("..", "..", "shared", "programs")

// realPrograms are the real programs, or none with a note in the log.
func realPrograms(t testing.TB) []*loader.Program {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(shared, "*.hwx"))
	texts, _ := filepath.Glob(filepath.Join(shared, "text", "*.bin"))
	var list []*loader.Program
	for _, f := range append(files, texts...) {
		p, err := loader.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		p.Name = filepath.Base(f)
		list = append(list, p)
	}
	if len(list) == 0 {
		t.Logf("no real programs in %s", shared)
	}
	return list
}

// realProgram is one real program, or skips the test.
func realProgram(t testing.TB, name string) *loader.Program {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(shared, name))
	if len(files) == 0 {
		t.Skipf("no real program %s in %s", name, shared)
	}
	p, err := loader.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// examples are the programs of our own.
func examples(t testing.TB) []*loader.Program {
	t.Helper()
	var list []*loader.Program
	for _, name := range lower.Examples() {
		list = append(list, example(t, name))
	}
	return list
}

func example(t testing.TB, name string) *loader.Program {
	t.Helper()
	p, err := lower.ExampleProgram(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// everyProgram is the examples and the real programs.
func everyProgram(t testing.TB) []*loader.Program {
	t.Helper()
	return append(examples(t), realPrograms(t)...)
}

func run(t testing.TB, p *loader.Program, o anesim.Options) *anesim.Result {
	t.Helper()
	if o.Chip.Name == "" {
		o.Chip = hw.M1()
	}
	r, err := anesim.Run(p, o)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	return r
}

// sound runs a program that must not fault.
func sound(t testing.TB, p *loader.Program, o anesim.Options) *anesim.Result {
	t.Helper()
	r := run(t, p, o)
	for _, f := range r.Report.Faults {
		t.Fatalf("%s: %v", p.Name, f)
	}
	return r
}

// tasks are the linked tasks of programs.
func tasks(t testing.TB, programs []*loader.Program) []*regs.Task {
	t.Helper()
	var list []*regs.Task
	for _, p := range programs {
		l, err := p.Link()
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		list = append(list, l.Tasks...)
	}
	return list
}
