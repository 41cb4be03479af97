package loader

import (
	"fmt"

	"anesim/hw/regs"
)

// The firmware container has three levels: a package of programs, of sections. Their
// magics, their nesting and the kinds of section are the documents' (table C.12); the
// layout is ours (assumed), since they give no offsets:
//
//	package   ANEH u32, header bytes u32 (32), version u32 (1), programs u32,
//	          bytes of the package u64, 0 u64
//	program   ANEP u32, header bytes u32, id u32, sections u32, bytes of the program u64,
//	          bytes of the name u32, 0 u32, the name, zeros to a multiple of 16
//	section   ANES u32, header bytes u32 (32), kind u32, flags u32, bytes of data u64,
//	          0 u64, the data, zeros to a multiple of 16
//
// On disk the magics are the letters reversed: HENA, PENA, SENA.
const (
	packageVersion   = 1
	packageHeader    = 32
	packageAlign     = 16
	packagePrograms  = 64  // most programs of a package
	packageSections  = 256 // most sections of a program
	packageMemory    = 56  // bytes an entry of a generic section
	packagePort      = 80  // bytes of an operation section ahead of its name
	packageProcedure = 16 + 8*len(regs.BARs{})
)

// A PackageKind is what a section of a firmware container holds.
type PackageKind uint32

// Kinds of section by the documents' names; their numbers are ours (assumed).
const (
	PackageGeneric   PackageKind = 1 // memory without contents
	PackageKernel    PackageKind = 2 // coefficients
	PackageText      PackageKind = 3 // the chain
	PackageOperation PackageKind = 4 // a port
	PackageProc      PackageKind = 5 // buffers, first descriptor, count
)

// String names the kind.
func (k PackageKind) String() string {
	switch k {
	case PackageGeneric:
		return "generic"
	case PackageKernel:
		return "kernel"
	case PackageText:
		return "text"
	case PackageOperation:
		return "operation"
	case PackageProc:
		return "procedure"
	}
	return fmt.Sprintf("PackageKind(%d)", uint32(k))
}

// A Package is a firmware container.
type Package struct {
	Programs []PackageProgram
}

// A PackageProgram is a program of a package.
type PackageProgram struct {
	ID       uint32
	Name     string
	Sections []PackageSection

	off uint64 // in the file
}

// A PackageSection is a section of a program.
type PackageSection struct {
	Kind  PackageKind
	Flags uint32
	Data  []byte

	off uint64 // of Data in the file
}

// ReadPackage reads a firmware container. An error is a *FormatError.
func ReadPackage(file []byte) (*Package, error) {
	if len(file) < packageHeader {
		return nil, fail(uint64(len(file)), nil, "package header of %d bytes is cut off", packageHeader)
	}
	count, size := le.Uint32(file[12:]), le.Uint64(file[16:])
	switch {
	case le.Uint32(file) != magicFirmware:
		return nil, fail(0, le.Uint32(file), "magic is not that of a package, ANEH")
	case le.Uint32(file[4:]) != packageHeader:
		return nil, fail(4, le.Uint32(file[4:]), "package header has not %d bytes", packageHeader)
	case le.Uint32(file[8:]) != packageVersion:
		return nil, fail(8, le.Uint32(file[8:]), "package is not of version %d", packageVersion)
	case count == 0 || count > packagePrograms:
		return nil, fail(12, count, "programs are not between 1 and %d", packagePrograms)
	case size != uint64(len(file)):
		return nil, fail(16, size, "package is not the %#x bytes of the file", len(file))
	case le.Uint64(file[24:]) != 0:
		return nil, fail(24, le.Uint64(file[24:]), "reserved word of the package is not zero")
	}
	p := new(Package)
	at := uint64(packageHeader)
	for range count {
		q, end, err := readPackageProgram(file, at)
		if err != nil {
			return nil, err
		}
		p.Programs = append(p.Programs, q)
		at = end
	}
	if at != uint64(len(file)) {
		return nil, fail(at, nil, "%d bytes behind the last program", uint64(len(file))-at)
	}
	return p, nil
}

