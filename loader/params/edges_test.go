package params_test

import (
	"errors"
	"strings"
	"testing"

	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
	"anesim/loader/params"
)

const known = "param a 2 1 4 1\n"

// The largest and least of every number that a text may give, and the first beyond.
func TestTextLimits(t *testing.T) {
	long := strings.Repeat("n", 64)
	for text, good := range map[string]bool{
		"param " + long + " 1 1 1 1":                 true,
		"param " + long + "n 1 1 1 1":                false,
		"param azAZ_09 1 1 1 1":                      true,
		"param a-b 1 1 1 1":                          false,
		"param a[ 1 1 1 1":                           false,
		"param a@ 1 1 1 1":                           false,
		"param 0 1 1 1 1":                            false,
		known + "live-in 0 Common.InDim.Hin a >>0":   true,
		known + "live-in 0 Common.InDim.Hin a >>31":  true,
		known + "live-in 0 Common.InDim.Hin a >>32":  false,
		known + "live-in 0 Common.InDim.Hin a >>-1":  false,
		known + "live-in 1048576 Common.InDim.Hin a": true,
		known + "live-in 1048577 Common.InDim.Hin a": false,
		known + "live-in -1 Common.InDim.Hin a":      false,
		known + "live-in 0 .Hin a":                   false,
		known + "live-in 0 Common.InDim.Hin +1":      false,
		"address 0 TileDMASrc.Src1Base.Value b0":     true,
		"address 0 TileDMASrc.Src1Base.Value b31":    true,
		"address 0 TileDMASrc.Src1Base.Value b32":    false,
		"address 0 TileDMASrc.Src1Base.Value b-1":    false,
		known + "shape input":                        false,
		known + "shape input x a - - -":              true,
		strings.Repeat(" ", 4<<20):                   true,
		strings.Repeat(" ", 4<<20+1):                 false,
		strings.Repeat("\n", 1<<17):                  true,
		strings.Repeat("\n", 1<<17+1):                false,
	} {
		_, err := params.Parse([]byte(text))
		var e *params.TextError
		if good && err != nil || !good && !errors.As(err, &e) {
			t.Errorf("%.80q: %v", text, err)
		}
	}
	_, err := params.Parse([]byte("address 0 TileDMASrc.Src1Base.Value b32"))
	if err == nil || !strings.Contains(err.Error(), "b0 to b31") {
		t.Errorf("%v", err)
	}
}

// Texts come back as they were written: scales of one and shifts of none are left out, and
// axes that share a port share a line.
func TestTextComesBack(t *testing.T) {
	const text = `param a 2 1 4 1
param b 3 1 4 1
live-in 0 Common.InDim.Hin a
live-in 0 Common.InDim.Win 2*a+3
live-in 0 Common.InDim.Win a-1
live-in 1 TileDMADst.DstRowStride.Value 64*a+64 >>6
address 1 TileDMADst.DstBase.Value b5+0x40 >>6
offset 1 TileDMADst.DstBase.Value 0x40 >>6
data-set 0 Common.DPE.Category 0x3
shape input "x" a - 2*b -
strides input "x" - 64*a - b
shape output "x" - - - a
shape output "y z" b - - -
`
	s := parse(t, text)
	if got := string(s.Append(nil)); got != text {
		t.Errorf("%s\nwant\n%s", got, text)
	}
	if n := len(s.Axes); n != 6 {
		t.Errorf("%d axes", n)
	}
	if r := parse(t, known+"live-in 0 Common.InDim.Hin 1*a").Append(nil); !strings.HasSuffix(string(r), "Hin a\n") {
		t.Errorf("%q", r)
	}
}

// The first descriptor that a program does not have, and a size of 2^31 and beyond.
func TestApplyLimits(t *testing.T) {
	p, err := lower.ExampleProgram("concat")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range p.Descriptors() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	var name string
	for in := range p.Inputs() {
		name = in.Name
		break
	}
	_, err = (&params.Set{Relocations: []loader.Relocation{{Kind: loader.DataSet, Task: n, Width: 32}}}).Apply(p)
	var e *params.ApplyError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "the program has") {
		t.Errorf("descriptor %d of as many: %v", n, err)
	}
	for text, good := range map[string]bool{
		"param a 1 1 4 1\nshape input \"" + name + "\" - - 2147483648*a -":   true,
		"param a 1 1 4 1\nshape input \"" + name + "\" - - 2147483648*a+1 -": false,
	} {
		if _, err := parse(t, text).Apply(p); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A program whose constants alone follow the size has no program for all sizes.
func TestDeriveRefusesOtherConstants(t *testing.T) {
	at := func(k uint64) (*loader.Program, error) {
		l := layer.Layer{Op: layer.Linear, In: layer.Shape{N: 1, C: 1, H: 1, W: 32}, Columns: 32}
		w := layer.Weights{}
		p, err := lower.Lower(l, w)
		if err != nil {
			return nil, err
		}
		at := p.BARs[1]
		for i := range p.Segments {
			if s := &p.Segments[i]; at >= s.Addr && at-s.Addr < uint64(len(s.Data)) {
				s.Data = append([]byte(nil), s.Data...)
				s.Data[at-s.Addr] = byte(k) // the first byte of the weights
				return p, nil
			}
		}
		t.Fatal("no constants")
		return nil, nil
	}
	_, _, err := params.Derive("k", loader.Range{Start: 1, Stop: 4, Step: 1}, at)
	if err == nil || !strings.Contains(err.Error(), "constants differ") {
		t.Errorf("%v", err)
	}
}
