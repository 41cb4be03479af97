package regs_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"anesim/hw/regs"
	"anesim/internal/material"
)

// A program is the text of a real program.
type program struct {
	name       string
	text       []byte
	firstWords int
	container  bool
}

// programs reads every real program the manifest lists, or skips the test.
func programs(t testing.TB) []program {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(material.Read(t, "programs/MANIFEST.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []program
	for _, row := range rows[1:] {
		base, _, _ := strings.Cut(filepath.Base(row[0]), ".")
		p := program{name: base, text: material.Read(t, "programs/"+row[0])}
		if row[1] == "container" {
			p.container = true
			p.text, p.firstWords = containerText(t, p.name, p.text)
		} else if row[2] != "" {
			if p.firstWords, err = strconv.Atoi(row[2]); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, p)
	}
	return out
}

// containerText finds the __text section of a Mach-O shaped container and the size of
// its first descriptor, which the program thread command holds at 0x818.
func containerText(t testing.TB, name string, file []byte) (text []byte, firstWords int) {
	t.Helper()
	le := binary.LittleEndian
	at := 32
	for range le.Uint32(file[16:]) {
		c := file[at:]
		size := le.Uint32(c[4:])
		switch le.Uint32(c) {
		case 0x19: // segment
			for i := range int(le.Uint32(c[64:])) {
				s := c[72+80*i:]
				if string(bytes.TrimRight(s[:16], "\x00")) == "__text" {
					off, n := le.Uint32(s[48:]), le.Uint64(s[40:])
					text = file[off : uint64(off)+n]
				}
			}
		case 0x04: // thread
			if le.Uint32(c[8:]) == 1 {
				firstWords = int(le.Uint32(c[0x818:])) + 1
			}
		}
		at += int(size)
	}
	if text == nil || firstWords == 0 {
		t.Fatalf("%s: no __text section or no program command", name)
	}
	return text, firstWords
}

func chainOf(t testing.TB, p program) []*regs.Descriptor {
	t.Helper()
	var chain []*regs.Descriptor
	for d, err := range regs.Chain(p.text, p.firstWords) {
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		chain = append(chain, d)
	}
	return chain
}

func programNamed(t testing.TB, name string) program {
	t.Helper()
	for _, p := range programs(t) {
		if p.name == name {
			return p
		}
	}
	t.Fatalf("the manifest has no program %s", name)
	return program{}
}

// everyBuffer is a place for every buffer a descriptor may name.
func everyBuffer() (bars regs.BARs) {
	for i := range bars {
		bars[i] = uint64(i+1) << 30
	}
	return bars
}

func tasksOf(t testing.TB, p program) []*regs.Task {
	t.Helper()
	s := regs.Stream{Text: p.text, FirstWords: p.firstWords, BARs: everyBuffer()}
	var f regs.File
	var tasks []*regs.Task
	for task, err := range s.Tasks(&f) {
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		tasks = append(tasks, task.Clone())
	}
	return tasks
}

func TestProgramCounts(t *testing.T) {
	containers, texts, descriptors := 0, 0, 0
	for _, p := range programs(t) {
		n := len(chainOf(t, p))
		if p.container {
			containers++
			continue
		}
		texts++
		descriptors += n
	}
	if containers != 8 || texts != 73 || descriptors != 104 {
		t.Errorf("%d containers and %d texts of %d descriptors, want 8, 73 and 104", containers, texts, descriptors)
	}
}

// Decoding and encoding changes no byte: of a descriptor, and of a whole text.
func TestProgramsRoundTrip(t *testing.T) {
	for _, p := range programs(t) {
		chain := chainOf(t, p)
		for _, d := range chain {
			was := p.text[d.Offset:][:4*d.Words]
			if !bytes.Equal(d.Append(nil), was) {
				t.Errorf("%s: descriptor %d changes", p.name, d.Index)
			}
		}
		if !bytes.Equal(regs.EncodeChain(chain), p.text) {
			t.Errorf("%s: text changes", p.name)
		}
	}
}

// A chain decoded without the first descriptor's size stops at the padding, at the size
// the container states.
func TestProgramsWithoutFirstSize(t *testing.T) {
	for _, p := range programs(t) {
		bare := p
		bare.firstWords = 0
		if got := chainOf(t, bare)[0].Words; p.firstWords != 0 && got != p.firstWords {
			t.Errorf("%s: first descriptor has %d words, the container says %d", p.name, got, p.firstWords)
		}
	}
}

// What a snapshot reads from the registers, the header of the descriptor says in words of its own.
func TestMeaningsOfPrograms(t *testing.T) {
	loads, engines := 0, 0
	for _, p := range programs(t) {
		for _, task := range tasksOf(t, p) {
			g := &task.Groups
			if on := g.Source1On() || g.Source2On(); on != task.Header.Control.SrcLoc() {
				t.Errorf("%s: task %d: loads a source: %t, SrcLoc %t", p.name, task.Index, on, !on)
			}
			if ene := task.Header.Bases.ENE() != 0; g.Planar() == ene {
				t.Errorf("%s: task %d: planar with engines", p.name, task.Index)
			}
			if g.Source1On() {
				loads++
			}
			if !g.Planar() {
				engines++
			}
		}
	}
	if loads < 80 || engines < 80 {
		t.Errorf("%d tasks load source 1, %d run on the MAC engines", loads, engines)
	}
}

// Words the documents call constant, and header flags that follow from the chain.
func TestProgramInvariants(t *testing.T) {
	for _, p := range programs(t) {
		for _, task := range tasksOf(t, p) {
			g := &task.Groups
			// The constants the documents give for every observed program.
			if regs.Raw(g.Common.InDepth) != 1 || regs.Raw(g.Common.OutDepth) != 1 || regs.Raw(g.Common.Reserved08) != 0x2041 {
				t.Errorf("%s %d: depths %v and %v, word 0x20 %v", p.name, task.Index,
					g.Common.InDepth, g.Common.OutDepth, g.Common.Reserved08)
			}
			if ene, want := task.Header.Bases.ENE(), g.Common.Cfg.ActiveNE()+1; g.Planar() && ene != 0 || !g.Planar() && ene != want {
				t.Errorf("%s %d: planar %v with ENE %d and ActiveNE %d", p.name, task.Index, g.Planar(), ene, want-1)
			}
			if eon := task.Header.Task.EON(); eon != (task.Header.Next == 0) {
				t.Errorf("%s %d: EON %v with next %#x", p.name, task.Index, eon, task.Header.Next)
			}
			if lnid := task.Header.Task.LNID(); lnid != (task.Index > 0) {
				t.Errorf("%s %d: LNID %v", p.name, task.Index, lnid)
			}
		}
	}
}

func TestProgramFields(t *testing.T) {
	t.Run("add", func(t *testing.T) {
		g := tasksOf(t, programNamed(t, "add_c64"))[0].Groups
		if !g.Planar() || g.Common.Cfg.PlanarForm() != regs.FormTwoSources || g.PE.Cfg.OpMode() != regs.PlanarAdd {
			t.Errorf("planar %v, form %v, operation %v", g.Planar(), g.Common.Cfg.PlanarForm(), g.PE.Cfg.OpMode())
		}
		if !g.Source1On() || !g.Source2On() || g.TileDMASrc.Src2DMAConfig.En() || !g.DestinationOn() || g.KernelOn() {
			t.Error("an add reads two sources, the second without its enable bit, and no kernel")
		}
		if want := (regs.Shape{Groups: 1, Channels: 64, Height: 1, Width: 1, Depth: 1}); g.InShape() != want || g.OutShape() != want {
			t.Errorf("shapes %v, %v", g.InShape(), g.OutShape())
		}
	})
	t.Run("convolution 3x3 stride 2", func(t *testing.T) {
		task := tasksOf(t, programNamed(t, "conv_probe_k3_c64_n64_s64_st2_g1_bias0_same"))[0]
		g, c := task.Groups, task.Groups.Common.ConvCfg
		if c.Kw() != 3 || c.Kh() != 3 || c.Sx() != 2 || c.Sy() != 2 || c.Px() != 0 || c.OCGSize() != 2 {
			t.Errorf("ConvCfg %#x", regs.Raw(c))
		}
		in, out := g.InShape(), g.OutShape()
		if (in != regs.Shape{Groups: 1, Channels: 64, Height: 64, Width: 64, Depth: 1}) || (out != regs.Shape{Groups: 1, Channels: 64, Height: 32, Width: 32, Depth: 1}) {
			t.Errorf("shapes %v, %v", in, out)
		}
		if g.Common.Cfg.ActiveNE() != 4 || !g.NE.KernelCfg.Sparse() || g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate {
			t.Errorf("Cfg %#x, KernelCfg %#x, MACCfg %#x", regs.Raw(g.Common.Cfg), regs.Raw(g.NE.KernelCfg), regs.Raw(g.NE.MACCfg))
		}
		if n := g.Operands().Kernel.Bytes; n != 0x13c0+15*0x1440 {
			t.Errorf("%#x kernel bytes", n)
		}
		if n := g.Operands().Source1.Span(); n != 64*64*64*2 {
			t.Errorf("source spans %#x bytes", n)
		}
		if b := task.Bases; b.Source1 != 5<<30 || b.Destination != 6<<30 || b.Kernel != 2<<30 || b.Source2 != 0 {
			t.Errorf("bases %#x: input is buffer 4, output 5, weights 1", b)
		}
	})
	t.Run("depthwise", func(t *testing.T) {
		g := tasksOf(t, programNamed(t, "conv_T175_k3_c64_g64_s16"))[0].Groups
		if c := g.Common.GroupConvCfg; !c.UnicastEn() || c.UnicastCin() != 1 || c.NumGroups() != 1 || g.Common.ConvCfg.Px() != 1 {
			t.Errorf("GroupConvCfg %#x, ConvCfg %#x", regs.Raw(c), regs.Raw(g.Common.ConvCfg))
		}
	})
	t.Run("grouped", func(t *testing.T) {
		g := tasksOf(t, programNamed(t, "env_conv_k3_c64_n64_s16_st1_g4_bias0"))[0].Groups
		if want := (regs.Shape{Groups: 4, Channels: 16, Height: 16, Width: 16, Depth: 1}); g.InShape() != want {
			t.Errorf("shape %v, want %v", g.InShape(), want)
		}
	})
	t.Run("bias", func(t *testing.T) {
		g := tasksOf(t, programNamed(t, "conv_1x1_3to2_bias"))[0].Groups
		if !g.NE.MACCfg.BiasMode() || g.NE.MACCfg.KernelMode() || g.Common.Cfg.ActiveNE() != 1 || !g.Common.Cfg.SmallSourceMode() {
			t.Errorf("MACCfg %#x, Cfg %#x", regs.Raw(g.NE.MACCfg), regs.Raw(g.Common.Cfg))
		}
	})
	t.Run("concat", func(t *testing.T) {
		tasks := tasksOf(t, programNamed(t, "concat_2td"))
		second := tasks[1]
		if tasks[0].Header.Next != 0x300 || second.Offset != 0x300 || second.Groups.TileDMADst.DstBase.Bytes() != 16*64 {
			t.Errorf("next %#x, offset %#x, destination base %#x", tasks[0].Header.Next, second.Offset, second.Groups.TileDMADst.DstBase.Bytes())
		}
		if second.Bases.Destination != 5<<30+16*64 {
			t.Errorf("second destination at %#x: buffer 4 and 16 channels", second.Bases.Destination)
		}
	})
	t.Run("runtime matmul", func(t *testing.T) {
		p := programNamed(t, "env_mm_r3rr_m64_k64_n64_tx0_ty0_b1")
		d := chainOf(t, p)[1]
		if !d.Extended || d.Header.KernelBases.KBase0() != regs.BARScratch || !d.Header.KernelBases.KBE0() {
			t.Errorf("extended %v, KernelBases %#x: the kernel is a scratch surface", d.Extended, uint32(d.Header.KernelBases))
		}
		if b := tasksOf(t, p)[1].Bases.Kernel; b != 4<<30 {
			t.Errorf("kernel at %#x, want the scratch buffer", b)
		}
	})
	t.Run("matvec", func(t *testing.T) {
		tasks := tasksOf(t, programNamed(t, "matvec_m1_k256_n256"))
		first, second := tasks[0].Groups, tasks[1].Groups
		if first.NE.MACCfg.OpMode() != regs.PassThrough || first.DestinationOn() || second.Source1On() {
			t.Error("the first task leaves its result in L2, the second finds it there")
		}
		d := &second.Operands().Result
		if !d.Transposed || d.Span() != 512 || d.Bytes != 512 {
			t.Errorf("destination %+v spans %d, moves %d: 256 fp16 values side by side", d.Surface, d.Span(), d.Bytes)
		}
	})
	t.Run("mean", func(t *testing.T) {
		g := tasksOf(t, programNamed(t, "reduce_mean_axes_2_3"))[0].Groups
		if want := (regs.Shape{Groups: 1, Channels: 64, Height: 1, Width: 1, Depth: 1}); g.OutShape() != want {
			t.Errorf("writes %v, want %v although OutDim is 8x8", g.OutShape(), want)
		}
		if s := math.Float32frombits(g.PE.FinalScale.FinalScale()); s != 1.0/64 {
			t.Errorf("scale %v, want 1/64", s)
		}
	})
}

// Fields whose names only code uses mean in every program what fields.txt says.
func TestUnlistedFields(t *testing.T) {
	tasks, kernels, seconds := 0, 0, 0
	for _, p := range programs(t) {
		for _, task := range tasksOf(t, p) {
			g := &task.Groups
			c, s := &g.Common, &g.TileDMASrc
			tasks++
			two := g.Planar() && c.Cfg.PlanarForm().Sources() == 2
			if two {
				seconds++
			}
			if g.KernelOn() {
				kernels++
			}
			for _, f := range []struct {
				name      string
				got, want bool
			}{
				{"ChCfg.Src2Fmt", c.ChCfg.Src2Fmt() == regs.FormatFP16, two},
				{"Reserved08", c.Reserved08.Kd() == 1 && c.Reserved08.Sz() == 1 && c.Reserved08.Oz() == 1, true},
				{"Reserved00.MasterEnable", g.KernelDMASrc.Reserved00.MasterEnable(), g.KernelOn()},
				{"Reserved00.SparseFmt", g.KernelDMASrc.Reserved00.SparseFmt(), g.NE.KernelCfg.Sparse()},
				{"Cfg.Base", c.Cfg.Base(), !two || g.Source1On() || !g.Source2On()},
				{"Cfg.Src2InMemory", c.Cfg.Src2InMemory(), g.Source2On()},
				{"SourceCfg.Src2InMemory", g.L2.SourceCfg.Src2InMemory(), g.Source2On()},
				{"MACCfg.b20", g.NE.MACCfg.B20(), !g.NE.MACCfg.IsZero()},
				{"DstDMAConfig.ScratchHint", g.TileDMADst.DstDMAConfig.ScratchHint() == 3, g.DestinationOn() && task.Header.Bases.WBase() == regs.BARScratch},
				{"SrcDMAConfig.FromPrevious of source 2", s.Src2DMAConfig.FromPrevious(), false},
			} {
				if f.got != f.want {
					t.Errorf("%s: task %d: %s is %t, want %t", p.name, task.Index, f.name, f.got, f.want)
				}
			}
		}
	}
	if tasks != 113 || kernels != 70 || seconds != 19 {
		t.Errorf("%d tasks, %d with weights, %d with two sources, want 113, 70 and 19", tasks, kernels, seconds)
	}
}
