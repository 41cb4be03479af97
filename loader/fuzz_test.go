package loader

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/internal/material"
	"anesim/loader/internal/cost"
)

// typed reports whether an error is one of the package's own kinds.
func typed(err error) bool {
	var (
		format      *FormatError
		unsupported *UnsupportedError
		surface     *SurfaceError
		memory      *MemoryError
		reloc       *RelocError
	)
	return errors.As(err, &format) || errors.As(err, &unsupported) || errors.As(err, &surface) ||
		errors.As(err, &memory) || errors.As(err, &reloc)
}

// try reads, links and writes a file: no error but a typed one, no program with an
// error, and what was read is written again.
func try(file []byte) error {
	p, err := Read("tried", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		if p != nil || !typed(err) || strings.ContainsRune(err.Error(), '\n') {
			return fmt.Errorf("program %v with error %T %w", p != nil, err, err)
		}
		return nil
	}
	if p.Form != FormRegisters && !bytes.Equal(p.Bytes(), file) {
		return fmt.Errorf("the written %s differs from the read one", p.Form)
	}
	if _, err := p.Addresses(); err != nil && !typed(err) {
		return fmt.Errorf("addresses with error %T %w", err, err)
	}
	if _, err := p.Transfers(); err != nil && !typed(err) {
		return fmt.Errorf("transfers with error %T %w", err, err)
	}
	for _, err := range p.Describe() {
		if err != nil && !typed(err) {
			return fmt.Errorf("description with error %T %w", err, err)
		}
	}
	for i := range p.Ports {
		if q := &p.Ports[i]; q.Shape[0] < 1 || q.spanBytes() > q.Bytes {
			return fmt.Errorf("port %+v ends outside its window", q)
		}
	}
	l, err := p.Link()
	if err != nil {
		if l != nil || !typed(err) {
			return fmt.Errorf("linked %v with error %T %w", l != nil, err, err)
		}
		return nil
	}
	var buf []access
	for _, task := range l.Tasks {
		buf = listAccesses(buf, &task.Header, &task.Groups, task.Operands)
		for _, a := range buf {
			if a.on && l.Segment(p.BARs[a.bar]+a.off, a.bytes) == nil {
				return fmt.Errorf("descriptor %d, %s: outside the program's memory after it was linked", task.Index, a.dmaName())
			}
		}
	}
	return nil
}

// fuzz holds a reader to try and to the memory rule on whatever becomes of its seeds.
// magic stands at the beginning of each, so that no execution is of another form.
func fuzz(f *testing.F, magic uint32, seeds ...[]byte) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if magic != 0 && len(file) >= 4 {
			file = bytes.Clone(file)
			le.PutUint32(file, magic)
		}
		var err error
		rule := cost.Reader.CheckFuzzed(len(file), func() { err = try(file) })
		if err != nil || rule != nil {
			t.Error(err, rule)
		}
	})
}

// examples are the example containers, or their chains.
func examples(f *testing.F, of func(*Program) []byte) (files [][]byte) {
	for _, name := range exampleNames() {
		p, err := exampleProgram(name)
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, of(p))
	}
	return files
}

// FuzzRead has every form: the recognition of a file by its content.
func FuzzRead(f *testing.F) {
	seeds := append(examples(f, (*Program).Bytes), examples(f, func(p *Program) []byte { return p.Text })...)
	seeds = append(seeds, []byte(captured), anecExample(f, "conv"), firmwareExample(f, "relu", "concat"))
	fuzz(f, 0, seeds...)
}

// FuzzContainer has hardware containers, early and late.
func FuzzContainer(f *testing.F) {
	seeds := examples(f, (*Program).Bytes)
	late, err := exampleBuilder("conv")
	if err != nil {
		f.Fatal(err)
	}
	late.Late, late.Scratch, late.NoteBytes = true, 0x4000, 0x40
	several, err := exampleBuilder("relu")
	if err != nil {
		f.Fatal(err)
	}
	several.Procedure, late.Procedure = "first", "second"
	for _, b := range []*Builder{several, late} {
		for i := range b.Ports {
			b.Ports[i].Name = b.Procedure + "." + b.Ports[i].Name
		}
	}
	for _, b := range []*Builder{late, {Procedure: several.Procedure, Chain: several.Chain, Ports: several.Ports, Also: []*Builder{late}}} {
		c, err := b.Container()
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, c.Bytes())
	}
	fuzz(f, MagicContainer, seeds...)
}

// FuzzText has bare chains.
func FuzzText(f *testing.F) {
	fuzz(f, 0, examples(f, func(p *Program) []byte { return p.Text })...)
}

