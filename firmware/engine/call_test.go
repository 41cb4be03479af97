package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim"
	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/hw/evidence"
	"anesim/internal/material"
	"anesim/loader"
	"anesim/loader/lower"
)

// ownPrograms returns programs of this project: the built-in examples, layers of one and of several
// descriptors, a network whose chain has several runs, and a program with a port of 8-bit elements.
func ownPrograms(t *testing.T) []*loader.Program {
	t.Helper()
	var list []*loader.Program
	for _, name := range []string{"identity", "add", "conv", "concat"} {
		p, err := lower.ExampleProgram(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	models := []*anesim.Model{open(t, "net.yaml", "inputs: {x: {c: 16, h: 12, w: 12}}\nlayers:\n  - {name: a, op: conv, cout: 16, k: 3, pad: 1, from: x}\n  - {name: b, op: relu, from: a}\n  - {name: c, op: add, from: [a, b]}\noutputs: [a, b, c]\n")}
	for _, words := range []string{"softmax c=48 h=1 w=40", "conv cin=24 h=9 w=9 cout=40 k=3 pad=same", "layernorm c=64 h=1 w=8", "matmul m=8 k=32 n=16 rhs=runtime"} {
		f := strings.Fields(words)
		m, err := anesim.Layer(f[0], f[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	for _, m := range models {
		programs, err := m.Programs(t.Context(), anesim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, programs...)
	}
	return append(list, eightBit(t))
}

func open(t *testing.T, name, text string) *anesim.Model {
	t.Helper()
	m, err := anesim.Read(name, strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// eightBit returns a program whose input has 8-bit elements.
func eightBit(t *testing.T) *loader.Program {
	t.Helper()
	p, err := lower.ExampleProgram("identity")
	if err != nil {
		t.Fatal(err)
	}
	for port := range p.Inputs() {
		port.Shape, port.Strides = [4]int{1, 1, 1, 64}, [4]uint64{64, 64, 64, 1}
	}
	p.Name = "8-bit port"
	return p
}

// realPrograms returns the programs of Apple's compiler whose files are present.
func realPrograms(t *testing.T) []*loader.Program {
	t.Helper()
	var list []*loader.Program
	for _, file := range material.More(t, "programs/*.hwx", "programs/text/*.text.bin", "oracles/*.text.bin", "texts/*.text.bin") {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		p, err := loader.Read(filepath.Base(file), f, info.Size())
		f.Close()
		if err != nil {
			t.Logf("%s: %v", file, err)
			continue
		}
		list = append(list, p)
	}
	return list
}

// account returns text with all results of a call, for comparisons.
func account(res *engine.Result, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	r := res.Report
	fmt.Fprintf(&b, "%d cycles %v, %v, %v, %d bytes, faults %v, limits %v, host %v, synthetic %q\n", r.Cycles, r.Accounting(), r.Time, r.Energy, r.DMA.Total(), r.Faults, res.Limits, res.Host, res.Synthetic)
	for _, d := range res.Dispatches {
		fmt.Fprintf(&b, "dispatch: idle %v, waiting %v, wake %v, %v, %d descriptors\n", d.Idle, d.Waiting, d.Wake, d.Energy, len(d.Descriptors))
	}
	for i := range r.Descriptors {
		d := &r.Descriptors[i]
		fmt.Fprintf(&b, "descriptor %d: %v, %v, %v, computed %v, %v\n", d.Index, d.Cycles, d.Energy, d.ZeroSaves, d.Computed, d.Limits)
	}
	for _, in := range res.Inputs {
		fmt.Fprintf(&b, "input %s %s\n", in.Port.Name, engine.Checksum(in.Data))
	}
	for _, out := range res.Outputs {
		fmt.Fprintf(&b, "output %s %s\n", out.Port.Name, engine.Checksum(out.Data))
	}
	return b.String()
}

// ways are the three ways to call a program once.
var ways = map[string]func(*testing.T, *loader.Program, engine.Options) (*engine.Result, error){
	"Loaded.Call": func(t *testing.T, p *loader.Program, o engine.Options) (*engine.Result, error) {
		return load(t, p, o).Call(t.Context())
	},
	"Run, Run, ...": func(t *testing.T, p *loader.Program, o engine.Options) (*engine.Result, error) {
		c, err := load(t, p, o).Start(t.Context())
		if err != nil {
			return nil, err
		}
		for _, more := c.Run(); more; _, more = c.Run() {
		}
		return c.Result()
	},
	"a task queue": func(t *testing.T, p *loader.Program, o engine.Options) (*engine.Result, error) {
		c, err := load(t, p, o).Start(t.Context())
		if err != nil {
			return nil, err
		}
		q := queue.New()
		if err := q.Start(); err != nil {
			return nil, err
		}
		if _, err := q.Submit(queue.Request{Priority: 3, Network: 1, Work: c}); err != nil {
			return nil, err
		}
		for more := true; more; {
			if more, err = q.Step(); err != nil {
				return nil, err
			}
		}
		return c.Result()
	},
}

func load(t *testing.T, p *loader.Program, o engine.Options) *engine.Loaded {
	t.Helper()
	s, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Load(p)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	return l
}

// Every way of calling a program gives the same values, cycles, energy and faults: in a
// session of its own, in one call, run by run and from a task queue. Of the vendor's programs
// LONG=1 has all.
func TestEveryWayOfCallingAgrees(t *testing.T) {
	programs := ownPrograms(t)
	own := len(programs)
	vendor := realPrograms(t)
	each := 3 // of which the first is compared
	switch {
	case os.Getenv("LONG") != "":
		each = 1
	case testing.Short():
		each = 8
	}
	for i := 0; i < len(vendor); i += each {
		programs = append(programs, vendor[i])
	}
	computed, faulted := 0, 0
	for _, p := range programs {
		for _, values := range []bool{false, true} {
			o := engine.Options{Values: values, Seed: 7, Budget: 1 << 24, Idle: 3e6}
			res, err := engine.Run(t.Context(), p, o, engine.Job{})
			want := account(res, err)
			if err == nil && len(res.Outputs) > 0 {
				computed++
			}
			if err == nil && len(res.Report.Faults) > 0 {
				faulted++
			}
			for name, call := range ways {
				if got := account(call(t, p, o)); got != want {
					t.Errorf("%s, values %v: %s comes to\n%s\na session of its own to\n%s", p.Name, values, name, got, want)
				}
			}
		}
	}
	t.Logf("%d programs, %d own; %d with values, %d with a fault", len(programs), own, computed, faulted)
	if computed < own-1 {
		t.Errorf("%d programs were computed, want all but one of this project's %d", computed, own)
	}
}

// A program with a port of 8-bit elements is timed, and the result says that its values are
// not modelled, whichever way it is called.
func TestEightBitPorts(t *testing.T) {
	p := eightBit(t)
	for name, call := range ways {
		res, err := call(t, p, engine.Options{Values: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(res.Limits) != 1 || res.Limits[0].Kind != evidence.NotModelled || res.Outputs != nil || res.Report.Cycles == 0 {
			t.Errorf("%s: limits %v, %d outputs, %d cycles; want one limit, no outputs and a time", name, res.Limits, len(res.Outputs), res.Report.Cycles)
		}
	}
}

// TestRepeatedCalls checks that a repeated call on one device has the results of single calls
// of a session.
func TestRepeatedCalls(t *testing.T) {
	p, err := lower.ExampleProgram("add")
	if err != nil {
		t.Fatal(err)
	}
	o := engine.Options{Values: true, Seed: 3}
	one, err := engine.Run(t.Context(), p, o, engine.Job{})
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range []engine.Job{{Repeat: 5}, {Repeat: 5, List: 2}, {Repeat: 5, List: 9}} {
		res, err := engine.Run(t.Context(), p, o, job)
		if err != nil {
			t.Fatal(err)
		}
		list := job.List
		if list == 0 || list > job.Repeat {
			list = job.Repeat
		}
		if len(res.Dispatches) != list || res.Again != 5-list || res.Report.Cycles != 5*one.Report.Cycles {
			t.Errorf("%d of 5 listed: %d dispatches and %d more, %d cycles; want %d and %d, %d", job.List, len(res.Dispatches), res.Again, res.Report.Cycles, list, 5-list, 5*one.Report.Cycles)
		}
		if got, want := engine.Checksum(res.Outputs[0].Data), engine.Checksum(one.Outputs[0].Data); got != want {
			t.Errorf("%d of 5 listed: output %s, want %s", job.List, got, want)
		}
	}
}

// Inputs that a call could not write are there for the next one.
func TestInputsOfCallsThatCannotBegin(t *testing.T) {
	p, err := lower.ExampleProgram("add")
	if err != nil {
		t.Fatal(err)
	}
	l := load(t, p, engine.Options{Values: true})
	var inputs []*loader.Port
	for port := range p.Inputs() {
		inputs = append(inputs, port)
	}
	for port := range p.Outputs() {
		if err := l.Alias(port.Name, inputs[1].Name); err != nil {
			t.Fatal(err)
		}
	}
	name, data := inputs[0].Name, engine.PseudoRandom("other", engine.Elements(inputs[0]), 1)
	if err := l.Set(name, data); err != nil {
		t.Fatal(err)
	}
	c, err := l.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Repeat = 1 << 30
	var bad *engine.OptionError
	if _, err := c.Finish(); !errors.As(err, &bad) {
		t.Fatalf("%d dispatches with state: %v, want an *OptionError", c.Repeat, err)
	}
	res, err := l.Call(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range res.Inputs {
		if in.Port.Name == name {
			if got, want := engine.Checksum(in.Data), engine.Checksum(data); got != want {
				t.Errorf("input %s is %s, want the values that were set, %s", name, got, want)
			}
			return
		}
	}
	t.Errorf("input %s was not written", name)
}
