package lower

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/hw/execycles"
	"anesim/hw/regs"
	"anesim/internal/material"
	"anesim/loader"
	"anesim/loader/internal/lower/chain"
)

// TestIdentityFacts holds the identity layer to the format document's tables.
func TestIdentityFacts(t *testing.T) {
	file, err := Identity()
	if err != nil {
		t.Fatal(err)
	}
	p, err := IdentityProgram()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("header, table 23.9", func(t *testing.T) {
		var got [8]uint32
		if err := binary.Read(bytes.NewReader(file), binary.LittleEndian, &got); err != nil {
			t.Fatal(err)
		}
		want := [8]uint32{0xbeefface, 0x80, 4, 2, 15, 0x32d8, 0x200000, 0}
		if got != want {
			t.Errorf("header %#x, want %#x", got, want)
		}
	})
	t.Run("commands", func(t *testing.T) {
		got := make(map[loader.Command]int)
		for _, l := range p.Container.Loads {
			got[l.Command()]++
		}
		want := map[loader.Command]int{loader.CommandSegment: 7, loader.CommandPort64: 2, loader.CommandThread: 3, loader.CommandBanner: 1, loader.CommandNote: 1, loader.CommandSymtab: 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("load commands (-want +got):\n%s", diff)
		}
	})
	t.Run("segments, table 23.6", func(t *testing.T) {
		type row struct {
			name       string
			addr, size uint64
			prot       loader.Protection
		}
		var got []row
		for _, s := range p.Segments {
			got = append(got, row{s.String(), s.Addr, s.Size, s.Prot})
		}
		want := []row{
			{"__PAGEZERO", 0, 0x4000, 0},
			{"__FVMLIB,__const", 0x30008000, 0x80, loader.ProtRead},
			{"__FVMLIB,__data", 0x3000c000, 0x80, loader.ProtWrite},
			{"__TEXT,__text", 0x30010000, 0x474, loader.ProtRead | loader.ProtExec},
			{"__KERN_0,__kern_0", 0x30018000, 0x2000, loader.ProtRead},
		}
		if !slices.Equal(got, want) {
			t.Errorf("segments %v, want %v", got, want)
		}
	})
	t.Run("text, table 23.7", func(t *testing.T) {
		if len(p.Text) != 0x474 {
			t.Errorf("%#x bytes of text, want 0x474", len(p.Text))
		}
		run := func(word uint32) (b []byte) {
			for range 16 {
				b = binary.LittleEndian.AppendUint32(b, word)
			}
			return b
		}
		var indices []byte
		for i := range uint32(16) {
			indices = binary.LittleEndian.AppendUint32(indices, 0x200*i)
		}
		for _, f := range []struct {
			off  int
			want []byte
		}{
			{0x000, []byte{0, 0, 0, 0, 0, 0, 0x9c, 0, 0x08, 0x04}},
			{0x010, []byte{0x28, 0, 0, 0}},
			{0x034, run(0x80)},
			{0x0c8, []byte{0x21, 0xa0, 0, 0x50, 0x41, 0x20, 0, 0}},
			{0x128, []byte{0x31, 0x20, 0, 0x01}},
			{0x234, run(0x81)},
			{0x274, indices},
			{0x470, []byte{0x31, 0x20, 0x30, 0x01}},
		} {
			if got := p.Text[f.off:][:len(f.want)]; !bytes.Equal(got, f.want) {
				t.Errorf("text at %#x: % x, want % x", f.off, got, f.want)
			}
		}
	})
	t.Run("weights", func(t *testing.T) {
		w, ok := p.Segment("__KERN_0", "__kern_0")
		if !ok || len(w.Data) != 0x2000 {
			t.Fatalf("weights %v", w)
		}
		var perLane [16]int
		nonzero := 0
		for i := 0; i < len(w.Data); i += 2 {
			switch h := binary.LittleEndian.Uint16(w.Data[i:]); h {
			case 0:
			case 0x3c00:
				perLane[i/512]++
			default:
				t.Errorf("half %#x at %#x", h, i)
			}
			if w.Data[i] != 0 || w.Data[i+1] != 0 {
				nonzero++
			}
		}
		if nonzero != 64 {
			t.Errorf("%d halves are not zero, want 64", nonzero)
		}
		for i, n := range perLane {
			if n != 4 {
				t.Errorf("sub-kernel %d holds %d ones, want 4", i, n)
			}
		}
		if len(p.Tiles) != 16 || len(p.Relocations) != 16 {
			t.Errorf("%d tiles and %d relocations, want 16 of each", len(p.Tiles), len(p.Relocations))
		}
	})
	t.Run("ports", func(t *testing.T) {
		want := []loader.Port{
			{Name: "t0", Direction: loader.Input, Shape: [4]int{1, 1, 1, 64}, Strides: [4]uint64{128, 128, 128, 2},
				Type: loader.Float16(), Address: 0x30008000, Bytes: 0x80, BAR: 5},
			{Name: "t2", Direction: loader.Output, Shape: [4]int{1, 1, 1, 64}, Strides: [4]uint64{128, 128, 128, 2},
				Type: loader.Float16(), Address: 0x3000c000, Bytes: 0x80, BAR: 4},
		}
		if diff := cmp.Diff(want, p.Ports); diff != "" {
			t.Errorf("ports (-want +got):\n%s", diff)
		}
	})
	t.Run("link", func(t *testing.T) {
		l, err := p.Link()
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Tasks) != 2 || l.Tasks[1].Offset != 0x200 {
			t.Errorf("%d tasks", len(l.Tasks))
		}
		want := []regs.Bases{{Source1: 0x30008000}, {Destination: 0x3000c000, Kernel: 0x30018000}}
		for i, task := range l.Tasks {
			if task.Bases != want[i] {
				t.Errorf("task %d: bases %+v, want %+v", i, task.Bases, want[i])
			}
		}
	})
	if p.Banner.Target != "h13g" || p.Banner.Version != "v9.509.0" {
		t.Errorf("banner: target %q, version %q", p.Banner.Target, p.Banner.Version)
	}
}

// TestIdentityPattern rebuilds the compiler's matrix-vector program of K = N = 256 with
// the identity layer's code. Only the words the identity layer is known to have
// otherwise may differ.
func TestIdentityPattern(t *testing.T) {
	want := material.Read(t, "programs/text/matvec_m1_k256_n256.text.bin")
	tasks, _ := lowerIdentityProduct(256)
	got := regs.EncodeChain(chain.Finish(tasks, execycles.H13))
	type word struct{ off, want, got uint32 }
	var diffs []word
	if len(got) != len(want) {
		t.Fatalf("%#x bytes, want %#x", len(got), len(want))
	}
	for i := 0; i < len(got); i += 4 {
		if w, g := binary.LittleEndian.Uint32(want[i:]), binary.LittleEndian.Uint32(got[i:]); w != g {
			diffs = append(diffs, word{uint32(i), w, g})
		}
	}
	known := []word{
		{0x020, 0x05823025, 0x05800025}, // no scratch buffer
		{0x220, 0x05024023, 0x05024000}, // no scratch buffer
	}
	if !slices.Equal(diffs, known) {
		t.Errorf("words that differ (offset, compiler's, ours): %#x\nwant %#x", diffs, known)
	}
}
