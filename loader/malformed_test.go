package loader

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// identity returns a fresh copy of the identity layer and the file offsets of its
// commands.
func identity(t testing.TB) (file []byte, at map[string]int) {
	t.Helper()
	file, err := exampleFile("identity")
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseContainer(pieces{rest: file})
	if err != nil {
		t.Fatal(err)
	}
	at = make(map[string]int)
	off := headerSize
	for _, l := range c.Loads {
		name := "other"
		switch l := l.(type) {
		case *SegmentLoad:
			name = l.Name
			if l.Name == "__FVMLIB" {
				name = l.Sections[0].Name
			}
		case *PortLoad:
			name = l.Name
		case *ProgramLoad:
			name = "program"
		case *OperationLoad:
			name = "op " + l.Port
		case *symtabLoad:
			name = "symtab"
			at["symbols"], at["strings"] = int(l.Offset), int(l.StringOffset)
		case *bannerLoad:
			name = "banner"
		}
		at[name] = off
		off += len(l.Raw())
	}
	at["end"] = off
	return file, at
}

// A vector is a broken file, with the offset and the words of its error.
type vector struct {
	name string
	file []byte
	off  int // -1 where what stands there is not the file's
	what string
}

// broken edits copies of a file.
type broken struct {
	name string
	edit func([]byte) []byte
	off  int
	what string
}

func vectors(file []byte, list []broken) (out []vector) {
	for _, b := range list {
		out = append(out, vector{b.name, b.edit(bytes.Clone(file)), b.off, b.what})
	}
	return out
}

// check holds what reading the file gives to the vector.
func (v *vector) check(t *testing.T) {
	t.Helper()
	p, err := Read("broken", bytes.NewReader(v.file), int64(len(v.file)))
	var f *FormatError
	if !errors.As(err, &f) {
		t.Errorf("%s: program %v, error %v; want a *FormatError", v.name, p != nil, err)
		return
	}
	if p != nil {
		t.Errorf("%s: a partial program came with the error", v.name)
	}
	if v.off >= 0 && f.Off != uint64(v.off) || !strings.Contains(err.Error(), v.what) {
		t.Errorf("%s: %v; want byte %#x and %q", v.name, err, v.off, v.what)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: the message has more than one line: %q", v.name, err)
	}
}

// TestMalformed has a file for every way to break one, and the offset that is named.
func TestMalformed(t *testing.T) {
	for _, list := range [][]vector{containerVectors(t), headVectors(t), firmwareVectors(t), anecVectors(t), captureVectors()} {
		for i := range list {
			list[i].check(t)
		}
	}
}

