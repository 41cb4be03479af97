package params_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
	"anesim/loader/params"
)

func parse(t *testing.T, text string) *params.Set {
	t.Helper()
	s, err := params.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every kind of relocation, bound from a text beside a real layout of a program.
func TestApply(t *testing.T) {
	p, err := lower.ExampleProgram("concat")
	if err != nil {
		t.Fatal(err)
	}
	const text = `
# a comment
param rows 2 1 4 1   # and another
live-in 0 Common.InDim.Hin rows
live-in 1 TileDMADst.DstRowStride.Value 64*rows+64 >>6
offset 1 TileDMADst.DstBase.Value 0x40 >>6
data-set 0 Common.DPE.Category 3
shape input "x0" - - rows -
`
	s, err := params.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Parameters) != 1 || len(s.Relocations) != 4 || len(s.Axes) != 1 {
		t.Fatalf("%+v", s)
	}
	for i, want := range []uint64{2, 3, 1, 3} {
		if v, err := s.Relocations[i].Resolve(&p.BARs); err != nil || v != want {
			t.Errorf("relocation %d is %d, want %d: %v", i, v, want, err)
		}
	}
	var name string
	for in := range p.Inputs() {
		name = in.Name
		break
	}
	s.Axes[0].Port = name
	q, err := s.Apply(p)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := q.Port(name, loader.Input)
	was, _ := p.Port(name, loader.Input)
	if in.Shape[2] != 2 || was.Shape[2] == 2 || len(q.Relocations) < len(p.Relocations)+4 {
		t.Errorf("%+v, was %+v; %d relocations", in, was, len(q.Relocations))
	}
	for text, want := range map[string]string{
		"param a 1 1 4 1\nlive-in 9 Common.InDim.Hin a":           "unknown descriptor 9",
		"param a 1 1 4 1\nshape input nope a - - -":               `unknown input "nope"`,
		"data-set 0 PE.Cfg.OpMode 0x100":                          "does not fit",
		"address 0 TileDMASrc.Src1Base.Value b19":                 "buffer 19 is not in the program",
		"offset 0 TileDMASrc.Src1Base.Value 0x20 >>6":             "not a multiple of 64",
		"param a 4 1 4 1\nshape input \"" + name + "\" - - a-4 -": "a=4 gives axis 2 of input",
		"param a 4 1 4 1\nlive-in 0 Common.Cin.Cin -2*a":          "-2*a+0 is negative or exceeds 63 bits for a=4",
		"param a 4 1 4 1\nlive-in 0 Common.Cin.Cin a-100":         "1*a-100 is negative or exceeds 63 bits for a=4",
	} {
		if _, err := parse(t, text).Apply(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestTextErrors(t *testing.T) {
	for text, want := range map[string]string{
		"parma a 1 1 1 1":                                    `line 1: unknown keyword "parma"; want one of param`,
		"param a 1":                                          "line 1: param has 2 operands; want NAME VALUE START STOP STEP",
		"param 1a 1 1 1 1":                                   `line 1: invalid name "1a"`,
		"param a 5 1 4 1":                                    "line 1: a is 5; want 1 to 4 in steps of 1",
		"param a x 1 4 1":                                    `line 1: invalid number "x"`,
		"param a 1 1 4 1\nparam a 1 1 4 1":                   `line 2: duplicate parameter "a"`,
		"\n\nlive-in 0 Common.InDim.Hin b":                   `line 3: undeclared parameter "b"`,
		"param a 1 1 4 1\nlive-in 0 Comon.InDim.Hin a":       `line 2: unknown register "Comon.InDim"`,
		"param a 1 1 4 1\nlive-in 0 Common.InDim.Hinn a":     `line 2: Common.InDim has no field "Hinn"; want one of Win, Hin`,
		"param a 1 1 4 1\nlive-in 0 Common.InDim.Hin a*2":    `line 2: invalid value "a*2"`,
		"param a 1 1 4 1\nlive-in 0 Common.InDim.Hin a >>99": `line 2: invalid shift ">>99"`,
		"live-in x Common.InDim.Hin a":                       `line 1: invalid descriptor number "x"`,
		"address 0 TileDMASrc.Src1Base.Value 5":              `line 1: invalid address "5"`,
		"shape in x 1 1 1 1":                                 `line 1: invalid operands "in x 1 1 1 1"; want input or output`,
		"shape input x - -":                                  "line 1: found 2 values; want four: N, C, H and W",
		"\xff":                                               "line 1: text is not valid UTF-8",
	} {
		_, err := params.Parse([]byte(text))
		var e *params.TextError
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("param k 96 32 128 32\nlive-in 0 Common.Cin.Cin k\nstrides input \"y z\" 2048*k - 64*k+2 -\naddress 1 TileDMASrc.Src1Base.Value b5+0x40 >>6\n"))
	p, err := lower.ExampleProgram("concat")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := params.Parse(data)
		if err != nil {
			var e *params.TextError
			if !errors.As(err, &e) || e.Line < 1 || strings.Contains(err.Error(), "\n") {
				t.Errorf("%#v", err)
			}
			return
		}
		text := s.Append(nil)
		again, err := params.Parse(text)
		if err != nil || !bytes.Equal(again.Append(nil), text) {
			t.Errorf("%v: %q, then %q", err, text, again.Append(nil))
		}
		if q, err := s.Apply(p); err == nil {
			if l, err := q.Link(); err == nil && l == nil {
				t.Error("no program and no error")
			}
		}
	})
}

// The text in the package's documentation is one.
func TestDocumentedText(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for line := range strings.Lines(string(doc)) {
		if line, ok := strings.CutPrefix(line, "//\t"); ok && len(line) > 0 && 'a' <= line[0] && line[0] <= 'z' {
			text = append(text, line)
		}
	}
	s := parse(t, strings.Join(text[1:], "")) // the first stands in the drawing above
	if len(s.Parameters) != 1 || len(s.Relocations) != 5 || len(s.Axes) != 3 {
		t.Errorf("%q: %+v", text, s)
	}
}

// Derive lowers each size of its range once, and refuses a range no text could have.
func TestDerive(t *testing.T) {
	sizes := map[uint64]int{}
	at := func(k uint64) (*loader.Program, error) {
		sizes[k]++
		l := layer.Layer{Op: layer.MatMul, In: layer.Shape{N: 1, C: 1, H: 16, W: int(k)}, Columns: 32, Second: layer.Runtime}
		return lower.Lower(l, layer.Weights{})
	}
	_, s, err := params.Derive("k", loader.Range{Start: 32, Stop: 128, Step: 32}, at)
	if err != nil || len(s.Relocations) == 0 || len(s.Axes) == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	for k := uint64(32); k <= 128; k += 32 {
		if sizes[k] != 1 {
			t.Errorf("size %d is lowered %d times", k, sizes[k])
		}
	}
	var d *params.DeriveError
	for _, r := range []loader.Range{{Start: 1, Stop: 1 << 42, Step: 1<<42 - 1}, {Start: 0, Stop: 1 << 12, Step: 1}, {Start: 1, Stop: 4, Step: 2}, {Start: 4, Stop: 4, Step: 1}} {
		if _, _, err := params.Derive("k", r, at); !errors.As(err, &d) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