// FuzzFirmware has firmware containers.
func FuzzFirmware(f *testing.F) {
	fuzz(f, magicFirmware, firmwareExample(f, "relu"), firmwareExample(f, "conv", "concat"))
}

// FuzzANEC has programs in the Linux driver's form.
func FuzzANEC(f *testing.F) { fuzz(f, 0, anecExample(f, "conv"), anecExample(f, "concat")) }

// FuzzCapture has captured registers, as text and in binary.
func FuzzCapture(f *testing.F) {
	var binary []byte
	for i := range 19 {
		binary = le.AppendUint32(le.AppendUint32(binary, uint32(4*i)), 0x01010101*uint32(i))
	}
	fuzz(f, 0, []byte(captured), []byte("0x4d10 0x30004040\n0x4d14 0x3ff\n0x5548 1\n0x554c 0x80\n0x5550 0x1000\n"), binary)
}

// mutate changes a few places of a file: words, bytes, runs, its end.
func mutate(r *rand.Rand, file []byte, active int) []byte {
	b := bytes.Clone(file)
	edge := []uint32{0, 1, 3, 0x7fffffff, 0x80000000, 0xffffffff, 0x40, 0x4000, 0x30000000, uint32(len(file))}
	for range 1 + r.IntN(4) {
		at := r.IntN(active) // most of a container is padding
		switch r.IntN(5) {
		case 0:
			b[at] = byte(r.Uint32())
		case 1:
			b[at] ^= 1 << r.IntN(8)
		case 2:
			if at &^= 3; at+4 <= len(b) {
				le.PutUint32(b[at:], edge[r.IntN(len(edge))])
			}
		case 3:
			if at &^= 3; at+4 <= len(b) {
				le.PutUint32(b[at:], le.Uint32(b[at:])+r.Uint32N(64)-32)
			}
		case 4:
			from := r.IntN(active)
			copy(b[at:], b[from:min(len(b), from+r.IntN(64))])
		}
	}
	if r.IntN(16) == 0 {
		b = b[:r.IntN(len(b)+1)]
	}
	return b
}

// TestMutations reads 10,000 broken containers: each gives a typed error or a program,
// and none costs much more memory than it has bytes.
func TestMutations(t *testing.T) {
	var files [][]byte
	for _, name := range exampleNames() {
		file, err := exampleFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	files = append(files, anecExample(t, "conv"), anecExample(t, "concat"), firmwareExample(t, "identity", "add"))
	for _, path := range material.More(t, "programs/*.hwx") {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	n := 5_000
	switch {
	case testing.Short():
		n = 1_000
	case os.Getenv("LONG") != "":
		n = 20_000
	}
	// What a container of 48 KiB costs to read, link and write, and room for a chain
	// that a broken size makes longer.
	const bound = 1 << 20
	r := rand.New(rand.NewPCG(9, 23))
	var before, after runtime.MemStats
	for i := range n {
		file := files[i%len(files)]
		active := 0x4800
		if i%3 == 0 {
			active = 0x1000
		}
		broken := mutate(r, file, min(active, len(file)))
		runtime.ReadMemStats(&before)
		err := try(broken)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Errorf("mutation %d: %v", i, err)
		}
		if cost := after.TotalAlloc - before.TotalAlloc; cost > bound {
			t.Errorf("mutation %d of %d bytes cost %d bytes of memory", i, len(broken), cost)
		}
	}
}

// TestHostile has files that ask for much with little.
func TestHostile(t *testing.T) {
	file, at := identity(t)
	// Every symbol names the same long string.
	long := bytes.Clone(file)
	count := int(le.Uint32(long[at["symtab"]+12:]))
	for i := range count {
		le.PutUint32(long[at["symbols"]+symbolSize*i:], 1)
	}
	// A text of nothing but the shortest descriptors.
	chain := make([]byte, 4<<20)
	for off := 0; off+0x100 < len(chain); off += 0x100 {
		d := &regs.Descriptor{Records: []regs.Record{{Addr: 0, Values: []uint32{0}}}}
		d.Header.Next = regs.HeaderNext(off + 0x100)
		d.Header.Timing = d.Header.Timing.WithNextSize(11)
		copy(chain[off:], d.Append(nil))
	}
	copy(chain[len(chain)-0x100:], (&regs.Descriptor{Records: []regs.Record{{Addr: 0, Values: []uint32{0}}}}).Append(nil))
	for name, b := range map[string][]byte{"symbols": long, "chain": chain, "lines": bytes.Repeat([]byte("0x0 1\n"), 1<<18)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := try(b)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if cost := after.TotalAlloc - before.TotalAlloc; cost > 64*uint64(len(b)) {
			t.Errorf("%s: %d bytes cost %d", name, len(b), cost)
		}
	}
}