// containerVectors are broken copies of the identity layer.
func containerVectors(t *testing.T) []vector {
	file, at := identity(t)
	put32 := func(off int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint32(b[off:], v); return b }
	}
	put64 := func(off int, v uint64) func([]byte) []byte {
		return func(b []byte) []byte { le.PutUint64(b[off:], v); return b }
	}
	both := func(f ...func([]byte) []byte) func([]byte) []byte {
		return func(b []byte) []byte {
			for _, g := range f {
				b = g(b)
			}
			return b
		}
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	// unknown turns a command into one the package does not know.
	unknown := func(name string) func([]byte) []byte { return put32(at[name], 0x7f) }
	text, sec := at["__TEXT"], at["__TEXT"]+segmentSize
	sym := at["symbols"]
	return vectors(file, []broken{
		{"header cut off", cut(20), 20, "truncated container header"},
		{"processor", put32(4, 7), 4, "processor type"},
		{"file type", put32(12, 6), 12, "file type"},
		{"commands extend past the end of the file", put32(20, 1<<30), 20, "size of the load commands exceeds"},
		{"too many commands", put32(16, 1<<30), 16, "load command count is too large for"},
		{"command cut off", put32(16, 16), at["end"], "truncated load command 15 of 16"},
		{"bytes behind the commands", put32(16, 14), at["symtab"], "after the last load command"},
		{"command of no size", put32(text+4, 4), text + 4, "size of load command"},
		{"command too large", put32(text+4, 1<<20), text + 4, "size of load command"},
		{"sections leave the segment command", put32(text+64, 2), text + 64, "section count of segment"},
		{"segment extends past the device address space", put64(text+24, 1<<42), text + 24, "device address space"},
		{"segment wraps", put64(text+32, 1<<63), text + 24, "device address space"},
		{"segment extends past the end of the file", put64(text+40, 1<<40), text + 40, "leaves no room for"},
		{"segment's bytes extend past the end of the file", put64(text+48, 1<<20), text + 40, "leaves no room for"},
		{"segment larger in the file", put64(text+32, 0x1000), text + 48, "less than its file size"},
		{"section leaves the segment", put64(sec+40, 0x5000), sec + 32, "outside its segment"},
		{"section ahead of the segment", put64(sec+32, 0x3000c000), sec + 32, "outside its segment"},
		{"section's bytes leave the segment's", put32(sec+48, 0x7ff0), sec + 48, "puts its data outside"},
		{"relocations extend past the end of the file", put32(sec+56, 1<<30), sec + 56, "relocations"},
		{"too many relocations", put32(sec+60, 1<<28), sec + 56, "relocations"},
		{"relocations over symbols", put32(sec+56, uint32(sym)), sym, "overlaps"},
		{"relocation kind", put32(int(0x3ad8)+4, 0x0d000004), 0x3ad8, "plus a section number"},
		{"relocation section", put32(0x3ad8+4, 0x05000009), 0x3ad8, "section 9 is not between 1 and 4"},
		{"relocation outside the text", put32(0x3ad8, 0x10000), 0x3ad8, "not inside any descriptor"},
		{"relocation of a header word", put32(0x3ad8, 0x204), 0x3ad8, "does not point to a register word"},
		{"no text", put32(sec+4, 0x78), at["end"], "missing section __TEXT,__text"},
		{"text without bytes", put64(text+48, 0), 0x4000, "no bytes in the file"},
		{"two texts", func(b []byte) []byte {
			copy(b[at["__KERN_0"]+segmentSize:], b[sec:sec+32])
			return b
		}, at["__KERN_0"], "duplicate section"},
		{"descriptor count of zero", put32(at["program"]+programTasks, 0), at["program"] + programTasks, "descriptor count"},
		{"first descriptor too large", put32(at["program"]+programFirstWords, 512), at["program"] + programFirstWords, "word count field of the first descriptor"},
		{"first descriptor too small", put32(at["program"]+programFirstWords, 3), 0x4000, "program text"},
		{"procedure's name", put32(at["program"]+programName, 1<<20), at["program"] + programName, "procedure name offset"},
		{"program command too short", put32(at["program"]+4, 0x800), at["program"] + 4, "truncated program descriptor"},
		{"two procedures of a name", func(b []byte) []byte {
			copy(b[at["other"]:], b[at["program"]:at["program"]+programSize+0x20])
			return put32(at["other"]+4, uint32(at["symtab"]-at["other"]))(b)
		}, at["other"], "duplicate program descriptor"},
		{"text between tiles", both(put64(text+24, identityText+0x20), put64(sec+32, identityText+0x20)), sec + 32, "not a multiple of 0x40"},
		{"window between pages", both(put64(at["__const"]+24, identityInput+0x40), put64(at["__const"]+segmentSize+32, identityInput+0x40)),
			at["__const"] + segmentSize + 32, "not a multiple of 0x4000"},
		{"kernel section beyond the compiler's", both(put64(at["__KERN_0"]+32, 1<<28), put64(at["__KERN_0"]+segmentSize+40, 1<<28)),
			at["__KERN_0"] + segmentSize + 40, "exceeds"},
		{"no program", unknown("program"), at["end"], "missing program descriptor"},
		{"loop in the chain", put32(0x4000+0x200+0x1c, 0x200), 0x4000 + 0x200 + 0x1c, "loops back"},
		{"chain leaves the text", put32(0x4000+0x1c, 0x10000), 0x4000 + 0x1c, "is outside the"},
		{"record leaves the registers", put32(0x4000+0x28, 0x3f<<26|0x1f800), 0x4000 + 0x28, "register window"},
		{"port's name", put32(at["t0"]+8, 0x20), at["t0"] + 8, "port name offset"},
		{"port's name without an end", func(b []byte) []byte {
			copy(b[at["t0"]+0x18:], "overlong")
			return b
		}, at["t0"] + 0x18, "has no zero byte"},
		{"port without a window", put64(at["t0"]+0x10, 0x30008040), at["t0"] + 0x10, "no __FVMLIB section starts"},
		{"input in the output's window", put64(at["t0"]+0x10, identityOutput), at["t0"] + 0x10, "protection 2 does not permit input"},
		{"port in the text", put64(at["t0"]+0x10, identityText), at["t0"] + 0x10, "no __FVMLIB section starts"},
		{"port command too short", both(put32(at["t0"]+4, 0x10)), at["t0"] + 4, "truncated port command"},
		{"two ports of a name", func(b []byte) []byte {
			b[at["t2"]+0x19] = '0'
			return b
		}, at["t2"], "duplicate port"},
		{"missing port command", func(b []byte) []byte {
			b[at["t0"]+0x19] = '9'
			return b
		}, at["op t0"], "missing port command"},
		{"operation too short", put32(at["op t0"]+4, 0x80), at["op t0"] + 4, "truncated operation"},
		{"thread command too short", put32(at["op t0"]+4, 8), at["op t0"] + 4, "truncated thread"},
		{"operation's direction", put32(at["op t0"]+operationDirection, 3), at["op t0"] + operationDirection, "direction"},
		{"operation's shape", put32(at["op t0"]+operationShape+4, 0), at["op t0"] + operationShape + 4, "size of axis c"},
		{"operation's stride", put64(at["op t0"]+operationStrides, 1<<50), at["op t0"] + operationStrides, "stride of axis n"},
		{"operation's operand name", put32(at["op t0"]+operationOperand, 0x98), at["op t0"] + operationOperand, "operand name offset"},
		{"operation's port name", put32(at["op t0"]+operationSymbol, 0x98), at["op t0"] + operationSymbol, "port name offset"},
		{"operation's procedure name", put32(at["op t0"]+operationProcedure, 0x98), at["op t0"] + operationProcedure, "procedure name offset"},
		{"symbols extend past the end of the file", put32(at["symtab"]+8, 1<<30), at["symtab"] + 8, "symbol table"},
		{"too many symbols", put32(at["symtab"]+12, 1<<28), at["symtab"] + 8, "symbol table"},
		{"strings extend past the end of the file", put32(at["symtab"]+20, 1<<30), at["symtab"] + 16, "string table"},
		{"symbol table command too short", put32(at["symtab"]+4, 16), at["symtab"] + 4, "truncated symbol table"},
		{"symbol's name", put32(sym, 1<<20), sym, "name offset of symbol 0"},
		{"symbol's name without an end", func(b []byte) []byte {
			s := at["strings"]
			n := int(le.Uint32(b[at["symtab"]+20:]))
			for i := range n {
				b[s+i] = 'x'
			}
			return b
		}, sym, "has no zero byte"},
		{"shape larger than the window", func(b []byte) []byte {
			return bytes.Replace(b, []byte("t0:t44=ar1;0;1;45=s128n:ar1;0;1;"), []byte("t0:t44=ar1;0;1;45=s128n:ar1;0;2;"), 1)
		}, at["t0"], "smaller than the 0x100 bytes"},
		{"owners of more than the file", func(b []byte) []byte {
			le.PutUint32(b[at["symtab"]+8:], 0)
			le.PutUint32(b[at["symtab"]+12:], uint32(len(b)/symbolSize))
			return b
		}, at["symtab"] + 8, "overlap between parts of the file"},
		{"segment command too short", put32(text+4, 64), text + 4, "truncated segment"},
		{"scratch beyond the compiler's", func(b []byte) []byte {
			seg := at["__const"]
			copy(b[seg+segmentSize:], "__bss\x00\x00\x00")
			copy(b[seg+segmentSize+16:], "__DATA\x00\x00")
			le.PutUint64(b[seg+32:], MaxScratch+PageSize)
			le.PutUint64(b[seg+segmentSize+40:], MaxScratch+PageSize)
			return b
		}, at["__const"] + segmentSize + 40, "size of scratch section"},
		{"more relocations than words", func(b []byte) []byte {
			le.PutUint32(b[sec+56:], uint32(len(b)))
			le.PutUint32(b[sec+60:], 300)
			return append(b, make([]byte, 300*relocSize)...)
		}, len(file), "relocation count exceeds"},
		{"window of one byte", both(put64(at["__const"]+32, 1), put64(at["__const"]+segmentSize+40, 1)), at["t0"], "smaller than one element"},
		{"a file cut off", cut(0x4100), text + 40, "leaves no room for"},
		{"a file of three bytes", cut(3), 0, "want at least 4"},
	})
}

