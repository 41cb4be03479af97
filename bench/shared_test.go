package bench

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"anesim"
	"anesim/hw"
	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
	"anesim/internal/material"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

// realPrograms returns the real programs. If there are none, it writes a note to the log.
func realPrograms(t testing.TB) []*loader.Program {
	t.Helper()
	var list []*loader.Program
	for _, f := range material.More(t, "programs/*.hwx", "programs/text/*.bin") {
		p, err := loader.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		p.Name = filepath.Base(f)
		list = append(list, p)
	}
	return list
}

// realProgram returns the real program with the given name. It skips the test if the file is
// missing.
func realProgram(t testing.TB, name string) *loader.Program {
	t.Helper()
	p, err := loader.Open(material.File(t, "programs/"+name))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// examples returns the example programs of the project.
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

// lowerings returns programs compiled by package lower. Each uses a unit that the examples do not
// use, such as tables, strided rows in L2, kernels of several parts, or matmuls of two inputs.
func lowerings(t testing.TB) []*loader.Program {
	t.Helper()
	of := func(l layer.Layer) *loader.Program { return lowering(t, l) }
	plane := layer.Shape{N: 1, C: 64, H: 24, W: 24}
	return []*loader.Program{
		of(windowed(64, 24, 64)),
		of(windowed(256, 32, 256)),
		of(layer.Conv(plane, 128, layer.Valid(1, 1))),
		of(layer.Product(48, 512, 512, layer.Constant)),
		of(layer.Product(32, 64, 128, layer.Runtime)),
		of(layer.Unary(layer.Sigmoid, plane)),
		of(layer.Binary(layer.Mul, plane, plane)),
		of(layer.Reduction(layer.Softmax, plane, layer.AxisW)),
		of(layer.Reduction(layer.ReduceSum, plane, layer.AxisH)),
	}
}

// lowering returns the program of a single layer whose weights are all 1.
func lowering(t testing.TB, l layer.Layer) *loader.Program {
	t.Helper()
	w := layer.Weights{Dense: true, Table: table(mac.Exp), Reciprocal: table(mac.Reciprocal)}
	switch l.Op {
	case layer.Convolution:
		w.Filter = scattered(l.Cout*l.In.C*l.Window.Kh*l.Window.Kw, 0)
	case layer.MatMul:
		w.Filter = scattered(l.In.W*l.Columns, 0)
	case layer.Sigmoid:
		w.Table = table(mac.Sigmoid)
	}
	p, err := lower.Lower(l, w)
	if err != nil {
		t.Fatalf("%+v: %v", l, err)
	}
	p.Name = fmt.Sprintf("%v of %v", l.Op, l.In)
	return p
}

// windowed returns a 3x3 convolution of a square input whose result has the same height and width.
func windowed(c, side, cout int) layer.Layer {
	in := layer.Shape{N: 1, C: c, H: side, W: side}
	return layer.Conv(in, cout, layer.Same(3, 1, in))
}

func table(a mac.Activation) []byte {
	t := mac.TableOf(a)
	b := t.Encode()
	return b[:]
}

// everyProgram returns the examples, the lowerings and the real programs.
func everyProgram(t testing.TB) []*loader.Program {
	t.Helper()
	return slices.Concat(examples(t), lowerings(t), realPrograms(t))
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

// sound runs a program and ends the test if it faults.
func sound(t testing.TB, p *loader.Program, o anesim.Options) *anesim.Result {
	t.Helper()
	r := run(t, p, o)
	for _, f := range r.Report.Faults {
		t.Fatalf("%s: %v", p.Name, f)
	}
	return r
}

// tasks returns the linked tasks of all programs.
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
