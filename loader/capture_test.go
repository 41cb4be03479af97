package loader

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/internal/material"
)

const captured = `# three registers of a capture
0x0000 0x00400040
0x0c,  0x40 # channels

0x4d10	0x12340000
`

func TestCapture(t *testing.T) {
	p, err := Read("capture", strings.NewReader(captured), int64(len(captured)))
	if err != nil {
		t.Fatal(err)
	}
	if p.Form != FormRegisters || p.Registers == nil {
		t.Fatalf("form %q", p.Form)
	}
	type pair struct{ addr, value uint32 }
	pairs := func(p *Program) (out []pair) {
		for _, w := range p.Registers.Words() {
			out = append(out, pair{w.Addr, w.Value})
		}
		return out
	}
	want := []pair{{0, 0x400040}, {0xc, 0x40}, {0x4d10, 0x12340000}}
	if got := pairs(p); !slices.Equal(got, want) {
		t.Errorf("registers %#x, want %#x", got, want)
	}
	// The written text reads the same.
	text := p.Bytes()
	q, err := Read("again", bytes.NewReader(text), int64(len(text)))
	if err != nil || !slices.Equal(pairs(q), want) {
		t.Errorf("written as\n%s\nwhich reads as error %v", text, err)
	}
	// So do binary pairs.
	var file []byte
	for _, w := range want {
		file = le.AppendUint32(le.AppendUint32(file, w.addr), w.value)
	}
	q, err = Read("binary", bytes.NewReader(file), int64(len(file)))
	if err != nil || q.Form != FormRegisters || !slices.Equal(pairs(q), want) {
		t.Errorf("binary pairs: error %v", err)
	}
}

// captureVectors are broken captures.
func captureVectors() (out []vector) {
	for _, tt := range []struct {
		text string
		off  int
		what string
	}{
		{"0x0 1\n0xc\n", 6, "malformed line"},
		{"0x0 1 2\n", 0, "malformed line"},
		{"0x0 yes\n", 0, "malformed number"},
		{"0x0 0x100000000\n", 0, "malformed number"},
		{"# dump\n0x2000 1\n", 7, "outside all register windows"},
		{"0x1 1\n", 0, "outside all register windows"},
		{"0x0 1\nCommon.Cinn 3\n", 6, "unknown version 10 register"},
		{"0x0 1\n#" + strings.Repeat(" ", maxCapture), 0, "want at most"},
	} {
		out = append(out, vector{tt.text[:min(len(tt.text), 20)], []byte(tt.text), tt.off, tt.what})
	}
	return out
}

// TestCaptureCause: the error of a register that is not there has the address.
func TestCaptureCause(t *testing.T) {
	var a *regs.AddressError
	_, err := Read("capture", strings.NewReader("0x2000 1\n"), 9)
	if !errors.As(err, &a) || a.Addr != 0x2000 {
		t.Errorf("%v does not carry its cause", err)
	}
}

// TestNotCapture keeps chains from passing for pairs.
func TestNotCapture(t *testing.T) {
	for _, name := range exampleNames() {
		p, err := exampleProgram(name)
		if err != nil {
			t.Fatal(err)
		}
		if readCaptureBinary(p.Text) != nil || isCaptureText(p.Text) || isAnec(p.Text) {
			t.Errorf("the text of %s passes for something else", name)
		}
	}
	for _, path := range material.Files(t, "programs/text/*.bin") {
		p, err := Open(path)
		if err != nil || p.Form != FormText {
			t.Errorf("%s: form %v, error %v", path, p, err)
		}
	}
}

