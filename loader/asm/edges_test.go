package asm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

func unit(t *testing.T, text string) *Unit {
	t.Helper()
	u, err := Assemble("f.td", []byte(text), nil)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return u
}

// Values at the limits that a text may give, and the first beyond them.
func TestTextLimits(t *testing.T) {
	const td, port = "\n.td\n", ".port input x b4 1x1x1x1\n"
	full := ".td\n" + strings.Repeat(".record\nCommon.InDim 1\n", 251) // ten words of header, two a record
	for text, good := range map[string]bool{
		".port input x b4 1x1x1x1" + td:                             true,
		".port input x b31 1x1x1x1" + td:                            true,
		".port input x b32 1x1x1x1" + td:                            false,
		".port input x b4 131071x1x1x1" + td:                        true,
		".port input x b4 131072x1x1x1" + td:                        false,
		".port input x b4 1x1x1x0" + td:                             false,
		".port input x b4 1x1x1x1 bytes=1" + td:                     true,
		".port input x b4 1x1x1x1 bytes=0" + td:                     false,
		".port input x b4 1x1x1x1 strides=1,1,1,1" + td:             true,
		".port input x b4 1x1x1x1 strides=1099511627776,1,1,1" + td: true,
		".port input x b4 1x1x1x1 strides=1099511627777,1,1,1" + td: false,
		port + ".scratch 1" + td:                                    true,
		fmt.Sprintf(port+".scratch %d", loader.MaxScratch) + td:     true,
		fmt.Sprintf(port+".scratch %d", loader.MaxScratch+1) + td:   false,
		".bind n 0" + td:                                            true,
		".bind n -1" + td:                                           false,
		".bind n 4398046511103" + td + "Common.DPE 0\n":             true,
		".td @0x100000\n":                                           true,
		".td @0x100100\n":                                           false,
		".td\n.td @0x100000\n":                                      true,
		".td\n.td @0x100100\n":                                      false,
		full[:len(full)-len(".record\nCommon.InDim 1\n")]:           true,
		full:                                  true,
		full + ".record\nCommon.InDim 1\n":    false,
		".size 0x28" + td:                     true,
		".size 0x27" + td:                     false,
		".size 0x100028" + td:                 true,
		".size 0x100029" + td:                 false,
		".container 0x28 0" + td:              true,
		".container 0x28 1" + td:              false,
		".container 0x27 0" + td:              false,
		".container 0x100 0xd8" + td:          true,
		".container 0x100 0xd9" + td:          false,
		".size 0x40" + td + ".at 0x3f 01\n":   true,
		".size 0x40" + td + ".at 0x40 01\n":   false,
		".size 0x40" + td + ".at 0x3f 0102\n": false,
		td + "Common.InDim 1\n.td @0x100\n":   true,
		".td\n" + strings.Repeat(".record\nCommon.InDim 1\n", 27) + ".td":             true, // 64 words, to the next one's place
		".td @0\n" + strings.Repeat(".record\nCommon.InDim 1\n", 27) + ".td @0x100\n": true,
		".td @0\n" + strings.Repeat(".record\nCommon.InDim 1\n", 28) + ".td @0x100\n": false,
	} {
		u, err := Assemble("f.td", []byte(text), nil)
		var e *Error
		if good && (err != nil || u == nil) || !good && (!errors.As(err, &e) || u != nil) {
			t.Errorf("%.90q: want it taken %v: %v", text, good, err)
		}
	}
	// A text of n bytes may ask for 64 MiB and 64 bytes for each of its own.
	for _, more := range []int{0, 1} {
		text := ""
		for range 3 { // the length of the number is part of the text
			text = fmt.Sprintf(".container %d 0\n.td\n", limitBase+limitPerByte*len(text)+more)
		}
		if _, err := Assemble("f.td", []byte(text), nil); (err == nil) != (more == 0) {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := Assemble("f.td", []byte(".port input x c4 1x1x1x1"+td), nil)
	if err == nil || !strings.Contains(err.Error(), "b4 to b31") {
		t.Errorf("%v", err)
	}
	_, err = Assemble("f.td", []byte(".size 0x200000"+td), nil)
	if err == nil || !strings.Contains(err.Error(), "0x28, the end of the chain, and 0x100028") {
		t.Errorf("%v", err)
	}
}

// What the directives leave unsaid.
func TestDefaultsOfDirectives(t *testing.T) {
	u := unit(t, ".port input x b4 2x3x5x7\n.port output y b5 2x3x5x33\n.bind n 3\n.values 1 2\n.align\n.values 3\n.td\n")
	for i, want := range [][4]uint64{{3 * 5 * 64, 5 * 64, 64, 2}, {3 * 5 * 128, 5 * 128, 128, 2}} {
		if got := u.Ports[i].Strides; got != want {
			t.Errorf("%s: strides %v, want %v", u.Ports[i].Name, got, want)
		}
	}
	if want := (loader.Range{Start: 0, Stop: 1<<42 - 1, Step: 1}); u.Params[0].Range != want {
		t.Errorf("a parameter without a range is in %+v", u.Params[0].Range)
	}
	if n := len(u.Constants); n != loader.TileSize+2 {
		t.Errorf("%d bytes of constants, want a whole lane and two", n)
	}
	u = unit(t, ".port input x b4 1x1x1x1\n.values 1 2\n.td\n")
	if n := len(u.Constants); n != 4 {
		t.Errorf("%d bytes of constants, want 4", n)
	}
	if n := len(unit(t, ".port input x b4 1x1x1x1\n.align\n.td\n").Constants); n != 0 {
		t.Errorf("nothing is aligned to %d bytes", n)
	}
	u = unit(t, ".td\nCommon.InDim 1\n.td\n")
	if got := u.Chain[0].Header; got.Next != 0x100 || got.Timing.NextSize() != 9 {
		t.Errorf("the first descriptor's next is at %#x with %d words", got.Next, got.Timing.NextSize()+1)
	}
}

// An error says where it is, what was meant and what caused it.
func TestErrorText(t *testing.T) {
	if got := toLowerASCII("@AZ[az`{09"); got != "@az[az`{09" {
		t.Errorf("%q", got)
	}
	e := &Error{File: "f", Line: 1, Col: 2, What: "wrong", Nearest: "right", Err: errors.New("why")}
	if got := e.Error(); got != "f:1:2: wrong; did you mean right?: why" {
		t.Errorf("%q", got)
	}
	if got := (&Error{File: "f", Line: 1, Col: 2, What: "wrong"}).Error(); got != "f:1:2: wrong" {
		t.Errorf("%q", got)
	}
}

// lines takes a chain's text apart: what was written of the descriptors, without comments.
func linesOf(t *testing.T, text []byte, first int) []string {
	t.Helper()
	p := &loader.Program{Name: "l", Form: loader.FormText, Subtype: loader.SubtypeM1, Text: text, FirstWords: first}
	out, err := Disassemble(p)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for l := range strings.Lines(string(out)) {
		if l = strings.Join(strings.Fields(l), " "); l != "" && l[0] != '#' {
			list = append(list, l)
		}
	}
	return list
}

// Registers of an array stand on one line where they are equal, or three and more of them
// in equal steps upwards; records that follow each other are kept apart.
func TestRunsOfRegisters(t *testing.T) {
	const bases = 0x1f848 // CoeffBaseAddr[0]
	record := func(addr uint32, values ...uint32) regs.Record { return regs.Record{Addr: addr, Values: values} }
	for _, tc := range []struct {
		name    string
		records []regs.Record
		want    []string
	}{
		{"one", []regs.Record{record(bases, 0x40)}, []string{"KernelDMASrc.CoeffBaseAddr[0] 0x40"}},
		{"two alike", []regs.Record{record(bases, 0x40, 0x40)}, []string{"KernelDMASrc.CoeffBaseAddr[0-1] 0x40"}},
		{"two in a step", []regs.Record{record(bases, 0x40, 0x80)}, []string{"KernelDMASrc.CoeffBaseAddr[0] 0x40", "KernelDMASrc.CoeffBaseAddr[1] 0x80"}},
		{"three in steps", []regs.Record{record(bases+8, 0x40, 0x80, 0xc0)}, []string{"KernelDMASrc.CoeffBaseAddr[2-4] 0x40 step 0x40"}},
		{"and a fourth that is not", []regs.Record{record(bases, 0x40, 0x80, 0xc0, 0x80)}, []string{"KernelDMASrc.CoeffBaseAddr[0-2] 0x40 step 0x40", "KernelDMASrc.CoeffBaseAddr[3] 0x80"}},
		{"downwards", []regs.Record{record(bases, 0xc0, 0x80, 0x40)}, []string{"KernelDMASrc.CoeffBaseAddr[0] 0xc0", "KernelDMASrc.CoeffBaseAddr[1] 0x80", "KernelDMASrc.CoeffBaseAddr[2] 0x40"}},
		{"bits that no field has, first", []regs.Record{record(bases, 0x41, 0x81, 0xc1)}, []string{"KernelDMASrc.CoeffBaseAddr[0] 0x40 +0x1", "KernelDMASrc.CoeffBaseAddr[1] 0x80 +0x1", "KernelDMASrc.CoeffBaseAddr[2] 0xc0 +0x1"}},
		{"in the step", []regs.Record{record(bases, 0x40, 0x81, 0xc2)}, []string{"KernelDMASrc.CoeffBaseAddr[0] 0x40", "KernelDMASrc.CoeffBaseAddr[1] 0x80 +0x1", "KernelDMASrc.CoeffBaseAddr[2] 0xc0 +0x2"}},
		{"to the end of the array", []regs.Record{record(bases+4*14, 0x40, 0x40, 0x40)}, []string{"KernelDMASrc.CoeffBaseAddr[14-15] 0x40", "KernelDMASrc.CoeffBfrSize[0] 0x40"}},
		{"two records side by side", []regs.Record{record(bases, 0x40), record(bases+4, 0x40)}, []string{"KernelDMASrc.CoeffBaseAddr[0] 0x40", ".record", "KernelDMASrc.CoeffBaseAddr[1] 0x40"}},
		{"two records apart", []regs.Record{record(bases, 0x40), record(bases+8, 0x40)}, []string{"KernelDMASrc.CoeffBaseAddr[0] 0x40", "KernelDMASrc.CoeffBaseAddr[2] 0x40"}},
	} {
		text := regs.EncodeChain([]*regs.Descriptor{{Records: tc.records}})
		if got := linesOf(t, text, len(text)/4); !slices.Equal(got, append([]string{".td"}, tc.want...)) {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}

// Places, sizes and bytes that the assembler does not fill in by itself are written, and
// the others are not.
func TestWhatIsWritten(t *testing.T) {
	chain := func(at uint32, set func(first, second *regs.Descriptor)) []byte {
		a, b := &regs.Descriptor{}, &regs.Descriptor{Offset: at}
		a.Header.Next, a.Header.Timing = regs.HeaderNext(at), a.Header.Timing.WithNextSize(9)
		set(a, b)
		return regs.EncodeChain([]*regs.Descriptor{a, b})
	}
	none := func(a, b *regs.Descriptor) {}
	padded := func(n int, set map[int]byte) []byte {
		text := append(chain(0x100, none), make([]byte, n)...)
		for i, b := range set {
			text[i] = b
		}
		return text
	}
	for _, tc := range []struct {
		name string
		text []byte
		want []string
	}{
		{"one behind the other", chain(0x100, none), []string{".td", ".td"}},
		{"a gap", chain(0x200, none), []string{".td", ".td @0x200"}},
		{"a size of the next that is not its own", chain(0x100, func(a, b *regs.Descriptor) {
			b.Header.Timing = b.Header.Timing.WithNextSize(9)
		}), []string{".td", ".td", "Header.Timing NextSize=9"}},
		{"an estimate beside the size", chain(0x100, func(a, b *regs.Descriptor) {
			a.Header.Timing = a.Header.Timing.WithExeCycles(7)
		}), []string{".td", "Header.Timing ExeCycles=7", ".td"}},
		{"zeros behind the chain", padded(8, nil), []string{".td", ".td", ".size 0x130"}},
		{"a byte between", padded(8, map[int]byte{0xff: 1}), []string{".td", ".td", ".size 0x130", ".at 0xe0 " + strings.Repeat("00", 31) + "01"}},
		{"the first behind a descriptor", padded(0, map[int]byte{0x28: 2}), []string{".td", ".td", ".at 0x28 02" + strings.Repeat("00", 23)}},
		{"the last of all", padded(8, map[int]byte{0x12f: 3}), []string{".td", ".td", ".size 0x130", ".at 0x128 0000000000000003"}},
	} {
		if got := linesOf(t, tc.text, regs.HeaderWords); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if got := sanitizeComment("a\x1fb c\n"); got != "a?b c?" {
		t.Errorf("%q", got)
	}
}

// Numbers of a word at their ends.
func TestWordLimits(t *testing.T) {
	const td = ".td\n"
	for text, want := range map[string]string{
		"Common.InDim -2147483648":             "",
		"Common.InDim -2147483649":             "32",
		"Common.InDim 4294967295":              "",
		"Common.InDim 4294967296":              "32",
		"Common.InDim Win=1 +0x0":              "",
		"Common.Cin 131071":                    "",
		"Common.Cin 131072":                    "want -0x10000 to 0x1ffff",
		"KernelDMASrc.CoeffBaseAddr[3-3] 0x40": "",
		"KernelDMASrc.CoeffBaseAddr[4-3] 0x40": "unknown register",
		"TileDMASrc.Src1RowStride -2147483648": "",
		"TileDMASrc.Src1RowStride -2147483712": "does not fit",
		"Header.KernelBases 3\nHeader.Extra 0": "",
		"TileDMASrc.Src1RowStride 0x40 +0x3f":  "",
		"L2.Src1Base 16":                       "",
	} {
		_, err := Assemble("f.td", []byte(td+text+"\n"), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The text of a container whose descriptors changed places is refused: its relocations are at words
// that are no longer addresses of weights.
func TestContainerWithOtherDescriptors(t *testing.T) {
	p, err := lower.Lower(layer.Layer{Op: layer.Softmax, In: layer.Shape{N: 1, C: 64, H: 8, W: 8}, Axes: layer.AxisC}, layer.Weights{Table: make([]byte, 128), Reciprocal: make([]byte, 128)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := Disassemble(p)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "\n.td\n")
	if len(parts) != 6 {
		t.Fatalf("%d descriptors", len(parts)-1)
	}
	file := func(order ...int) error {
		last, rest, _ := strings.Cut(parts[5], "\n.at")
		list := slices.Clone(parts)
		list[5] = last
		out := list[0]
		for _, i := range order {
			out += "\n.td\n" + list[i]
		}
		u, err := Assemble("f.td", []byte(out+"\n.at"+rest), nil)
		if err != nil {
			return err
		}
		_, err = u.File()
		return err
	}
	if err := file(1, 2, 3, 4, 5); err != nil {
		t.Errorf("as it was printed: %v", err)
	}
	for _, order := range [][]int{{1, 3, 2, 4, 5}, {1, 2, 4, 5}, {1, 3, 4, 5, 2}} {
		var e *ContainerError
		if err := file(order...); !errors.As(err, &e) || !strings.Contains(err.Error(), "relocation") {
			t.Errorf("descriptors %v: %v", order, err)
		}
	}
}

// TestContainersCountTheirDescriptors checks that the text of a container that has no relocations, less one
// of its descriptors, is refused: the header still counts it, and no other command would accept the file.
func TestContainersCountTheirDescriptors(t *testing.T) {
	p, err := lower.Lower(layer.Layer{Op: layer.Concat, In: layer.Shape{N: 1, C: 32, H: 1, W: 1}, Parts: []int{16, 16}}, layer.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := Disassemble(p)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "\n.td\n")
	_, rest, _ := strings.Cut(parts[2], "\n.at")
	u, err := Assemble("f.td", []byte(parts[0]+"\n.td\n"+parts[1]+"\n.at"+rest), nil)
	if err != nil {
		t.Fatal(err)
	}
	var unreadable *ContainerError
	if _, err := u.File(); !errors.As(err, &unreadable) || !strings.Contains(err.Error(), "text has 1 descriptors, but the header declares 2") {
		t.Errorf("one descriptor of two: %v", err)
	}
}
