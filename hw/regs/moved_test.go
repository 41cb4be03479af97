package regs_test

import (
	"testing"

	"anesim/hw/regs"
)

// TestOperandsBytes checks the bytes that each operand moves: rows padded to 64 bytes, times
// rows, planes, channels and groups.
func TestOperandsBytes(t *testing.T) {
	engines := func(g *regs.Groups) { g.Common.TaskInfo = g.Common.TaskInfo.WithTaskNID(1) }
	rows := func(in, out, tile, kernel, stride uint32) func(*regs.Groups) {
		return func(g *regs.Groups) {
			c := &g.Common
			c.InDim, c.OutDim = c.InDim.WithHin(in), c.OutDim.WithHout(out)
			c.TileCfg = c.TileCfg.WithTileHeight(tile)
			c.ConvCfg = c.ConvCfg.WithKh(kernel).WithSy(stride)
		}
	}
	for _, tc := range []struct {
		name string
		set  func(*regs.Groups)
		want [3]uint64
	}{
		{"rows of ten bytes take 64", func(*regs.Groups) {}, [3]uint64{768, 768, 768}},
		{"a row of 32 takes no more", func(g *regs.Groups) {
			g.Common.InDim, g.Common.OutDim = g.Common.InDim.WithWin(32), g.Common.OutDim.WithWout(33)
		}, [3]uint64{768, 768, 2 * 768}},
		{"elements of a byte", func(g *regs.Groups) {
			g.Common.InDim, g.Common.OutDim = g.Common.InDim.WithWin(64), g.Common.OutDim.WithWout(65)
			g.Common.ChCfg = g.Common.ChCfg.WithInFmt(regs.FormatInt8A).WithOutFmt(regs.FormatInt8B)
		}, [3]uint64{768, 768, 2 * 768}},
		{"two planes", func(g *regs.Groups) {
			g.Common.InDepth, g.Common.OutDepth = regs.InDepth{}.WithDin(2), regs.OutDepth{}.WithDout(2)
		}, [3]uint64{1536, 1536, 1536}},
		{"three groups", func(g *regs.Groups) {
			g.Common.GroupConvCfg = g.Common.GroupConvCfg.WithNumGroups(3)
		}, [3]uint64{2304, 2304, 2304}},
		{"off", func(g *regs.Groups) {
			g.TileDMASrc.Src1DMAConfig, g.TileDMADst.DstDMAConfig = regs.FromRaw[regs.SrcDMAConfig](0x8881), regs.FromRaw[regs.DstDMAConfig](0xc0)
		}, [3]uint64{0, 768, 0}},
		{"transposed by the engines: rows of channels", func(g *regs.Groups) {
			engines(g)
			g.Common.Cfg = g.Common.Cfg.WithTranspose(true)
			g.Common.OutDim, g.Common.Cout = g.Common.OutDim.WithWout(33), regs.Cout{}.WithCout(64)
		}, [3]uint64{768, 768, 128 * 3 * 33}},
		{"one tile reads every row once", rows(10, 8, 8, 3, 1), [3]uint64{2560, 2560, 2048}},
		{"and so does one said to be higher", rows(10, 8, 9, 3, 1), [3]uint64{2560, 2560, 2048}},
		{"two tiles read two rows again", rows(10, 8, 4, 3, 1), [3]uint64{12 * 256, 12 * 256, 2048}},
		{"three tiles four", rows(10, 8, 3, 3, 1), [3]uint64{14 * 256, 14 * 256, 2048}},
		{"whole strides of rows", rows(18, 8, 4, 4, 2), [3]uint64{20 * 256, 20 * 256, 2048}},
		{"a source that repeats along H has nothing to read again", func(g *regs.Groups) {
			rows(10, 8, 4, 3, 1)(g)
			g.Common.PlanarOperands = g.Common.PlanarOperands.WithSrc2BroadcastH(true)
		}, [3]uint64{12 * 256, 256, 2048}},
	} {
		g := planarTask(regs.FormTwoSources)
		tc.set(g)
		g.ReadMeanings()
		o := g.Operands()
		if got := [3]uint64{o.Source1.Bytes, o.Source2.Bytes, o.Result.Bytes}; got != tc.want {
			t.Errorf("%s: %v bytes, want %v", tc.name, got, tc.want)
		}
	}
	if n := (regs.Shape{Groups: 2, Channels: 3, Height: 5, Width: 7, Depth: 11}).Elements(); n != 2310 {
		t.Errorf("%d elements", n)
	}
}

// A walk stores runs of every length, of odd and even numbers of words, in place.
func TestWalkStoresEveryLength(t *testing.T) {
	var chain []*regs.Descriptor
	var at []uint32
	for n := range 16 {
		run := make([]uint32, n+1)
		for i := range run {
			run[i] = uint32(n<<8 | i + 1)
		}
		chain = append(chain, &regs.Descriptor{Records: []regs.Record{{Addr: 0x4800, Values: run}, {Addr: 0x1f8f4, Values: run[:1]}}})
		at = append(at, uint32(n)*regs.Alignment)
	}
	text := chainAt(at, chain...)
	storesAsApplied(t, text, 0, chain)
}

// TestFullDescriptors checks that a descriptor may use all words up to the start of the next
// one.
func TestFullDescriptors(t *testing.T) {
	full := func(extra bool, words int) *regs.Descriptor {
		d := &regs.Descriptor{Extended: extra}
		n := words - regs.HeaderWords
		if extra {
			d.Header.KernelBases = 3
			n--
		}
		for n > 0 {
			k := min(n, 62+1)
			if n-k == 1 {
				k-- // a record has a value
			}
			d.Records = append(d.Records, regs.Record{Addr: 0x1f800, Values: make([]uint32, k-1)})
			n -= k
		}
		return d
	}
	chain := []*regs.Descriptor{full(false, 64), full(true, 64), full(false, 128), full(false, 64)}
	n := 0
	for d, err := range regs.Chain(chainAt([]uint32{0, 0x100, 0x200, 0x400}, chain...), 64) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Words != chain[n].Words {
			t.Errorf("descriptor %d has %d words, want %d", n, d.Words, chain[n].Words)
		}
		n++
	}
	if n != len(chain) {
		t.Errorf("%d descriptors", n)
	}
	// A header and its extra word alone, and the longest that can be declared.
	for _, d := range []*regs.Descriptor{full(true, regs.HeaderWords+1), full(false, regs.MaxWords)} {
		text := d.Append(nil)
		got, err := regs.Decode(text, 0, 0, len(text)/4)
		if err != nil || got.Words != len(text)/4 || got.Extended != d.Extended {
			t.Errorf("%d words: %+v, %v", len(text)/4, got, err)
		}
	}
}

// Only what was written counts as such, wherever the window of it stands in the file.
func TestWrittenOutsideTheWindows(t *testing.T) {
	var f regs.File
	for _, w := range regs.V7Windows() {
		if err := f.Store(w.Base, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, addr := range []uint32{0x2, 0x40, 0x47fc, 0x1f8f8, 0xffff_fffc} {
		if f.Written(addr) {
			t.Errorf("%#x is in no window and is written", addr)
		}
	}
}

// The program's own text is buffer 0, and an error names it as any other.
func TestErrorNamesBufferZero(t *testing.T) {
	for bar, want := range map[int]string{-1: "kernel DMA is enabled, but missing", 0: "kernel DMA is enabled, but buffer 0 missing"} {
		if got := (&regs.BaseError{Unit: "kernel", BAR: bar, What: "missing"}).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
