package lint_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"anesim"
	"anesim/internal/lint"
	"anesim/loader"
	"anesim/loader/asm"
)

// chain returns the text in testdata/chain.td with changes: register values of descriptors, such as
// "2 L2.Src1Base 0x40", or added lines.
func chain(t testing.TB, changes ...string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/chain.td")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(b), "\n.td ")
	for _, c := range changes {
		f := strings.SplitN(c, " ", 3)
		var td int
		if _, err := fmt.Sscan(f[0], &td); err != nil {
			t.Fatal(err)
		}
		var out []string
		found := false
		for _, line := range strings.Split(parts[td+1], "\n") {
			if w := strings.Fields(line); len(w) > 0 && w[0] == f[1] {
				line, found = f[1]+" "+f[2], true
			}
			out = append(out, line)
		}
		if !found {
			out = append(out, f[1]+" "+f[2])
		}
		parts[td+1] = strings.Join(out, "\n")
	}
	return strings.Join(parts, "\n.td ")
}

// program assembles a descriptor text. It ends the test if the text is not valid.
func program(t testing.TB, text string) *loader.Program {
	t.Helper()
	u, err := asm.Assemble("chain.td", []byte(text), new(asm.Options))
	if err != nil {
		t.Fatal(err)
	}
	file, err := u.File()
	if err != nil {
		t.Fatal(err)
	}
	return read(t, file)
}

