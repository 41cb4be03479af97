package loader

import (
	"fmt"

	"anesim/hw/regs"
)

// The firmware container has three levels: a package contains programs, and a program
// contains sections. The magic numbers, the nesting and the kinds of section follow the
// documents (table C.12). The documents give no offsets, so the layout is this package's
// own (assumed):
//
//	package   ANEH u32, header bytes u32 (32), version u32 (1), programs u32,
//	          bytes of the package u64, 0 u64
//	program   ANEP u32, header bytes u32, id u32, sections u32, bytes of the program u64,
//	          bytes of the name u32, 0 u32, the name, zeros to a multiple of 16
//	section   ANES u32, header bytes u32 (32), kind u32, flags u32, bytes of data u64,
//	          0 u64, the data, zeros to a multiple of 16
//
// On disk the letters of each magic number are reversed: HENA, PENA, SENA.
const (
	packageVersion   = 1
	packageHeader    = 32
	packageAlign     = 16
	packagePrograms  = 64  // maximum number of programs in a package
	packageSections  = 256 // maximum number of sections in a program
	packageMemory    = 56  // bytes of an entry in a generic section
	packagePort      = 80  // bytes before the name in an operation section
	packageProcedure = 16 + 8*len(regs.BARs{})
)

// A PackageKind identifies the contents of a section in a firmware container.
type PackageKind uint32

// Kinds of sections in a firmware container. The documents give the names; the numbers are
// assumed.
const (
	packageGeneric   PackageKind = 1 // memory without contents
	packageKernel    PackageKind = 2 // weights
	packageText      PackageKind = 3 // the chain
	packageOperation PackageKind = 4 // a port
	packageProc      PackageKind = 5 // buffer addresses, size of the first descriptor, descriptor count
)

// String returns the name of the kind, such as "kernel".
func (k PackageKind) String() string {
	switch k {
	case packageGeneric:
		return "generic"
	case packageKernel:
		return "kernel"
	case packageText:
		return "text"
	case packageOperation:
		return "operation"
	case packageProc:
		return "procedure"
	}
	return fmt.Sprintf("PackageKind(%d)", uint32(k))
}

// A Package is a firmware container, a file with one or more programs.
type Package struct {
	Programs []PackageProgram
}

// A PackageProgram is one program of a [Package].
type PackageProgram struct {
	ID       uint32
	Name     string
	Sections []PackageSection

	off uint64 // in the file
}

// A PackageSection is one section of a [PackageProgram], such as its descriptors or a port.
type PackageSection struct {
	Kind  PackageKind
	Flags uint32
	Data  []byte

	off uint64 // of Data in the file
}

// readPackage parses a firmware container. The sections of the result share memory with
// file. All errors are of type *[FormatError].
func readPackage(file []byte) (*Package, error) {
	if len(file) < packageHeader {
		return nil, newFormatError(uint64(len(file)), nil, "truncated package header; want %d bytes", packageHeader)
	}
	count, size := le.Uint32(file[12:]), le.Uint64(file[16:])
	switch {
	case le.Uint32(file) != magicFirmware:
		return nil, newFormatError(0, le.Uint32(file), "unknown magic number; want \"ANEH\" for a package")
	case le.Uint32(file[4:]) != packageHeader:
		return nil, newFormatError(4, le.Uint32(file[4:]), "unexpected package header size; want %#x bytes", packageHeader)
	case le.Uint32(file[8:]) != packageVersion:
		return nil, newFormatError(8, le.Uint32(file[8:]), "unknown package version; want %d", packageVersion)
	case count == 0 || count > packagePrograms:
		return nil, newFormatError(12, count, "program count is not between 1 and %#x", packagePrograms)
	// A package fills its file: bytes after it that nothing describes are refused, not ignored.
	case size != uint64(len(file)):
		return nil, newFormatError(16, size, "package size does not match the file size of %#x bytes", len(file))
	case le.Uint64(file[24:]) != 0:
		return nil, newFormatError(24, le.Uint64(file[24:]), "reserved word of the package is not zero")
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
		return nil, newFormatError(at, nil, "%d unexpected bytes after the last program", uint64(len(file))-at)
	}
	return p, nil
}