// TestCapturedAddresses joins low and high words and holds them to 42 bits.
func TestCapturedAddresses(t *testing.T) {
	read := func(text string) (*Program, error) {
		return Read("pairs", strings.NewReader(text), int64(len(text)))
	}
	p, err := read("0x4d10 0x30004040\n0x4d14 0x3ff\n0x5548 1\n0x554c 0x80\n0x5550 0x1000\n0x5554 0\n0x5560 0x40\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Addresses()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].Address != 0x3ff30004040 || got[0].Stream || got[1].Address != 0x1000 || !got[1].Stream || !got[1].Enabled ||
		got[1].Offset != 0x80 || got[2].Address != 0x40 || got[2].Enabled {
		t.Errorf("addresses %+v", got)
	}
	for text, want := range map[string]string{
		"0x4d10 0x40\n0x4d14 0x400\n":     "byte 0x4d14",
		"0x5108 0x30004041\n0x510c 0x1\n": "byte 0x5108",
	} {
		p, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		var f *FormatError
		if _, err := p.Addresses(); !errors.As(err, &f) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestCapturedNames reads registers by name, as the written text has them, and refuses by
// name those of engines that the M1 lacks.
func TestCapturedNames(t *testing.T) {
	const text = "Common.InDim 0x00100010\ncommon.word05, 7\nTileDMASrc.Src1BaseLow 0x40\n"
	p, err := Read("names", strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	var got []uint32
	for _, w := range p.Registers.Words() {
		got = append(got, w.Addr, w.Value)
	}
	if want := []uint32{0, 0x100010, 0x14, 7, 0x4d10, 0x40}; !slices.Equal(got, want) {
		t.Errorf("registers %#x, want %#x", got, want)
	}
	for _, text := range []string{"CCDMA.Base 0x40\n", "0x0 1\natomic_scatter.Config 1\n", "LDTID 3\n", "LDTID.Count 3\n"} {
		p, err := Read("absent", strings.NewReader(text), int64(len(text)))
		var u *UnsupportedError
		if !errors.As(err, &u) || p != nil || !strings.Contains(err.Error(), "does not exist in the M1's engine") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestTransfers resolves what captured registers move.
func TestTransfers(t *testing.T) {
	read := func(text string) *Program {
		t.Helper()
		p, err := Read("pairs", strings.NewReader(text), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const text = `Common.InDim 0x00080010
Common.Cin 64
TileDMASrc.Src1BaseLow 0x30004000
TileDMASrc.Src1BaseHigh 1
TileDMASrc.Src1RowStride 0x40
TileDMASrc.Src1PlaneStride 0x200
TileDMASrc.Src1DepthStride 0x8000
TileDMASrc.Src1GroupStride 0x8000
TileDMASrc.Src2BaseLow 0x40
TileDMASrc.Src2BaseHigh 0
TileDMASrc.Src2RowStride 0xffffffc0
TileDMADst.DstBaseLow 0x8000
TileDMADst.DstRowStride 0x40
KernelDMASrc.BiasLow 0x40
`
	_, err := read(text).Transfers()
	var f *FormatError
	if !errors.As(err, &f) || f.Off != 0x4d28 {
		t.Errorf("a tensor that begins below address 0: %v", err)
	}
	got, err := read(strings.Replace(text, "0xffffffc0", "0x40", 1)).Transfers()
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	// 64 channels 0x200 apart, of 8 rows 0x40 apart, of 16 values.
	if a := got[0]; a.Low != 0x130004000 || a.High != a.Low+63*0x200+7*0x40+32 || a.Surface.Channels != 64 {
		t.Errorf("source 1: %v", a)
	}
	if d := got[2]; d.Role != regs.Destination || d.High != d.Low || d.Surface.Row != 0x40 {
		t.Errorf("destination: %v", d)
	}
	// A run is refused with what is missing, by name.
	_, err = read(text).Link()
	var u *UnsupportedError
	if !errors.As(err, &u) || !strings.Contains(u.What, "the output's dimensions, the window, the operation of the MAC engines") {
		t.Errorf("linked: %v", err)
	}
}

// TestCapturedGap is the gap as data: once a document places what a run needs, this fails
// and captures are to run.
func TestCapturedGap(t *testing.T) {
	if gaps := describeUnknownFields(); len(gaps) != 7 {
		t.Errorf("of what a run needs only %q is missing", gaps)
	}
	named := 0
	for _, w := range regs.V10Windows() {
		for i := range w.Words {
			v := new(regs.V10)
			if err := v.Store(w.Base+4*uint32(i), 1); err != nil {
				t.Fatal(err)
			}
			if v.Words()[0].Reg.Name != "" {
				named++
			}
		}
	}
	if named != 41 {
		t.Errorf("%d words of the image have a name, want 41", named)
	}
}
