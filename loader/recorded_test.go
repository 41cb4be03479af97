package loader

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"anesim/hw/regs"
)

var update = flag.Bool("update", false, "write what testdata has of built containers")

const recordedFile = "testdata/recorded.txt"

// TestRecorded holds containers of every choice of a Builder to what they were, byte for
// byte, and what each form of them reads as: ports, memory, tiles, relocations, and each
// descriptor in words. -update writes the file anew.
func TestRecorded(t *testing.T) {
	var b strings.Builder
	for _, v := range variants(t) {
		p, err := v.b.Build(v.name)
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		file := p.Bytes()
		fmt.Fprintf(&b, "%s: %d bytes %x\n", v.name, len(file), digest(file))
		read := func(form string, file []byte, o Options) {
			t.Helper()
			q, err := o.Read(v.name, bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatalf("%s as %s: %v", v.name, form, err)
			}
			fmt.Fprintf(&b, "%s as %s: %s\n", v.name, form, summary(t, q))
			for _, l := range details(t, q) {
				fmt.Fprintf(&b, "\t%s\n", l)
			}
		}
		for _, name := range p.Procedures {
			o := Options{Procedure: name}
			read("container", file, o)
			q, err := o.Read(v.name, bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			read("text", q.Text, Options{FirstWords: q.FirstWords})
			pkg, err := q.Package()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s, package: %x\n", v.name, digest(pkg.Bytes()))
			read("firmware", pkg.Bytes(), Options{})
			driver, err := q.ANEC()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s, Linux driver: %x\n", v.name, digest(driver))
			read("anec", driver, Options{})
		}
		if len(v.b.Also) == 0 {
			l, err := v.b.Layout(v.name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s, layout: %s\n", v.name, summary(t, l))
			v.b.Constants, v.b.ConstantBytes = nil, 0x1234
			if l, err = v.b.Layout(v.name); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s, layout of sizes: %s\n", v.name, summary(t, l))
		}
	}
	if *update {
		if err := os.WriteFile(recordedFile, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(recordedFile)
	if err != nil {
		t.Fatal(err)
	}
	got, lines := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	if len(got) != len(lines) {
		t.Fatalf("%d lines, %s has %d", len(got), recordedFile, len(lines))
	}
	for i := range got {
		if got[i] != lines[i] {
			t.Errorf("got  %s\nwant %s", got[i], lines[i])
		}
	}
}

// A variant is a Builder with some of its choices made.
type variant struct {
	name string
	b    *Builder
}

// variants are the examples with each choice by itself, and with several.
func variants(t *testing.T) (list []variant) {
	add := func(name string, edit func(b *Builder)) {
		t.Helper()
		example, _, _ := strings.Cut(name, " ")
		b, err := exampleBuilder(example)
		if err != nil {
			t.Fatal(err)
		}
		edit(b)
		list = append(list, variant{name, b})
	}
	for _, name := range exampleNames() {
		add(name, func(*Builder) {})
		add(name+" late", func(b *Builder) { b.Late = true })
	}
	add("concat with scratch", func(b *Builder) { b.Scratch, b.Procedure = 0x5000, "two-step" })
	add("conv with constants of their own", func(b *Builder) { b.ConstantsAddr = 0x30100000 })
	add("conv at an address", func(b *Builder) { b.TextAddr = 0x30200000 })
	add("conv with all else", func(b *Builder) {
		b.Banner, b.Empty, b.NoteBytes = "ANEC v1\nzin v9\n-t h13\n--limit=3", []string{"__ONE", "__TWO"}, 0x30
		b.Constants = append(bytes.Clone(b.Constants), make([]byte, 10)...)
		b.Scratch, b.Late = 0x40, true
	})
	add("add with ports at addresses", func(b *Builder) {
		for i := range b.Ports {
			b.Ports[i].Address = 0x30000000 + uint64(7-i)*0x10000
			b.Ports[i].Bytes = 0x5000
		}
	})
	add("identity with a kernel in scratch", func(b *Builder) { *b = *scratchKernel(t) })
	add("conv and others", func(b *Builder) {
		for i, name := range []string{"concat", "conv", "relu"} {
			o, err := exampleBuilder(name)
			if err != nil {
				t.Fatal(err)
			}
			o.Procedure = fmt.Sprint(name, i)
			for k := range o.Ports {
				o.Ports[k].Name = o.Procedure + "." + o.Ports[k].Name
			}
			if name == "relu" {
				o.Scratch = 0x8000
			}
			b.Also = append(b.Also, o)
		}
	})
	add("relu and another", func(b *Builder) {
		o, err := exampleBuilder("add")
		if err != nil {
			t.Fatal(err)
		}
		o.Procedure = "second"
		for k := range o.Ports {
			o.Ports[k].Name = "second." + o.Ports[k].Name
		}
		b.Also = []*Builder{o}
	})
	return list
}

// scratchKernel is a builder of a convolution whose coefficients stand in the scratch memory.
func scratchKernel(t *testing.T) *Builder {
	t.Helper()
	b, err := exampleBuilder("conv")
	if err != nil {
		t.Fatal(err)
	}
	var f regs.File
	var g regs.Groups
	if err := b.Chain[0].Apply(&f); err != nil {
		t.Fatal(err)
	}
	f.Snapshot(&g)
	h := b.Chain[0].Header
	h.KernelBases = h.KernelBases.WithKBase0(regs.BARScratch)
	b.Chain, b.Scratch = Sequence(NewDescriptor(h, &g)), 0x4000
	return b
}

// summary is what a program has but for its bytes.
func summary(t *testing.T, p *Program) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%d tasks from %d words at %#x, byte %#x, buffers %#x; %s of %q;", p.TaskCount, p.FirstWords, p.TextAddr, p.TextOffset(), p.BARs[:8], p.Procedure, p.Procedures)
	for i := range p.Segments {
		s := &p.Segments[i]
		fmt.Fprintf(&b, " %v %#x+%#x %d %x %v;", s, s.Addr, s.Size, s.Prot, digest(s.Data), s.Unmade)
	}
	fmt.Fprintf(&b, "%v %v %v %v", p.Ports, p.Tiles, p.Relocations, p.Symbols)
	return fmt.Sprintf("%x", digest([]byte(b.String())))
}

func digest(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:8]
}

// details are the parts of a program that a reader can judge: its ports, and its descriptors
// in words.
func details(t *testing.T, p *Program) (lines []string) {
	t.Helper()
	var ports []string
	for i := range p.Ports {
		q := &p.Ports[i]
		ports = append(ports, fmt.Sprintf("%v %s b%d %v %v %#x+%#x", q.Direction, q.Name, q.BAR, q.Shape, q.Strides, q.Address, q.Bytes))
	}
	lines = append(lines, strings.Join(ports, "; "))
	for d, err := range p.Describe() {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, d.String())
	}
	return lines
}
