package loader

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/internal/material"
)

// port is a row of the tables below.
type port struct {
	name    string
	dir     Direction
	shape   [4]int
	strides [4]uint64
	addr    uint64
	bytes   uint64
	bar     int
}

func (p port) port() Port {
	return Port{p.name, p.dir, p.shape, p.strides, Float16(), p.addr, p.bytes, p.bar}
}

// TestContainers reads the vendor's containers: ports, descriptors, tiles, relocations.
func TestContainers(t *testing.T) {
	one := func(c int) ([4]int, [4]uint64) {
		return [4]int{1, c, 1, 1}, [4]uint64{64 * uint64(c), 64, 64, 2}
	}
	pixel := func(name string, d Direction, c int, addr uint64, bar int) port {
		shape, strides := one(c)
		return port{name, d, shape, strides, addr, strides[0], bar}
	}
	row := func(name string, d Direction, w int, addr, n uint64, bar int) port {
		return port{name, d, [4]int{1, 1, 1, w}, [4]uint64{n, n, n, 2}, addr, n, bar}
	}
	for _, tt := range []struct {
		file          string
		tasks         int
		tiles, relocs int
		ports         []port
	}{
		{"add_c64", 1, 0, 0, []port{
			pixel("image", Input, 64, 0x3000c000, 6), pixel("image2", Input, 64, 0x30008000, 5),
			pixel("probs@output", Output, 64, 0x30010000, 4)}},
		{"concat_2td", 2, 0, 0, []port{
			pixel("input_0", Input, 16, 0x3000c000, 6), pixel("input_1", Input, 16, 0x30008000, 5),
			pixel("output@output", Output, 32, 0x30010000, 4)}},
		{"conv_1x1_3to2_bias", 1, 2, 2, []port{
			pixel("image", Input, 3, 0x30004000, 5), pixel("probs@output", Output, 2, 0x30008000, 4)}},
		{"conv_1x1_3to3", 1, 3, 3, []port{
			pixel("image", Input, 3, 0x30004000, 5), pixel("probs@output", Output, 3, 0x30008000, 4)}},
		{"conv_1x1_3to3_w3", 1, 3, 3, []port{
			pixel("image", Input, 3, 0x30004000, 5), pixel("probs@output", Output, 3, 0x30008000, 4)}},
		{"gemm_64x64", 1, 16, 16, []port{
			pixel("image", Input, 64, 0x30004000, 5), pixel("probs@output", Output, 64, 0x30008000, 4)}},
		{"relu_w16", 1, 0, 0, []port{
			row("image", Input, 16, 0x30008000, 0x40, 5), row("probs@output", Output, 16, 0x3000c000, 0x40, 4)}},
		{"sigmoid_w77", 1, 1, 1, []port{
			row("image", Input, 77, 0x30004000, 0xc0, 5), row("probs@output", Output, 77, 0x30008000, 0xc0, 4)}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			p, err := Open(material.File(t, "programs/"+tt.file+".hwx"))
			if err != nil {
				t.Fatal(err)
			}
			var want []Port
			for _, q := range tt.ports {
				want = append(want, q.port())
			}
			if diff := cmp.Diff(want, p.Ports); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
			l, err := p.Link()
			if err != nil {
				t.Fatal(err)
			}
			if len(l.Tasks) != tt.tasks || p.TaskCount != tt.tasks {
				t.Errorf("%d tasks, %d declared; want %d", len(l.Tasks), p.TaskCount, tt.tasks)
			}
			if len(p.Tiles) != tt.tiles || len(p.Relocations) != tt.relocs {
				t.Errorf("%d tiles, %d relocations; want %d, %d", len(p.Tiles), len(p.Relocations), tt.tiles, tt.relocs)
			}
			// The word a relocation names is already relative: the tile's distance
			// from the constants, never its address.
			for i, r := range p.Relocations {
				word := uint64(le.Uint32(p.Text[r.Off:]))
				if r.Kind != SectionRelative || r.Register != 0x1f848+4*uint32(i) || p.BARs[1]+word != p.Tiles[i].Addr {
					t.Errorf("relocation %d: %v of register %#x holds %#x; tile at %#x", i, r.Kind, r.Register, word, p.Tiles[i].Addr)
				}
			}
			for i, tile := range p.Tiles {
				if !tile.Live || tile.Lane != i && tt.file != "sigmoid_w77" {
					t.Errorf("tile %d: %+v", i, tile)
				}
			}
			if len(p.Types) != 10 || p.Types[4] != Float16() {
				t.Errorf("element types %v", p.Types)
			}
			if p.Banner.Compiler != "zin_ane_compiler" || p.Banner.Version != "v4.2.1" || p.Banner.Target != "h13" {
				t.Errorf("banner %q %q for %q", p.Banner.Compiler, p.Banner.Version, p.Banner.Target)
			}
			if diff := cmp.Diff([]string{"net"}, p.Procedures); diff != "" {
				t.Errorf("procedures (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRoundTrip writes what was read, byte for byte.
func TestRoundTrip(t *testing.T) {
	check := func(t *testing.T, name string, file []byte) {
		t.Helper()
		p, err := (&Options{Inspect: true}).Read(name, bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var b bytes.Buffer
		if n, err := p.WriteTo(&b); err != nil || n != int64(len(file)) {
			t.Errorf("%s: wrote %d bytes of %d: %v", name, n, len(file), err)
		}
		if !bytes.Equal(b.Bytes(), file) {
			t.Errorf("%s: the written file differs from the read one", name)
		}
	}
	t.Run("examples", func(t *testing.T) {
		for _, name := range exampleNames() {
			file, err := exampleFile(name)
			if err != nil {
				t.Fatal(err)
			}
			check(t, name, file)
		}
	})
	t.Run("window with a file offset", func(t *testing.T) {
		file, at := identity(t)
		le.PutUint32(file[at["__const"]+segmentSize+48:], 1<<24) // the writer once sliced by it
		check(t, "window", file)
	})
	for _, pattern := range []string{"programs/*.hwx", "programs/text/*.bin", "oracles/*.text.bin"} {
		t.Run(pattern, func(t *testing.T) {
			for _, path := range material.Files(t, pattern) {
				file, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				check(t, filepath.Base(path), file)
			}
		})
	}
}

// TestRewrite holds the writer to the fields: the file is made from them, not kept.
func TestRewrite(t *testing.T) {
	p, err := exampleProgram("identity")
	if err != nil {
		t.Fatal(err)
	}
	file := p.Bytes()
	for _, l := range p.Container.Loads {
		switch l := l.(type) {
		case *PortLoad:
			l.Addr += 0x4000
		case *ProgramLoad:
			l.Tasks, l.BARs[7] = 3, 0x1234
		}
	}
	changed := p.Bytes()
	q, err := Read("changed", bytes.NewReader(changed), int64(len(changed)))
	if err == nil {
		t.Fatalf("ports without windows were read: %v", q.Ports)
	}
	n := 0
	for i := range file {
		if file[i] != changed[i] {
			n++
		}
	}
	// Two addresses of three bytes, a count, two bytes of a buffer.
	if n != 6 {
		t.Errorf("%d bytes changed, want 6", n)
	}
}

// TestTexts links every bare text in windows of its own.
func TestTexts(t *testing.T) {
	files := material.Files(t, "programs/text/*.bin")
	tasks := 0
	for _, path := range files {
		p, err := Open(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		l, err := p.Link()
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		tasks += len(l.Tasks)
		in, out := 0, 0
		for range p.Inputs() {
			in++
		}
		for range p.Outputs() {
			out++
		}
		if in == 0 || out != 1 {
			t.Errorf("%s: %d inputs, %d outputs", path, in, out)
		}
		for _, q := range p.Ports {
			if l.Segment(q.Address, q.Bytes) == nil || q.spanBytes() > q.Bytes {
				t.Errorf("%s: port %s, %#x bytes at %#x, spans %#x", path, q.Name, q.Bytes, q.Address, q.spanBytes())
			}
		}
	}
	if len(files) != 73 || tasks != 104 {
		t.Errorf("%d texts with %d descriptors, want 73 with 104", len(files), tasks)
	}
}
