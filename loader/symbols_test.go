package loader

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShapeSymbol(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Shape
		ok   bool
	}{
		{"image:t11=ar1;0;1;12=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;77;15=s2w:5",
			Shape{"image", [4]int{1, 3, 1, 77}, [4]uint64{192, 64, 64, 2}, 5}, true},
		{"a:t1:t11=ar1;0;1;12=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;77;15=s2w:16",
			Shape{"a:t1", [4]int{1, 3, 1, 77}, [4]uint64{192, 64, 64, 2}, 16}, true},
		{"image:t11=ar1;0;1;12=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:5", Shape{}, false},
		{"image:t11=ar1;0;0;12=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;77;15=s2w:5", Shape{}, false},
		{"image:t11=ar1;0;131072;12=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;77;15=s2w:5", Shape{}, false},
		{"image:t11=ar1;0;1;12=s192c:ar1;0;3;13=s64n:ar1;0;1;14=s64h:ar1;0;77;15=s2w:5", Shape{}, false},
		{"image:t11=ar1;0;1;12=s-2n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;77;15=s2w:5", Shape{}, false},
		{"image:t11=ar2;0;1;12=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;77;15=s2w:5", Shape{}, false},
		{"image:t11=ar1;0;1=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;77;15=s2w:5", Shape{}, false},
		{"image:t11=ar1;0;1;12=s192n:ar1;0;3;13=s64c:ar1;0;1;14=s64h:ar1;0;77;15=s2w:half", Shape{}, false},
		{"image", Shape{}, false},
		{":t11=", Shape{}, false},
		{"image:tt=", Shape{}, false},
	} {
		got, ok := (&Symbol{Name: tt.text, Type: symbolShape}).parseShape()
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q: %+v, %v; want %+v, %v", tt.text, got, ok, tt.want, tt.ok)
		}
		if !ok {
			continue
		}
		if again, ok := (&Symbol{Name: got.formatSymbol(30), Type: symbolShape}).parseShape(); !ok || again != got {
			t.Errorf("%q reads as %+v", got.formatSymbol(30), again)
		}
	}
}

func TestTileSymbol(t *testing.T) {
	const digest = "2DBE6976FEB616E6867A2E3853FC37D0F101C4C51BA4A80C103359643338C0C1"
	for _, tt := range []struct {
		s    Symbol
		want Tile
		ok   bool
	}{
		{Symbol{Name: "K" + digest + "_ne_12", Type: 0xf, Desc: 2, Value: 0x40}, Tile{digest, 12, 0x40, true}, true},
		// The empty tile of an unused lane stands at the section's end.
		{Symbol{Name: "K" + digest + "_ne_4", Type: 0xf, Desc: 0, Value: 0x80}, Tile{digest, 4, 0x80, false}, true},
		{Symbol{Name: "K" + digest, Type: 0xf, Desc: 2}, Tile{digest, -1, 0, true}, true},
		{Symbol{Name: "K" + digest + "_ne_16", Type: 0xf}, Tile{}, false},
		{Symbol{Name: "K" + digest + "_ne_", Type: 0xf}, Tile{}, false},
		{Symbol{Name: "K" + digest + "_ne_1", Type: 0x20}, Tile{}, false},
		{Symbol{Name: "Kz" + digest[1:] + "_ne_1", Type: 0xf}, Tile{}, false},
		{Symbol{Name: "Kernel", Type: 0xf}, Tile{}, false},
	} {
		got, ok := tt.s.parseTile()
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", tt.s.Name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestElementSymbol(t *testing.T) {
	p, err := exampleProgram("identity")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(listKnownElementTypes(), p.Types); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
	for _, name := range []string{"float16", "float16:t5", "float16:tx=1", "float16:t0=1"} {
		if e, ok := (&Symbol{Name: name, Type: symbolElement}).parseElementType(); ok {
			t.Errorf("%q is %+v", name, e)
		}
	}
}

// TestShapeSource takes a port's shape from its operation, or from its window, when no
// symbol has it.
func TestShapeSource(t *testing.T) {
	file, at := identity(t)
	for i := at["symbols"]; i < at["strings"]; i += symbolSize {
		if SymbolType(file[i+4]) == symbolShape {
			file[i+4] = 0
		}
	}
	p, err := Read("no shapes", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	want := [4]uint64{128, 128, 128, 2}
	if q := p.Ports[0]; q.Shape != [4]int{1, 1, 1, 64} || q.Strides != want || q.Type != Float16() {
		t.Errorf("from the operation: %+v", q)
	}
	le.PutUint32(file[at["op t0"]+8:], 2)
	le.PutUint32(file[at["op t2"]+8:], 2)
	p, err = Read("no operations", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range []Direction{Input, Output} {
		if q := p.Ports[i]; q.Direction != d || q.Shape != [4]int{1, 1, 1, 64} || q.Strides != want {
			t.Errorf("from the window: %+v", q)
		}
	}
}

func TestBanner(t *testing.T) {
	b := parseBanner("ANEC v1\nzin_ane_compiler v4.2.1\n\t-t h13\n\t--memcache-strategy=\n\t--memcache-size=4194304\n\t-i a b\n")
	want := []Flag{{"-t", "h13"}, {"--memcache-strategy", ""}, {"--memcache-size", "4194304"}, {"-i", "a b"}}
	if diff := cmp.Diff(want, b.Flags); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	if b.Compiler != "zin_ane_compiler" || b.Version != "v4.2.1" || b.Target != "h13" {
		t.Errorf("banner %+v", b)
	}
}
