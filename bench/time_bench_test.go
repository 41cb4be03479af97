package bench

import (
	"testing"

	"anesim"
	"anesim/hw"
	"anesim/hw/regs"
	"anesim/loader"
)

func benchmarkTime(b *testing.B, list []*regs.Task) {
	timer := hw.NewTimer(hw.M1())
	var d hw.DescriptorReport
	b.ReportAllocs()
	for b.Loop() {
		for _, t := range list {
			timer.Time(&d, t)
		}
	}
	rate(b, float64(len(list)), "descriptors/s")
}

// BenchmarkTimeDescriptor times the linked descriptors of our examples, and of the real
// programs where they are.
func BenchmarkTimeDescriptor(b *testing.B) {
	b.Run("examples", func(b *testing.B) { benchmarkTime(b, tasks(b, examples(b))) })
	if list := realPrograms(b); len(list) > 0 {
		b.Run("programs", func(b *testing.B) { benchmarkTime(b, tasks(b, list)) })
	}
}

// chain returns a program with n copies of the descriptor of the example "add".
func chain(tb testing.TB, n int) *loader.Program {
	tb.Helper()
	p := example(tb, "add")
	var link []*regs.Descriptor
	for range n {
		for d, err := range p.Descriptors() {
			if err != nil {
				tb.Fatal(err)
			}
			link = append(link, d)
		}
	}
	ports := make([]loader.Port, len(p.Ports))
	for i, port := range p.Ports {
		port.Address, port.Bytes = 0, 0
		ports[i] = port
	}
	long, err := (&loader.Builder{Chain: loader.Sequence(link...), Ports: ports}).Build("chain")
	if err != nil {
		tb.Fatal(err)
	}
	return long
}

// In a chain of a thousand equal descriptors the first takes what it takes alone, all
// others alike, and no more: they overlap with the one before.
func TestChain(t *testing.T) {
	one := sound(t, example(t, "add"), anesim.Options{}).Report
	many := sound(t, chain(t, 1000), anesim.Options{}).Report
	if len(many.Descriptors) != 1000 {
		t.Fatalf("%d descriptors", len(many.Descriptors))
	}
	next := many.Descriptors[1].Cycles.Total()
	if next == 0 || next > one.Cycles || many.Cycles != one.Cycles+999*next {
		t.Errorf("the chain takes %d cycles, one descriptor %d alone and %d behind another", many.Cycles, one.Cycles, next)
	}
}

// Linking, walking and timing takes memory for the chain, not for each descriptor.
func TestChainAllocations(t *testing.T) {
	allocations := func(n int) float64 {
		p := chain(t, n)
		return testing.AllocsPerRun(5, func() { run(t, p, anesim.Options{}) })
	}
	if one, many := allocations(1), allocations(1000); many > one+100 {
		t.Errorf("%v allocations for a chain of 1000, %v for one of 1", many, one)
	}
}

// BenchmarkTimeChain1000 links, walks and times a chain of a thousand descriptors.
func BenchmarkTimeChain1000(b *testing.B) {
	const n = 1000
	p := chain(b, n)
	b.ReportAllocs()
	for b.Loop() {
		run(b, p, anesim.Options{})
	}
	rate(b, n, "descriptors/s")
}

// BenchmarkRunIdentity is a whole run of the default program, values included.
func BenchmarkRunIdentity(b *testing.B) {
	p := example(b, "identity")
	b.ReportAllocs()
	for b.Loop() {
		run(b, p, anesim.Options{Values: true, Seed: goldenSeed})
	}
	rate(b, 1, "runs/s")
}
