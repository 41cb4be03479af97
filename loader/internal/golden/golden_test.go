package golden

import (
	"slices"
	"strings"
	"testing"
)

// TestChanges checks that changes are listed by the names of the changed values.
func TestChanges(t *testing.T) {
	want := `input x b4 1x8x4x6, strides 2048 256 64 2
td 0: copy
  reads   8 channels of 4x6, input x (b4)
  writes  8 channels of 4x6, output y (b5)
  Header: Bases{RBase0=4 RBE0=1}
  KernelDMASrc: CoeffBaseAddr[1-15]=0x200..+0x200 CoeffBfrSize[0-15]=0x200
  Common: InDim{Win=6 Hin=4} Cin=8
      Cfg{ShPref=3 ShMax=3}
  lanes   0-15:aaaaaaaa
td 1: copy
  like    td 0
  Common: Cin=4
`
	for _, tt := range []struct {
		what     string
		old, new string
		changes  []string
	}{
		{"nothing", "", "", nil},
		{"a field", "ShPref=3 ", "ShPref=2 ", []string{"td 0 Common.Cfg.ShPref 3 -> 2", "td 1 Common.Cfg.ShPref 3 -> 2"}},
		{"a field of a descriptor that is like another", "Common: Cin=4", "Common: Cin=4 Cfg{ShPref=1}", []string{"td 1 Common.Cfg.ShPref 3 -> 1"}},
		{"a register that is one quantity", "Cin=8", "Cin=9", []string{"td 0 Common.Cin 8 -> 9"}},
		{"a field that is 0 where it is not written", "ShPref=3 ShMax=3", "ShMax=3", []string{"td 0 Common.Cfg.ShPref 3 -> 0", "td 1 Common.Cfg.ShPref 3 -> 0"}},
		{"a field with a value of its own where it is not written", "Cin=8\n", "Cin=8 ConvCfg{Kw=3}\n", []string{"td 0 Common.ConvCfg.Kw 1 -> 3", "td 1 Common.ConvCfg.Kw 1 -> 3"}},
		{"an array", "CoeffBfrSize[0-15]=0x200", "CoeffBfrSize[0-15]=0x400", []string{
			"td 0 KernelDMASrc.CoeffBfrSize[0-15] 0x200 -> 0x400", "td 1 KernelDMASrc.CoeffBfrSize[0-15] 0x200 -> 0x400",
		}},
		{"an array in steps", "0x200..+0x200", "0x400..+0x400", []string{
			"td 0 KernelDMASrc.CoeffBaseAddr[1-15] 0x200 to 0x1e00 -> 0x400 to 0x3c00", "td 1 KernelDMASrc.CoeffBaseAddr[1-15] 0x200 to 0x1e00 -> 0x400 to 0x3c00",
		}},
		{"what a descriptor computes", "td 1: copy", "td 1: ReLU", []string{"td 1 computes copy -> ReLU"}},
		{"weights", "aaaaaaaa", "bbbbbbbb", []string{"td 0 lanes 0-15:aaaaaaaa -> 0-15:bbbbbbbb"}},
		{"a port", "1x8x4x6, strides", "1x8x4x7, strides", []string{"input x b4 1x8x4x6, strides 2048 256 64 2 -> b4 1x8x4x7, strides 2048 256 64 2"}},
		{"a descriptor less", "td 1: copy\n  like    td 0\n  Common: Cin=4\n", "", []string{"2 descriptors -> 1", "td 1 computes copy -> nothing"}},
		{"another spelling", "ShMax=3}", "ShMax=3 }", []string{"lines differ in order or form only; run with -rewrite"}},
	} {
		got := Changes(nonemptyLines(want), nonemptyLines(strings.Replace(want, tt.old, tt.new, 1)))
		if tt.what == "a descriptor less" { // and its registers
			got = got[:min(2, len(got))]
		}
		if !slices.Equal(got, tt.changes) {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.changes)
		}
	}
}

// TestManyChanges checks that changes beyond maxChanges are only counted.
func TestManyChanges(t *testing.T) {
	var want, got []string
	for i := range maxChanges + 3 {
		name := "line" + strings.Repeat("i", i)
		want, got = append(want, name+" before"), append(got, name+" after")
	}
	list := Changes(want, got)
	if n := len(list); n != maxChanges+1 || list[n-1] != "and 3 more changes" || list[0] != "line before -> after" {
		t.Errorf("%d changes: %q", n, list)
	}
}

// TestFormat checks that formatting parsed cases gives the same text.
func TestFormat(t *testing.T) {
	text := "# Why.\n\nconv cin=4\nwith l2=64\n----\ntd 0: copy\n  Common: Cin=4\n\nrelu c=1\n----\nrefused: no\n"
	cases, err := parseCases("layers.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 2 || cases[0].Line != 3 || cases[1].Line != 9 || len(cases[0].Input) != 2 || len(cases[0].Want) != 2 {
		t.Errorf("cases %+v", cases)
	}
	if got := string(formatCases(cases)); got != text {
		t.Errorf("written as %q", got)
	}
	if s := cases[1].String(); s != "layers.txt:9: relu c=1" {
		t.Errorf("case %q", s)
	}
	for _, text := range []string{"conv cin=4\n", "----\ntd 0: copy\n", "# Why.\n"} {
		if _, err := parseCases("layers.txt", text); err == nil || !strings.Contains(err.Error(), "want an input, a ---- line and an output") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestDescriptorText checks that descriptor text is parsed and printed as registers.
func TestDescriptorText(t *testing.T) {
	fields := parseDescriptors(".td\nCommon.Cfg ShPref=3 Transpose +0x1\nCommon.Cin 64\nCommon.InDepth Din=1\nKernelDMASrc.CoeffBfrSize[0-15] 0x200\nKernelDMASrc.CoeffBaseAddr[1-3] 0x200 step 0x200\n")[0]
	fields = dropBlankFields(fields, blankFields())
	var got []string
	for _, r := range joinEqualRegisters(fields) {
		got = append(got, r.group+"."+r.String())
	}
	want := []string{"Common.Cfg{ShPref=3 Transpose=1}", "Common.Cin=64", "KernelDMASrc.CoeffBfrSize[0-15]=0x200", "KernelDMASrc.CoeffBaseAddr[1-3]=0x200..+0x200"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
