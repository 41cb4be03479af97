package loader

import (
	"bytes"
	"errors"
	"testing"

	"anesim/hw/regs"
	"anesim/loader/internal/rules"
)

// headVectors are files whose first bytes show that they are no program.
func headVectors(t *testing.T) []vector {
	p, err := exampleProgram("relu")
	if err != nil {
		t.Fatal(err)
	}
	none := append(make([]byte, 4*regs.HeaderWords), make([]byte, 200)...)
	none[0] = 1
	concat, err := exampleProgram("concat")
	if err != nil {
		t.Fatal(err)
	}
	cut := bytes.Clone(concat.Text)
	le.PutUint32(cut[4:], uint32(regs.HeaderTiming(le.Uint32(cut[4:])).WithNextSize(511)))
	extra := make([]byte, regs.HeaderBytes)
	extra[0], extra[4*9] = 1, 3
	long := make([]byte, regs.HeaderBytes)
	long[0] = 1
	for range 30 {
		long = append(le.AppendUint32(long, 15<<26), make([]byte, 4*16)...)
	}
	return []vector{
		{"half a header", make([]byte, 20), 0, "header of 40 bytes extends past"},
		{"a descriptor longer than the text", cut, int(le.Uint32(cut[0x1c:])), "declared size of"},
		{"no room for the extra word", extra, regs.HeaderBytes, "extra header word"},
		{"a descriptor that nothing could declare", long, 0, "want at most 512"},
		{"no program", bytes.Repeat([]byte{0xa5, 0x5a, 0x17}, 200), -1, "unknown file format; want a container, captured registers or a descriptor chain"},
		{"no records", none, 0, "no register records"},
		{"a chain cut off", p.Text[:100], -1, "runs past the descriptor's end"},
	}
}

// manyVectors have more of something than a program may.
func manyVectors(t *testing.T) []vector {
	good, at := identity(t)
	// commands is a container of so many copies of a command.
	commands := func(n int, command func(i int) []byte) []byte {
		file := bytes.Clone(good[:headerSize])
		for i := range n {
			file = append(file, command(i)...)
		}
		le.PutUint32(file[16:], uint32(n))
		le.PutUint32(file[20:], uint32(len(file)-headerSize))
		return file
	}
	note := func(int) []byte { return le.AppendUint32(le.AppendUint32(nil, uint32(CommandNote)), commandHeader) }
	copied := func(from string, to string) func(int) []byte {
		return func(int) []byte { return good[at[from]:at[to]] }
	}
	// A program descriptor of a name of its own.
	program := func(i int) []byte {
		b := bytes.Clone(good[at["program"]:at["op t0"]])
		name := int(le.Uint32(b[programName:]))
		b[name], b[name+1] = 'A'+byte(i/26), 'A'+byte(i%26)
		return b
	}
	procedures := commands(maxProcedures+1, program)
	// A package's program of so many ports.
	p, err := exampleProgram("conv")
	if err != nil {
		t.Fatal(err)
	}
	for len(p.Ports) <= maxPorts {
		p.Ports = append(p.Ports, p.Ports[0])
	}
	pkg, err := p.Package()
	if err != nil {
		t.Fatal(err)
	}
	return []vector{
		{"ports of a package", pkg.Bytes(), -1, "program has more than"},
		{"load commands", commands(maxLoads+1, note), 16, "exceeds"},
		{"ports", commands(maxPorts*maxProcedures+1, copied("t0", "t2")), -1, "ports exceeded"},
		{"operations", commands(maxPorts*maxProcedures+1, copied("op t0", "op t2")), -1, "operations exceeded"},
		{"procedures", procedures, -1, "procedures exceeded"},
	}
}

// linkVectors are programs that read and do not link.
func linkVectors(t *testing.T) (out []error) {
	link := func(p *Program) {
		t.Helper()
		l, err := p.Link()
		if l != nil || !typed(err) {
			t.Errorf("linked %v, error %T %v", l != nil, err, err)
			return
		}
		out = append(out, err)
	}
	for _, edit := range []func(p *Program){
		func(p *Program) { p.TaskCount++ },
		func(p *Program) { p.BARs[4] = 0x20000000 },
		func(p *Program) { p.BARs[4] = 0 },
		func(p *Program) { p.BARs[4] += p.Segments[len(p.Segments)-1].Size },
		func(p *Program) { swapped(p, 4, regs.BARText) },
		func(p *Program) {
			for i := range p.Segments {
				p.Segments[i].Prot = 0
			}
		},
		func(p *Program) {
			for i := range p.Segments {
				if s := &p.Segments[i]; s.Name == "__FVMLIB" {
					s.Size = 0x40
				}
			}
		},
		func(p *Program) { le.PutUint32(p.Text[0x1c:], 0x10000) },
	} {
		p, err := exampleProgram("conv")
		if err != nil {
			t.Fatal(err)
		}
		p.Text = bytes.Clone(p.Text)
		edit(p)
		link(p)
	}
	return out
}

