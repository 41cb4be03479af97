package asm

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/internal/material"
	"anesim/loader"
	"anesim/loader/internal/cost"
	"anesim/loader/internal/rules"
	"anesim/loader/lower"
)

// programs are the files whose text is taken apart: our own, and those of the vendor's
// compiler where they are at hand.
func programs(t *testing.T) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	for _, name := range lower.Examples() {
		b, err := lower.Example(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
		p, err := loader.Read(name, bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		files[name+" text"] = p.Text
	}
	for _, name := range material.More(t, "programs/*.hwx", "programs/text/*.bin", "oracles/*.text.bin") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = b
	}
	return files
}

func read(name string, b []byte) (*loader.Program, error) {
	return (&loader.Options{Inspect: true}).Read(name, bytes.NewReader(b), int64(len(b)))
}

// TestRoundTrip takes every program apart and puts it together again, byte for byte.
func TestRoundTrip(t *testing.T) {
	for name, b := range programs(t) {
		p, err := read(name, b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := Disassemble(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		u, err := Assemble(name, text, nil)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		got, err := u.File()
		if err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s: the assembled file differs: %v", name, err)
		}
		if p.FirstWords != 0 && u.FirstWords() != p.FirstWords {
			t.Errorf("%s: first descriptor of %d words, want %d", name, u.FirstWords(), p.FirstWords)
		}
	}
}

// TestOddChains has what real chains do not: records that could be one, words that no
// field explains, gaps that are not zero, chains out of order, text behind the chain.
func TestOddChains(t *testing.T) {
	first := &regs.Descriptor{Records: []regs.Record{
		{Addr: 0, Values: []uint32{0xffffffff}},
		{Addr: 4, Values: []uint32{0, 0xdeadbeef}},
		{Addr: 0, Values: []uint32{1}},
		{Addr: 0x1f848, Values: []uint32{0x40, 0x80, 0xc0, 0x101}},
		{Addr: 0x4800, Values: []uint32{0x80000000, 7}},
		{Addr: 0x880c, Values: []uint32{0x7fc00001}}, // a NaN with a payload
		{Addr: 0xc810, Values: []uint32{0xfe01}},
	}}
	first.Header.Timing = 0xffff0000 | 7
	first.Header.Task = 0xfc000000
	first.Header.Next = 0x400
	second := &regs.Descriptor{Offset: 0x400, Extended: true, Extra: 0x1234, Records: []regs.Record{{Addr: 0, Values: []uint32{5}}}}
	second.Header.KernelBases = 3
	second.Header.Next = 0x200
	third := &regs.Descriptor{Offset: 0x200, Records: []regs.Record{{Addr: 0, Values: []uint32{0}}}}
	third.Header.Timing = third.Header.Timing.WithNextSize(9) // although nothing follows
	first.Header.Timing = first.Header.Timing.WithNextSize(12)
	second.Header.Timing = second.Header.Timing.WithNextSize(11)
	text := regs.EncodeChain([]*regs.Descriptor{first, second, third})
	text = append(text, make([]byte, 100)...)
	text[0x1f0], text[0x300], text[len(text)-1] = 1, 2, 3
	p := &loader.Program{Name: "odd", Form: loader.FormText, Subtype: loader.SubtypeM1, Text: text, FirstWords: regs.HeaderWords + 19}
	n := 0
	for _, err := range p.Descriptors() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 3 {
		t.Fatalf("%d descriptors", n)
	}
	source, err := Disassemble(p)
	if err != nil {
		t.Fatal(err)
	}
	u, err := Assemble("odd", source, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	if !bytes.Equal(u.Text, text) {
		t.Errorf("the text differs:\n%s", source)
	}
}

// TestErrors has a text for every rule, and the place and the name that its error gives.
func TestErrors(t *testing.T) {
	var messages []string
	const td = ".td\n"
	long := strings.Repeat("Common.InDim 1\n", 300)
	// far is a chain with a descriptor at every so many bytes.
	far := func(n, step int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ".td @%#x\n", i*step)
		}
		return b.String()
	}
	for _, tt := range []struct {
		text          string
		line, col     int
		what, nearest string
	}{
		{"", 1, 1, "no descriptor", ""},
		{"Common.Cin 1", 1, 1, "before the first .td", ""},
		{".record", 1, 1, "before the first .td", ""},
		{".tx", 1, 1, "unknown directive", ".td"},
		{".td 1 2", 1, 7, ".td has 2 operands", ""},
		{".td @0x40", 1, 5, "multiple of 0x100", ""},
		{".td 0x100", 1, 5, "invalid descriptor offset", ""},
		{".td @0x10000000", 1, 5, "after the previous descriptor", ""},
		{".td\n.td @0", 2, 1, "overlaps the descriptor of line 1", ""},
		{td + long, 1, 1, "want at most 512", ""},
		{td + "Common.Sin 1", 2, 1, "unknown register", "Common.Cin"},
		{td + "  L2.Src1Bse 1", 2, 3, "unknown register", "L2.Src1Base"},
		{td + "Header.Base 1", 2, 1, "unknown register", "Header.Bases"},
		{td + "0x40 1", 2, 1, "unknown register", ""},
		{td + "CCDMA.Config 1", 2, 1, "CCDMA (compute-cache DMA engine) does not exist in the M1's engine", ""},
		{td + "KernelDMASrc.CoeffBaseAddr[0-16] 1", 2, 1, "unknown register", "KernelDMASrc.CoeffBaseAddr[0]"},
		{td + "Common.Cin", 2, 1, "missing value", ""},
		{td + "Common.Cin 131072", 2, 12, "does not fit in the 17 bits", ""},
		{td + "Common.Cin 12x", 2, 12, "invalid value", ""},
		{td + "Common.Cin 1 2", 2, 14, "cannot be combined with other values", ""},
		{td + "Common.InDim Wim=1", 2, 14, "unknown field", "Win"},
		{td + "Common.InDim Win", 2, 14, "missing value for Win", ""},
		{td + "Common.InDim Win=1 Win=2", 2, 20, "set twice", ""},
		{td + "Common.InDim Win=1 +0x4", 2, 20, "set twice", ""},
		{td + "Common.InDim Win=1 +-4", 2, 20, "invalid bits", ""},
		{td + "Common.InDim 1 Win=2", 2, 14, "cannot be combined with other values", ""},
		{td + "Common.InDim word=1 Win=2", 2, 14, "cannot be combined with other values", ""},
		{td + "Common.InDim word=0x100000000", 2, 19, "not a 32-bit number", ""},
		{td + "NE.MACCfg OpMode=pass-thru", 2, 18, "invalid value", "pass-through"},
		{td + "NE.PostScale PostScale=70000.0", 2, 24, "65504", ""},
		{td + "NE.PostScale PostScale=one", 2, 24, "invalid number", ""},
		{td + "L2.Src1Base 8", 2, 13, "multiple of 16", ""},
		{td + "TileDMASrc.Src1Base 0x100000000", 2, 21, "does not fit", ""},
		{td + "KernelDMASrc.CoeffBaseAddr[0-15] 0 step x", 2, 41, "invalid value", ""},
		{td + "Common.InDim 0 step 1", 2, 16, "invalid step", ""},
		{td + "Header.Extra 1", 1, 1, "does not enable it", ""},
		{td + "Header.Extra x", 2, 14, "not a 32-bit number", ""},
		{td + "Common.Cin $n", 2, 12, "undeclared parameter", ""},
		{".bind rows 3\n" + td + "Common.Cin $row", 3, 12, "undeclared parameter", "rows"},
		{".bind n 3 4 8 2\n" + td + "Common.Cin $n", 3, 12, "want 4 to 8 in steps of 2", ""},
		{".bind n 3\n.bind n 3", 2, 7, "duplicate .bind", ""},
		{".bind n 3 4", 1, 7, "START STOP STEP", ""},
		{".bind n -3", 1, 9, "invalid parameter value", ""},
		{".size x\n" + td, 1, 7, "not between", ""},
		{".size 4\n" + td, 1, 7, "not between", ""},
		{".size 0x10000000\n" + td, 1, 7, "not between", ""},
		{".at x 00", 1, 5, "invalid offset", ""},
		{".at 0 0g", 1, 7, "invalid bytes", ""},
		{td + ".at 0x28 00", 2, 5, "extend past", ""},
		{".container x 0", 1, 12, "invalid number of bytes", ""},
		{".container 0x10000000000 0", 1, 12, "for a text of", ""},
		{".container 0x100 0x200\n" + td, 2, 1, "extends past the end of the container", ""},
		{".port inptu x b4 1x1x1x1", 1, 7, "unknown direction", "input"},
		{".port input x b3 1x1x1x1", 1, 15, "invalid port buffer", ""},
		{".port input x b4 1x1x1", 1, 18, "four numbers", ""},
		{".port input x b4 1x0x1x1", 1, 18, "not between", ""},
		{".port input x b4 1x1x1x1 stride=1,1,1,1", 1, 26, "unknown option", "strides"},
		{".port input x b4 1x1x1x1 strides=1,1,1", 1, 34, "four numbers", ""},
		{".port input x b4 1x1x1x1 bytes=x", 1, 26, "invalid size", ""},
		{".port input x b4 1x1x1x1 strides", 1, 26, "missing value", ""},
		{".port input x b4 1x1x1x1\n.port output x b5 1x1x1x1", 2, 14, "duplicate port", ""},
		{".port input x b4 1x1x1x1\n" + td + ".at 0 00", 3, 1, "cannot be combined with .port", ""},
		{".scratch 0", 1, 10, "not between", ""},
		{".weights w.npy", 1, 10, "no files can be read", ""},
		{".values 1 x", 1, 11, "invalid number", ""},
		{".values 1\n" + td, 2, 1, ".scratch and .procedure require a .port", ""},
		{td + "Common.Cin \"5", 2, 12, "unterminated string", ""},
		{td + "Header.Extra 1 2", 2, 1, "want one number", ""},
		{".bind n 0x100000000\n" + td + "Common.InDim $n", 3, 14, "exceeds 32 bits", ""},
		{far(80, 1<<20), 80, 1, "for a text of", ""},
		{far(2048, 1<<20-0x100) + strings.Repeat(".td\n"+strings.Repeat("0x0 1\n", 250), 800), 194817, 1, "chain exceeds", ""},
	} {
		u, err := Assemble("f.td", []byte(tt.text), nil)
		var e *Error
		if !errors.As(err, &e) || u != nil {
			t.Errorf("%q: unit %v, error %v", tt.text, u != nil, err)
			continue
		}
		messages = append(messages, err.Error())
		if e.File != "f.td" || e.Line != tt.line || e.Col != tt.col || !strings.Contains(err.Error(), tt.what) || e.Nearest != tt.nearest {
			t.Errorf("%q: %v (nearest %q); want %d:%d, %q, nearest %q", tt.text, err, e.Nearest, tt.line, tt.col, tt.what, tt.nearest)
		}
	}
	_, err := Assemble("f.td", []byte(td), &Options{Bind: map[string]uint64{"n": 1}})
	if err == nil {
		t.Fatal("a value for a parameter that is not there was taken")
	}
	messages = append(messages, err.Error())
	// Every rule in the source is broken above.
	list, err := rules.Find([]string{"errorAt", "Errorf"}, "assemble.go", "directive.go", "register.go", "value.go", "lex.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if !r.ViolatedBy(messages) {
			t.Errorf("%s: no text breaks the rule %q", r.Place, r.Format)
		}
	}
	t.Logf("%d rules, %d messages", len(list), len(messages))
}

