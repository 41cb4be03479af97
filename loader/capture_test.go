package loader

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"anesim/hw/regs"
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
		{"0x0 1\n0xc\n", 6, "not an address and a value"},
		{"0x0 1 2\n", 0, "not an address and a value"},
		{"0x0 yes\n", 0, "not a 32-bit number"},
		{"0x0 0x100000000\n", 0, "not a 32-bit number"},
		{"# dump\n0x2000 1\n", 7, "no group's window"},
		{"0x1 1\n", 0, "no group's window"},
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
		if captureBinary(p.Text) != nil || isCaptureText(p.Text) || isAnec(p.Text) {
			t.Errorf("the text of %s passes for something else", name)
		}
	}
	for _, path := range reference(t, "text/*.bin") {
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