// swapped puts a buffer at another's address.
func swapped(p *Program, bar, other int) { p.BARs[bar] = p.BARs[other] }

// windowErrors are options that a bare text does not go with.
func windowErrors(t *testing.T) (out []error) {
	p, err := exampleProgram("conv")
	if err != nil {
		t.Fatal(err)
	}
	unnamed := bytes.Clone(p.Text)
	h := regs.HeaderBases(le.Uint32(unnamed[4*8:])).WithWBE(false)
	le.PutUint32(unnamed[4*8:], uint32(h))
	for _, tt := range []struct {
		o    Options
		text []byte
	}{
		{Options{FirstWords: maxWords + 1}, p.Text},
		{Options{Windows: []Window{{BAR: 99}}}, p.Text},
		{Options{Windows: []Window{{BAR: 4, Bytes: maxAddressRange + 1}}}, p.Text},
		{Options{Windows: []Window{{BAR: regs.BARText, Addr: 1 << 43}}}, p.Text},
		{Options{Windows: []Window{{BAR: regs.BARWeights, Addr: 1 << 43}}}, p.Text},
		{Options{}, unnamed},
	} {
		p, err := tt.o.Read("text", bytes.NewReader(tt.text), int64(len(tt.text)))
		if p != nil || !typed(err) {
			t.Errorf("%+v: program %v, error %v", tt.o, p != nil, err)
			continue
		}
		out = append(out, err)
	}
	for _, size := range []int64{-1, 100, MaxFile + 1, 0} {
		_, err := Read("short", bytes.NewReader(make([]byte, 64)), size)
		out = append(out, err)
	}
	for name, file := range map[string][]byte{"container": mustFile(t, "conv"), "package": firmwareExample(t, "conv")} {
		_, err := (&Options{Procedure: "nobody"}).Read(name, bytes.NewReader(file), int64(len(file)))
		out = append(out, err)
	}
	_, err = readPackage(make([]byte, packageHeader))
	return append(out, err)
}

func mustFile(t *testing.T, name string) []byte {
	t.Helper()
	file, err := exampleFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// addressErrors are captures whose addresses do not join.
func addressErrors(t *testing.T) (out []error) {
	for _, text := range []string{"0x4d10 0x40\n0x4d14 0x400\n", "0x5108 0x30004041\n0x510c 0x1\n"} {
		p, err := Read("pairs", bytes.NewReader([]byte(text)), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Addresses()
		out = append(out, err)
	}
	return out
}

// TestEveryRule demands of every rule of the readers a file that breaks it.
func TestEveryRule(t *testing.T) {
	var messages []string
	add := func(errs ...error) {
		for _, err := range errs {
			if err == nil {
				t.Error("a vector is read without an error")
				continue
			}
			for ; err != nil; err = errors.Unwrap(err) {
				messages = append(messages, err.Error())
			}
		}
	}
	many := manyVectors(t)
	for i := range many {
		many[i].check(t)
	}
	for _, list := range [][]vector{containerVectors(t), headVectors(t), firmwareVectors(t), anecVectors(t), captureVectors(), many} {
		for _, v := range list {
			p, err := Read(v.name, bytes.NewReader(v.file), int64(len(v.file)))
			if p != nil {
				t.Errorf("%s is read", v.name)
			}
			add(err)
		}
	}
	add(linkVectors(t)...)
	add(windowErrors(t)...)
	add(addressErrors(t)...)
	list, err := rules.Find([]string{"newFormatError", "wrapFormatError", "fail", "bad", "newShortCommandError"},
		"read.go", "barechain.go", "container.go", "segment.go", "image.go", "symbols.go", "anec.go", "firmware.go",
		"firmware_program.go", "capture.go", "capture_address.go", "link.go", "../hw/regs/frame.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 100 {
		t.Errorf("%d rules found", len(list))
	}
	for _, r := range list {
		if !r.ViolatedBy(messages) {
			t.Errorf("%s: no file breaks the rule %q", r.Place, r.Format)
		}
	}
	t.Logf("%d rules, %d messages", len(list), len(messages))
}