// TestSpellings has several ways to say the same word.
func TestSpellings(t *testing.T) {
	for _, tt := range []struct {
		line string
		addr uint32
		want uint32
	}{
		{"Common.InDim Win=16 Hin=1", 0, 1<<16 | 16},
		{"common.indim hin=1 win=0x10", 0, 1<<16 | 16},
		{"Common.InDim 0x10010", 0, 1<<16 | 16},
		{"Common.InDim word=0x10010", 0, 1<<16 | 16},
		{"0x0 0x10010", 0, 1<<16 | 16},
		{"Common.InDim Win=16 +0x80000000", 0, 1<<31 | 16},
		{"Common.Cin 64 # channels", 0xc, 64},
		{"Common.Cin $c", 0xc, 48},
		{"Common.InDim Win=$c", 0, 48},
		{"TileDMASrc.Src1RowStride 0x40", 0x1380c, 0x40},
		{"TileDMASrc.Src1RowStride -64", 0x1380c, 0xffffffc0},
		{"TileDMASrc.Src1RowStride 0x40 +0x3", 0x1380c, 0x43},
		{"NE.PostScale PostScale=1", 0xc810, 0x3c00},
		{"NE.PostScale PostScale=0x3c00", 0xc810, 0x3c00},
		{"NE.PostScale PostScale=-0.5", 0xc810, 0xb800},
		{"PE.FinalScale 0.25", 0x880c, 0x3e800000},
		{"NE.MACCfg OpMode=12", 0xc804, 12},
		{"NE.MACCfg OpMode=pass-through BiasMode", 0xc804, 12 | 1<<4},
		{"NE.MACCfg BiasMode=1 ; a note", 0xc804, 1 << 4},
	} {
		u, err := Assemble("f.td", []byte(".bind c 32 16 64 16\n.td\n"+tt.line+"\n"), &Options{Bind: map[string]uint64{"c": 48}})
		if err != nil {
			t.Error(err)
			continue
		}
		r := u.Chain[0].Records
		if len(r) != 1 || r[0].Addr != tt.addr || len(r[0].Values) != 1 || r[0].Values[0] != tt.want {
			t.Errorf("%q writes %#x, want %#x at %#x", tt.line, r, tt.want, tt.addr)
		}
	}
}

