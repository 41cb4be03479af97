package loader

import (
	"bytes"
	"testing"
)

func firmwareExample(t testing.TB, names ...string) []byte {
	t.Helper()
	all := new(Package)
	for i, name := range names {
		p, err := exampleProgram(name)
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := p.Package()
		if err != nil {
			t.Fatal(err)
		}
		q := pkg.Programs[0]
		q.Name, q.ID = name, uint32(i)
		all.Programs = append(all.Programs, q)
	}
	return all.Bytes()
}

// TestFirmwareContainer takes every example into a package and back.
func TestFirmwareContainer(t *testing.T) {
	file := firmwareExample(t, exampleNames()...)
	if string(file[:4]) != "HENA" {
		t.Errorf("magic %q", file[:4])
	}
	for _, name := range exampleNames() {
		from, err := exampleProgram(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := (&Options{Procedure: name}).Read("package", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Form != FormFirmware || p.Procedure != name || len(p.Procedures) != len(exampleNames()) {
			t.Errorf("%s: %s, program %s of %q", name, p.Form, p.Procedure, p.Procedures)
		}
		if !bytes.Equal(p.Text, from.Text) || p.BARs != from.BARs || len(p.Ports) != len(from.Ports) {
			t.Errorf("%s: text, buffers or ports changed", name)
		}
		for i := range p.Ports {
			if p.Ports[i] != from.Ports[i] {
				t.Errorf("%s: port %+v, was %+v", name, p.Ports[i], from.Ports[i])
			}
		}
		if !bytes.Equal(p.Bytes(), file) {
			t.Errorf("%s: the written package differs", name)
		}
		a, err := p.Link()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := from.Link()
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Tasks {
			if a.Tasks[i].Groups != b.Tasks[i].Groups {
				t.Errorf("%s: descriptor %d changed", name, i)
			}
		}
	}
	pkg, err := readPackage(file)
	if err != nil || !bytes.Equal(pkg.Bytes(), file) {
		t.Errorf("the levels written again differ: %v", err)
	}
}

// firmwareVectors are broken packages.
func firmwareVectors(t *testing.T) []vector {
	good := firmwareExample(t, "conv")
	pkg, err := readPackage(good)
	if err != nil {
		t.Fatal(err)
	}
	section := func(k PackageKind) int {
		for i := range pkg.Programs[0].Sections {
			if s := &pkg.Programs[0].Sections[i]; s.Kind == k {
				return int(s.off)
			}
		}
		t.Fatal(k)
		return 0
	}
	const program = packageHeader
	generic, text, port, proc := section(packageGeneric), section(packageText), section(packageOperation), section(packageProc)
	put := func(off int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint32(b[off:], v); return b }
	}
	kernel, sections := section(packageKernel), len(pkg.Programs[0].Sections)
	two := firmwareExample(t, "conv", "relu")
	return append(vectors(good, []broken{
		{"header cut off", func(b []byte) []byte { return b[:20] }, 20, "package header"},
		{"header size", put(4, 33), 4, "package header"},
		{"version", put(8, 2), 8, "version"},
		{"no programs", put(12, 0), 12, "program count"},
		{"more programs", put(12, 2), len(good), "truncated"},
		{"size", put(16, 64), 16, "does not match the file size"},
		{"reserved word of the package", put(24, 1), 24, "reserved"},
		{"program's magic", put(program, 1), program, "ANEP"},
		{"program's header", put(program+4, 32), program + 4, "program header"},
		{"sections", put(program+12, 300), program + 12, "section count"},
		{"fewer sections", put(program+12, 1), generic + int(roundUpTo(uint64(len(pkg.Programs[0].Sections[0].Data)), 16)), "after the last section"},
		{"program's size", put(program+16, 1<<30), program + 16, "program size exceeds"},
		{"reserved word of the program", put(program+28, 1), program + 28, "reserved"},
		{"padding", func(b []byte) []byte { b[program+packageHeader+15] = 1; return b }, program + packageHeader + 15, "padding"},
		{"section's magic", put(generic-32, 1), generic - 32, "ANES"},
		{"section's header", put(generic-28, 1), generic - 28, "section header"},
		{"section's size", put(generic-16, 1<<30), generic - 16, "padded section size exceeds"},
		{"reserved word of the section", put(generic-8, 1), generic - 8, "reserved"},
		{"text declares less", put(text+8, 4), text + 8, "declared size of the text section"},
		{"chain", put(text+packageMemory+0x1c, 0x10000), text + packageMemory + 0x1c, "is outside the"},
		{"direction", put(port, 3), port, "direction"},
		{"buffer", put(port+4, 40), port + 4, "buffer"},
		{"name", put(port+12, 9), port + 12, "name"},
		{"extent", put(port+16, 0), port + 16, "size of axis n"},
		{"stride", func(b []byte) []byte { le.PutUint32(b[port+20:], 5); le.PutUint32(b[port+44:], 1); return b }, port + 40, "stride of axis c reaches past the port's"},
		{"address", put(port+68, 1<<20), port + 64, "device address space"},
		{"bytes", put(port+72, 0x101), port + 72, "is less than"},
		{"first words", put(proc, 3), proc, "first descriptor"},
		{"count", put(proc+4, 1<<30), proc + 4, "descriptor count"},
		{"no procedure", put(proc-24, 9), program, "missing procedure or text section"},
		{"no text", put(text-24, 9), program, "missing procedure or text section"},
		{"one section more", put(program+12, uint32(sections+1)), len(good), "truncated section 6 of 7"},
		{"procedure too short", put(port-24, uint32(packageProc)), port, "invalid procedure section size"},
		{"memory of no entries", put(port-24, uint32(packageGeneric)), port, "not a multiple of 0x38"},
		{"two texts", put(kernel-24, uint32(packageText)), -1, "a second text"},
	}), vectors(two, []broken{{"a program too many", put(12, 1), len(good), "after the last program"}})...)
}