func readPackageProgram(file []byte, at uint64) (q PackageProgram, end uint64, err error) {
	b := file[at:]
	if len(b) < packageHeader {
		return q, 0, fail(at, nil, "program header of %d bytes is cut off", packageHeader)
	}
	header, count, size, name := uint64(le.Uint32(b[4:])), le.Uint32(b[12:]), le.Uint64(b[16:]), uint64(le.Uint32(b[24:]))
	switch {
	case le.Uint32(b) != magicFirmwareProg:
		return q, 0, fail(at, le.Uint32(b), "magic is not that of a program, ANEP")
	case size > uint64(len(b)):
		return q, 0, fail(at+16, size, "program leaves the %#x bytes of the package", len(file))
	case name > maxName || header != roundUp(packageHeader+name, packageAlign) || header > size:
		return q, 0, fail(at+4, header, "program header is not its name's %d bytes and %d, in units of %d", name, packageHeader, packageAlign)
	case count > packageSections:
		return q, 0, fail(at+12, count, "program has more than %d sections", packageSections)
	case le.Uint32(b[28:]) != 0:
		return q, 0, fail(at+28, le.Uint32(b[28:]), "reserved word of the program is not zero")
	}
	if err := zeros(file, at+packageHeader+name, at+header); err != nil {
		return q, 0, err
	}
	q = PackageProgram{ID: le.Uint32(b[8:]), Name: string(b[packageHeader : packageHeader+name]), off: at}
	end = at + size
	at += header
	for i := range count {
		if end-at < packageHeader {
			return q, 0, fail(at, nil, "section %d of %d is cut off", i, count)
		}
		b := file[at:end]
		n := le.Uint64(b[16:])
		switch {
		case le.Uint32(b) != magicFirmwareSect:
			return q, 0, fail(at, le.Uint32(b), "magic is not that of a section, ANES")
		case le.Uint32(b[4:]) != packageHeader:
			return q, 0, fail(at+4, le.Uint32(b[4:]), "section header has not %d bytes", packageHeader)
		case le.Uint64(b[24:]) != 0:
			return q, 0, fail(at+24, le.Uint64(b[24:]), "reserved word of the section is not zero")
		case n > uint64(len(b)-packageHeader) || roundUp(n, packageAlign) > uint64(len(b)-packageHeader):
			return q, 0, fail(at+16, n, "section leaves its program's %#x bytes", size)
		}
		s := PackageSection{Kind: PackageKind(le.Uint32(b[8:])), Flags: le.Uint32(b[12:]), off: at + packageHeader}
		s.Data = file[s.off : s.off+n : s.off+n]
		at = s.off + roundUp(n, packageAlign)
		if err := zeros(file, s.off+n, at); err != nil {
			return q, 0, err
		}
		q.Sections = append(q.Sections, s)
	}
	if at != end {
		return q, 0, fail(at, nil, "%d bytes behind the last section", end-at)
	}
	return q, end, nil
}

// zeros checks padding.
func zeros(file []byte, from, to uint64) error {
	for at := from; at < to; at++ {
		if file[at] != 0 {
			return fail(at, file[at], "padding is not zero")
		}
	}
	return nil
}

// Bytes is the package as a file.
func (p *Package) Bytes() []byte {
	out := make([]byte, packageHeader)
	le.PutUint32(out, magicFirmware)
	le.PutUint32(out[4:], packageHeader)
	le.PutUint32(out[8:], packageVersion)
	le.PutUint32(out[12:], uint32(len(p.Programs)))
	for i := range p.Programs {
		out = p.Programs[i].append(out)
	}
	le.PutUint64(out[16:], uint64(len(out)))
	return out
}

func (q *PackageProgram) append(out []byte) []byte {
	start := len(out)
	out = append(out, make([]byte, packageHeader)...)
	out = padTo(append(out, q.Name...), packageAlign)
	h := len(out) - start
	for i := range q.Sections {
		s := &q.Sections[i]
		at := len(out)
		out = append(out, make([]byte, packageHeader)...)
		le.PutUint32(out[at:], magicFirmwareSect)
		le.PutUint32(out[at+4:], packageHeader)
		le.PutUint32(out[at+8:], uint32(s.Kind))
		le.PutUint32(out[at+12:], s.Flags)
		le.PutUint64(out[at+16:], uint64(len(s.Data)))
		out = padTo(append(out, s.Data...), packageAlign)
	}
	b := out[start:]
	le.PutUint32(b, magicFirmwareProg)
	le.PutUint32(b[4:], uint32(h))
	le.PutUint32(b[8:], q.ID)
	le.PutUint32(b[12:], uint32(len(q.Sections)))
	le.PutUint64(b[16:], uint64(len(b)))
	le.PutUint32(b[24:], uint32(len(q.Name)))
	return out
}