// rule is what a text may cost: the program it may ask for, which is larger than the text
// by its zeros, twice, for the file and the chain in it; and what a line costs to read.
var rule = cost.Rule{Bytes: 4 * limitBase, PerByte: 4*limitPerByte + 1<<10}

// FuzzAssemble: no text makes the assembler panic or ask for memory without bound, and
// what assembles comes apart and together again.
func FuzzAssemble(f *testing.F) {
	for _, name := range lower.Examples() {
		p, err := lower.ExampleProgram(name)
		if err != nil {
			f.Fatal(err)
		}
		text, err := Disassemble(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(".bind n 3 1 8 1\n.port input x b4 1x1x1x16\n.values 1 2\n.align\n.td\nCommon.Cin $n\n.record\n.td @0x100\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var u *Unit
		var err error
		if broken := rule.CheckFuzzed(len(text), func() { u, err = Assemble("fuzz", text, nil) }); broken != nil {
			t.Error(broken)
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 || e.Col < 1 {
				t.Errorf("error %T %v", err, err)
			}
			return
		}
		if _, err := u.File(); err != nil {
			return // ports over each other, which the builder refuses
		}
		p := &loader.Program{Name: "fuzz", Form: loader.FormText, Subtype: loader.SubtypeM1, Text: u.Text, FirstWords: u.FirstWords()}
		for _, err := range p.Descriptors() {
			if err != nil {
				return // a next pointer or size of the text's own
			}
		}
		again, err := Disassemble(p)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Assemble("again", again, nil)
		if err != nil || !bytes.Equal(v.Text, u.Text) {
			t.Errorf("the text differs: %v\n%s", err, again)
		}
	})
}

// TestMemory has the constants, the scratch memory and the name of a program in its text.
func TestMemory(t *testing.T) {
	const text = `.procedure twice
.port input x b4 1x1x1x16
.port output y b5 1x1x1x16 bytes=0x80
.scratch 0x100
.weights w.npy
.align
.values 1 -2 0x3c00
.td
Common.Cin 1
`
	o := &Options{Weights: func(name string) ([]byte, error) {
		if name != "w.npy" {
			return nil, os.ErrNotExist
		}
		return []byte{1, 2, 3, 4}, nil
	}}
	u, err := Assemble("f.td", []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	want := append([]byte{1, 2, 3, 4}, make([]byte, 60)...)
	want = append(want, 0, 0x3c, 0, 0xc0, 0, 0x3c)
	if !bytes.Equal(u.Constants, want) || u.Scratch != 0x100 || u.Procedure != "twice" || u.Ports[1].Bytes != 0x80 {
		t.Errorf("%+v", u)
	}
	file, err := u.File()
	if err != nil {
		t.Fatal(err)
	}
	p, err := loader.Read("f", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := p.Segment("__DATA", "__bss"); !ok || s.Size != 0x100 || p.Procedure != "twice" || len(p.Ports) != 2 {
		t.Errorf("scratch %+v, procedure %s, ports %v", s, p.Procedure, p.Ports)
	}
	_, err = Assemble("f.td", []byte(strings.Replace(text, "w.npy", "v.npy", 1)), o)
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, os.ErrNotExist) || e.Line != 5 || e.Col != 10 {
		t.Errorf("weights that are not there: %v", err)
	}
}

// TestMutations assembles broken texts: each gives an *Error with its place, or a unit.
func TestMutations(t *testing.T) {
	var texts [][]byte
	for _, name := range []string{"identity", "add"} {
		p, err := lower.ExampleProgram(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := Disassemble(p)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text[:min(len(text), 4000)])
	}
	n := 2_500
	switch {
	case testing.Short():
		n = 500
	case os.Getenv("LONG") != "":
		n = 10_000
	}
	r := rand.New(rand.NewPCG(5, 14))
	for i := range n {
		text := bytes.Clone(texts[i%len(texts)])
		for range 1 + r.IntN(4) {
			at := r.IntN(len(text))
			switch r.IntN(4) {
			case 0:
				text[at] = byte(r.Uint32())
			case 1:
				text[at] = ".=+-@$#x0 \n\""[r.IntN(12)]
			case 2:
				copy(text[at:], text[r.IntN(len(text)):][:1])
			case 3:
				text = append(text[:at], text[min(len(text), at+r.IntN(20)):]...)
				text = append(text, "\n.td\n"...)
			}
		}
		u, err := Assemble("f.td", text, nil)
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Line < 1 || e.Col < 1 || u != nil) {
			t.Fatalf("%T %v of\n%s", err, err, text)
		}
		if err == nil {
			var unreadable *ContainerError
			if _, err := u.File(); err != nil && !errors.As(err, &unreadable) {
				t.Fatalf("%v of\n%s", err, text)
			}
		}
	}
}