// TestUnsupported has a file for each form the model knows and does not run.
func TestUnsupported(t *testing.T) {
	container := func(subtype uint32) []byte {
		b, _ := identity(t)
		le.PutUint32(b[8:], subtype)
		return b
	}
	dispatch := []byte{0x10, 0, 0, 0, 0, 0, 0, 0, 0x0c, 0, 0x14, 0, 0x04, 0, 0x08, 0, 8, 0, 0, 0}
	elsewhere := func() []byte {
		b, at := identity(t)
		le.PutUint64(b[at["program"]+programStart:], identityText+0x200)
		return b
	}
	for _, tt := range []struct {
		name string
		file []byte
		want string
	}{
		{"A12", container(1), "A12"},
		{"A13", container(3), "A13"},
		{"A15", container(5), "A15/M2"},
		{"A16", container(6), "A16/M3"},
		{"A17", container(7), "A17/M4"},
		{"A18", container(9), "A18/M5"},
		{"A19", container(10), "A19"},
		{"a subtype nobody knows", container(99), "subtype 99"},
		{"firmware program", []byte("PENA\x00\x00\x00\x00"), "firmware container (PENA)"},
		{"firmware section", []byte("SENA\x00\x00\x00\x00"), "firmware container (SENA)"},
		{"Mach-O", []byte{0xcf, 0xfa, 0xed, 0xfe, 0, 0, 0, 0}, "Mach-O"},
		{"Mach-O of 32 bits", []byte{0xce, 0xfa, 0xed, 0xfe, 0, 0, 0, 0}, "Mach-O"},
		{"Mach-O, big-endian", []byte{0xfe, 0xed, 0xfa, 0xcf, 0, 0, 0, 0}, "big-endian"},
		{"fat Mach-O", []byte{0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 0}, "Mach-O"},
		{"dispatch descriptor", dispatch, "dispatch descriptor"},
		{"property list", []byte("<?xml version=\"1.0\"?>\n<!DOCTYPE plist>\n<plist version=\"1.0\"><dict/></plist>\n"), "property list"},
		{"binary property list", []byte("bplist00\xd1\x01\x02QaQb\x08\x0b\x0d"), "property list"},
		{"intermediate text", []byte("program(1.0)\n[buildInfo = dict<string, string>({})]\n{\n}\n"), "(MIL)"},
		{"descriptor text", []byte("# by hand\n.td\nCommon.Cin 1\n"), "anesim asm"},
		{"another start", elsewhere(), "unsupported program start"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Read(tt.name, bytes.NewReader(tt.file), int64(len(tt.file)))
			var u *UnsupportedError
			if !errors.As(err, &u) || !strings.Contains(err.Error(), tt.want) || p != nil {
				t.Errorf("error %v, want an *UnsupportedError naming %s", err, tt.want)
			}
		})
	}
}

// TestNoProgram has files of no form at all.
func TestNoProgram(t *testing.T) {
	for name, file := range map[string][]byte{
		"zeros":  make([]byte, 0x400),
		"prose":  []byte("It was a dark and stormy night; the rain fell in torrents.\n"),
		"noise":  bytes.Repeat([]byte{0xa5, 0x5a, 0x17}, 200),
		"header": slices.Concat(make([]byte, 40), []byte{0, 0, 0, 0x40}),
	} {
		p, err := Read(name, bytes.NewReader(file), int64(len(file)))
		var f *FormatError
		if !errors.As(err, &f) || p != nil {
			t.Errorf("%s: error %v, want a *FormatError", name, err)
		}
	}
	// A size that is not the file's.
	for _, size := range []int64{-1, 100, MaxFile + 1} {
		if _, err := Read("short", bytes.NewReader(make([]byte, 64)), size); err == nil {
			t.Errorf("size %d was taken for a file of 64 bytes", size)
		}
	}
}