func read(t testing.TB, file []byte) *loader.Program {
	t.Helper()
	m, err := anesim.Read("chain.hwx", strings.NewReader(string(file)), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.Programs(context.Background(), anesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

// TestInterleaveOfTheDocuments tries every value of the four bits on a result in memory: the five of
// table C.8 are legal, and zero stands for one.
func TestInterleaveOfTheDocuments(t *testing.T) {
	for n := range 16 {
		r, err := lint.Program(program(t, chain(t, fmt.Sprintf("2 TileDMADst.DstFmt FmtMode=1 Truncate=3 MemFmt=2 ZeroPadLast ZeroPadFirst Interleave=%d", n),
			"2 TileDMADst.DstPlaneStride 0", "2 TileDMADst.DstRowStride 0"))) // any width fits in the port
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(r.Findings, func(f lint.Finding) bool {
			return f.Rule == lint.Legality && f.Register == "TileDMADst.DstFmt" && f.Descriptor == 2 && strings.Contains(f.What, fmt.Sprintf("is %d;", n))
		})
		if want := !slices.Contains([]int{0, 1, 2, 3, 4, 8}, n); found != want {
			t.Errorf("interleave %d: found %v, want %v: %+v", n, found, want, r.Findings)
		}
	}
}

// TestSectionsOfWeights holds sections to 128 MiB, at the limit and one byte beyond.
func TestSectionsOfWeights(t *testing.T) {
	for size, want := range map[uint64]int{128 << 20: 0, 128<<20 + 1: 1} {
		p := program(t, chain(t))
		p.Segments = append(p.Segments, loader.Segment{Name: "__KERN_0", Section: "__const", Addr: 0x40000000, Size: size})
		r, err := lint.Program(p)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range r.Findings {
			if f.Rule == lint.Legality && strings.Contains(f.What, "__KERN_0") {
				n++
			}
		}
		if n != want {
			t.Errorf("%d bytes: %d findings, want %d: %+v", size, n, want, r.Findings)
		}
	}
}

// What is meant is no finding.
func TestNoFindings(t *testing.T) {
	for name, changes := range map[string][]string{
		"an operand that channels share": {"0 TileDMASrc.Src1PlaneStride 0"},
		"a result in the place of its source": {"1 L2.ResultBase 0x200", "1 L2.SourceCfg Type=2 AConvSrc AConvRslt DMAFmt=1 DMAIntl=1 APlnrRslt",
			"2 L2.Src1Base 0x200", "2 L2.Src2Base 0x200"},
		"a wait by tiles": {"2 L2.SourceCfg Dep_or_BfrMode=1 DMAIntl=1"},
	} {
		r, err := lint.Program(program(t, chain(t, changes...)))
		if err != nil || len(r.Findings) > 0 {
			t.Errorf("%s: %v, %v", name, err, r)
		}
	}
}

// Each change to a chain without findings breaks one rule, which is found at its register and
// nowhere else.
func TestRules(t *testing.T) {
	if r, err := lint.Program(program(t, chain(t))); err != nil || len(r.Findings) > 0 || r.Descriptors != 3 || r.Undecided > 0 {
		t.Fatalf("the chain itself: %v, %+v", err, r)
	}
	for _, tc := range []struct {
		name     string
		changes  []string
		td       int
		register string
		rule     lint.Rule
		says     string
	}{
		{"a result over a kept source", []string{"1 L2.ResultBase 0x180", "2 L2.Src1Base 0x180"}, 1, "L2.ResultBase", lint.Overlap, "kept source of descriptor 1"},
		{"rows on their way over a result", []string{"1 L2.Src1Base 0x400", "2 L2.Src2Base 0x400",
			"2 TileDMASrc.Src1DMAConfig En CacheHint=8 CHReuse=8 CHNoReuse=3 DepMode=3", "2 Header.Control TSR TSE SrcLoc DstLoc", "2 Header.Bases RBase0=4 RBE0 WBase=5 WBE",
			"2 L2.SourceCfg Type=2 AConvRslt DMAIntl=1", "2 L2.Src1Base 0x500", "1 L2.ResultBase 0x80", "2 L2.Src2Base 0x80"}, 1, "L2.Src1Base", lint.Unread, "kept source"},
		{"two results in one place of an output", []string{"0 Header.Bases RBase0=4 RBE0 WBase=5 WBE", "1 Header.Bases RBase0=4 RBE0 ENE=3",
			"1 TileDMASrc.Src1DMAConfig En CacheHint=8 CHReuse=8 CHNoReuse=3 DepMode=3"}, 0, "TileDMADst.DstBase", lint.Unread, "overwrites it"},
		{"part of an output written twice", []string{"0 Header.Bases RBase0=4 RBE0 WBase=5 WBE", "0 TileDMADst.DstPlaneStride 0x80", "1 Header.Bases RBase0=4 RBE0 ENE=3",
			"1 TileDMASrc.Src1DMAConfig En CacheHint=8 CHReuse=8 CHNoReuse=3 DepMode=3", "2 Common.Cout 3", "2 Common.Cin 3"}, 2, "TileDMADst.DstBase", lint.Overlap, "it is an output"},
		{"a result that nobody reads", []string{"2 L2.Src1Base 0x200", "2 L2.SourceCfg DMAIntl=1"}, 1, "L2.ResultBase", lint.Unread, "no later descriptor"},
		{"a kept source that nobody reads", []string{"2 L2.Src2Base 0x0"}, 1, "L2.Src1Base", lint.Unread, "kept source"},
		{"scratch that nobody reads", []string{"1 Header.Bases RBase0=4 RBE0 ENE=3", "1 TileDMASrc.Src1DMAConfig En CacheHint=8 CHReuse=8 CHNoReuse=3 DepMode=3"},
			0, "TileDMADst.DstBase", lint.Unread, "memory"},
		{"a read of L2 before a write", []string{"2 Common.Cin 4", "2 L2.Src2RowStride 0x90"}, 2, "L2.Src2Base", lint.Unwritten, "16 of"},
		{"a read of rows on their way", []string{"2 L2.Src2Base 0x240"}, 2, "L2.Src2Base", lint.Unwritten, "64 of"},
		{"a read of scratch before a write", []string{"0 Common.OutDim Wout=16 Hout=1", "1 Common.OutDim Wout=16 Hout=2"}, 1, "TileDMASrc.Src1Base", lint.Unwritten, "256 of"},
		{"planes folded", []string{"2 TileDMADst.DstPlaneStride 0"}, 2, "TileDMADst.DstPlaneStride", lint.Fold, "4 parts are 0 bytes apart"},
		{"rows folded", []string{"0 Common.InDim Win=16 Hin=2", "2 TileDMADst.DstRowStride 0"}, 2, "TileDMADst.DstRowStride", lint.Fold, "2 parts"},
		{"a plane shorter than its rows", []string{"2 TileDMADst.DstPlaneStride 0x40"}, 2, "TileDMADst.DstPlaneStride", lint.Fold, "64 bytes apart"},
		{"groups folded", []string{"2 Common.GroupConvCfg NumGroups=2 UnicastCin=1", "2 L2.Src1GroupStride 0", "2 L2.Src2GroupStride 0", "2 TileDMADst.DstGroupStride 0"}, 2, "TileDMADst.DstGroupStride", lint.Fold, "2 parts"},
		{"rows of a source folded", []string{"0 TileDMASrc.Src1PlaneStride 0x40", "1 TileDMASrc.Src1PlaneStride 0x80"}, 0, "TileDMASrc.Src1PlaneStride", lint.Fold, "64 bytes apart"},
		{"channels folded in L2", []string{"1 L2.ResultChannelStride 0x10", "2 L2.Src1ChannelStride 0x10"}, 1, "L2.ResultChannelStride", lint.Fold, "16 bytes apart"},
		{"no wait for the descriptor before", []string{"2 L2.SourceCfg DMAIntl=1"}, 2, "L2.SourceCfg", lint.Hint, "does not wait for the MAC engines"},
		{"a wait for the other engine", []string{"2 L2.SourceCfg APlnrRslt DMAIntl=1"}, 2, "L2.SourceCfg", lint.Hint, "does not wait for the MAC engines"},
		{"tiles beside a descriptor that left nothing", []string{"1 L2.SourceCfg Type=1 Dep_or_BfrMode=2 AConvSrc AConvRslt DMAFmt=1 DMAIntl=1 APlnrRslt"}, 1, "L2.SourceCfg", lint.Hint, "bits 2-3 are 2"},
		{"a run that ends while L2 is live", []string{"1 Header.Control SPL TSR TSE SrcLoc"}, 1, "Header.Control", lint.Hint, "still needed"},
		{"a source that is not said to be the last result", []string{"1 TileDMASrc.Src1DMAConfig En CacheHint=8 CHReuse=8 CHNoReuse=3 DepMode=3"}, 1, "TileDMASrc.Src1DMAConfig", lint.Hint, "bit 18 is clear"},
		{"a source that is no result", []string{"0 TileDMASrc.Src1DMAConfig En CacheHint=8 CHReuse=8 CHNoReuse=3 DepMode=3 +0x40000"}, 0, "TileDMASrc.Src1DMAConfig", lint.Hint, "bit 18 says"},
		{"a distance to nobody", []string{"0 TileDMADst.DstDMAConfig En CacheHint=12 b26 +0x40000"}, 0, "TileDMADst.DstDMAConfig", lint.Hint, "no descriptor did"},
		{"a source in memory by its header", []string{"2 Header.Control TSR TSE SrcLoc DstLoc"}, 2, "Header.Control", lint.Hint, "SrcLoc is 1"},
		{"a source in L2 by its type", []string{"0 L2.SourceCfg AConvSrc AConvRslt DMAFmt=1 DMAIntl=1 APlnrSrc APlnrRslt"}, 0, "L2.SourceCfg", lint.Hint, "type 0"},
		{"a result in L2 by its type", []string{"0 L2.ResultCfg Dep_or_BfrMode=2 AConvSrc DMAFmt=1 DMAIntl=1"}, 0, "L2.ResultCfg", lint.Hint, "type 0"},
		{"a kernel from scratch", []string{"2 Header.Control TSR TSE DstLoc TDE"}, 2, "Header.Control", lint.Hint, "TDE is 1"},
		{"a ring that nobody fills", []string{"2 L2.SourceCfg Type=3 AConvRslt DMAIntl=1"}, 2, "L2.SourceCfg", lint.Hint, "ring"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := lint.Program(program(t, chain(t, tc.changes...)))
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Findings) != 1 {
				t.Fatalf("%d findings: %v", len(r.Findings), r.Findings)
			}
			f := r.Findings[0]
			if f.Descriptor != tc.td || f.Register != tc.register || f.Rule != tc.rule || !strings.Contains(f.What, tc.says) || f.Evidence == "" {
				t.Errorf("%v (%s)", &f, f.Evidence)
			}
		})
	}
}