func readPackageProgram(file []byte, at uint64) (q PackageProgram, end uint64, err error) {
	b := file[at:]
	if len(b) < packageHeader {
		return q, 0, newFormatError(at, nil, "truncated program header; want %d bytes", packageHeader)
	}
	header, count, size, name := uint64(le.Uint32(b[4:])), le.Uint32(b[12:]), le.Uint64(b[16:]), uint64(le.Uint32(b[24:]))
	// The program's size bounds everything that follows, so it is checked before the rest, and the
	// name before the header that is rounded up from it.
	switch {
	case le.Uint32(b) != magicFirmwareProg:
		return q, 0, newFormatError(at, le.Uint32(b), "unknown magic number; want \"ANEP\" for a program")
	case size > uint64(len(b)):
		return q, 0, newFormatError(at+16, size, "program size exceeds the remaining %#x bytes of the package", len(b))
	case name > maxName || header != roundUpTo(packageHeader+name, packageAlign) || header > size:
		return q, 0, newFormatError(at+4, header, "program header size does not match a name of %d bytes (limit %d) or exceeds %#x bytes", name, maxName, size)
	case count > packageSections:
		return q, 0, newFormatError(at+12, count, "section count of the program exceeds %#x", packageSections)
	case le.Uint32(b[28:]) != 0:
		return q, 0, newFormatError(at+28, le.Uint32(b[28:]), "reserved word of the program is not zero")
	}
	if err := checkZeros(file, at+packageHeader+name, at+header); err != nil {
		return q, 0, err
	}
	q = PackageProgram{ID: le.Uint32(b[8:]), Name: string(b[packageHeader : packageHeader+name]), off: at}
	end = at + size
	at += header
	for i := range count {
		if end-at < packageHeader {
			return q, 0, newFormatError(at, nil, "truncated section %d of %d", i, count)
		}
		b := file[at:end]
		n := le.Uint64(b[16:])
		switch {
		case le.Uint32(b) != magicFirmwareSect:
			return q, 0, newFormatError(at, le.Uint32(b), "unknown magic number; want \"ANES\" for a section")
		case le.Uint32(b[4:]) != packageHeader:
			return q, 0, newFormatError(at+4, le.Uint32(b[4:]), "unexpected section header size; want %#x bytes", packageHeader)
		case le.Uint64(b[24:]) != 0:
			return q, 0, newFormatError(at+24, le.Uint64(b[24:]), "reserved word of the section is not zero")
		// Rounding up a size near 2^64 gives 0, so the size itself is compared first.
		case n > uint64(len(b)-packageHeader) || roundUpTo(n, packageAlign) > uint64(len(b)-packageHeader):
			return q, 0, newFormatError(at+16, n, "padded section size exceeds the remaining %#x bytes of the program", len(b)-packageHeader)
		}
		s := PackageSection{Kind: PackageKind(le.Uint32(b[8:])), Flags: le.Uint32(b[12:]), off: at + packageHeader}
		// The capacity ends with the section: what a caller appends must not reach the next one.
		s.Data = file[s.off : s.off+n : s.off+n]
		at = s.off + roundUpTo(n, packageAlign)
		if err := checkZeros(file, s.off+n, at); err != nil {
			return q, 0, err
		}
		q.Sections = append(q.Sections, s)
	}
	if at != end {
		return q, 0, newFormatError(at, nil, "%d unexpected bytes after the last section", end-at)
	}
	return q, end, nil
}

// checkZeros returns an error unless the padding file[from:to] is zero.
func checkZeros(file []byte, from, to uint64) error {
	for at := from; at < to; at++ {
		if file[at] != 0 {
			return newFormatError(at, file[at], "padding is not zero")
		}
	}
	return nil
}

// Bytes returns the package as the contents of a file.
func (p *Package) Bytes() []byte {
	out := make([]byte, packageHeader)
	le.PutUint32(out, magicFirmware)
	le.PutUint32(out[4:], packageHeader)
	le.PutUint32(out[8:], packageVersion)
	le.PutUint32(out[12:], uint32(len(p.Programs)))
	for i := range p.Programs {
		out = p.Programs[i].appendTo(out)
	}
	le.PutUint64(out[16:], uint64(len(out)))
	return out
}

func (q *PackageProgram) appendTo(out []byte) []byte {
	start := len(out)
	out = append(out, make([]byte, packageHeader)...)
	out = padToMultiple(append(out, q.Name...), packageAlign)
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
		out = padToMultiple(append(out, s.Data...), packageAlign)
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
