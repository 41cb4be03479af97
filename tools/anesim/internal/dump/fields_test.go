package dump

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/regs"
	"anesim/loader"
)

func TestFieldText(t *testing.T) {
	for _, test := range []struct {
		register string
		word     uint32
		want     string
		all      string // want of --all where it differs
	}{
		{"Common.InDim", 5<<16 | 7, "Win 7, Hin 5", ""},
		{"Common.Cin", 64, "64", ""},
		{"Common.ChCfg", 0x22, "InFmt fp16, OutFmt fp16", ""},
		{"Common.ChCfg", 0x32, "InFmt fp16, OutFmt 3", ""},
		{"Common.Cfg", 1<<2 | 3<<4 | 1, "SmallSourceMode, PlanarForm two-sources, +0x1",
			"SmallSourceMode 1, PlanarForm two-sources, ShPref 0, ShMin 0, ShMax 0, ActiveNE 0, ContextSwitchIn 0, ContextSwitchOut 0, AccDoubleBufEn 0, Transpose 0, +0x1"},
		{"Common.TileCfg", 0, "0", "TileHeight 0"},
		{"Common.Reserved08", 0x2041, "0x2041", ""},
		{"KernelDMASrc.CoeffBfrSize[3]", 0x80, "0x80", ""},
		{"KernelDMASrc.CoeffBfrSize[3]", 0x81, "0x80, +0x1", ""},
		{"TileDMASrc.Src1Base", 0xffffffc0, "0xffffffc0", ""},
		{"L2.Src1Base", 0x1ffff0, "0x1ffff0", ""},
		{"L2.Src1Base", 0x200010, "0x10, +0x200000", ""},
		{"PE.BiasScale", 0x3c00<<16 | 0xc100, "Bias -2.5, Scale 1", ""},
		{"PE.FinalScale", 0x3d800000, "0.0625", ""},
		{"NE.MACCfg", 12 | 1<<16, "OpMode pass-through, NonlinearMode relu",
			"OpMode pass-through, BiasMode 0, KernelMode 0, MatrixBiasEn 0, BinaryPoint 0, PostScaleMode 0, NonlinearMode relu"},
		{"NE.MACCfg", 5 | 7<<16, "OpMode 5, NonlinearMode 7",
			"OpMode 5, BiasMode 0, KernelMode 0, MatrixBiasEn 0, BinaryPoint 0, PostScaleMode 0, NonlinearMode 7"},
	} {
		block, name, _ := strings.Cut(test.register, ".")
		r, ok := regs.Lookup(block, name)
		if !ok {
			t.Fatalf("no register %s", test.register)
		}
		if got := formatFields(registerWord{r, test.word}, false); got != test.want {
			t.Errorf("%s %#x is %q, want %q", test.register, test.word, got, test.want)
		}
		want := test.all
		if want == "" {
			want = test.want
		}
		if got := formatFields(registerWord{r, test.word}, true); got != want {
			t.Errorf("%s %#x with --all is %q, want %q", test.register, test.word, got, want)
		}
	}
}

func TestRuns(t *testing.T) {
	lane := func(name string, words ...uint32) []registerWord {
		var out []registerWord
		r, ok := regs.Lookup("KernelDMASrc", name+"[0]")
		if !ok {
			t.Fatalf("no register %s", name)
		}
		all := make(map[int]regs.Register)
		for r := range regs.Registers() {
			if r.Group == "G0" {
				all[r.Word] = r
			}
		}
		for i, w := range words {
			out = append(out, registerWord{all[r.Word+i], w})
		}
		return out
	}
	for _, test := range []struct {
		name  string
		words []registerWord
		want  []string
	}{
		{"equal", lane("CoeffBfrSize", 0x40, 0x40), []string{"CoeffBfrSize[0-1] 0x40"}},
		{"equal, then steps", lane("CoeffBaseAddr", 0, 0, 0x40, 0x80), []string{"CoeffBaseAddr[0-1] 0", "CoeffBaseAddr[2] 0x40", "CoeffBaseAddr[3] 0x80"}},
		{"steps", lane("CoeffBaseAddr", 0, 0x200, 0x400, 0x400), []string{"CoeffBaseAddr[0-2] 0 to 0x400 by 0x200", "CoeffBaseAddr[3] 0x400"}},
		{"steps down", lane("CoeffBaseAddr", 0x400, 0x200, 0), []string{"CoeffBaseAddr[0-2] 0x400 to 0, 0x200 down"}},
		{"two are no steps", lane("CoeffBaseAddr", 0, 0x200), []string{"CoeffBaseAddr[0] 0", "CoeffBaseAddr[1] 0x200"}},
		{"steps of unknown bits", lane("CoeffBaseAddr", 1, 2, 3), []string{"CoeffBaseAddr[0] +0x1", "CoeffBaseAddr[1] +0x2", "CoeffBaseAddr[2] +0x3"}},
		{"steps of no bytes", lane("CoeffTail", 0x40, 0x80, 0xc0), []string{"CoeffTail[0] 0x40", "CoeffTail[1] 0x80", "CoeffTail[2] 0xc0"}},
		{"two arrays", append(lane("CoeffBaseAddr", 0x40)[:1:1], lane("CoeffBfrSize", 0x40)...), []string{"CoeffBaseAddr[0] 0x40", "CoeffBfrSize[0] 0x40"}},
		{"a gap", slicesAt(lane("CoeffBfrSize", 0x40, 0x40, 0x40), 0, 2), []string{"CoeffBfrSize[0] 0x40", "CoeffBfrSize[2] 0x40"}},
	} {
		var got []string
		for _, r := range groupRuns(test.words) {
			got = append(got, r.formatName()+" "+r.formatFields(false))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func slicesAt(words []registerWord, at ...int) (out []registerWord) {
	for _, i := range at {
		out = append(out, words[i])
	}
	return out
}

func TestLegible(t *testing.T) {
	for name, want := range map[string]string{
		"probs@output": "probs@output", "\x1b[31mred": `"\x1b[31mred"`, "a\nb": `"a\nb"`, "größe": "größe",
	} {
		if got := quoteName(name); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
}

func TestProtection(t *testing.T) {
	for p, want := range map[loader.Protection]string{0: "---", 1: "r--", 2: "-w-", 5: "r-x", 7: "rwx"} {
		if got := formatProtection(p); got != want {
			t.Errorf("%d is %s, want %s", p, got, want)
		}
	}
}

func TestWrittenTwice(t *testing.T) {
	words := listWrittenWords(&regs.Descriptor{Records: []regs.Record{{Addr: 0, Values: []uint32{1, 2}}, {Addr: 0, Values: []uint32{3}}}})
	if len(words) != 2 || words[0].reg.Name != "InDim" || words[0].word != 3 || words[1].word != 2 {
		t.Errorf("%v", words)
	}
}
