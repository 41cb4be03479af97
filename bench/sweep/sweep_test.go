package sweep

import (
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"anesim"
	"anesim/hw"
	"anesim/hw/chip"
)

func TestExpand(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"5", "5"}, {"same", "same"}, {"1,3,1", "1 3 1"}, {"1..4", "1 2 3 4"}, {"-2..1", "-2 -1 0 1"},
		{"16..60+16", "16 32 48"}, {"64..512*2", "64 128 256 512"}, {"0x10..0x12", "16 17 18"}, {"1,4..5,9", "1 4 5 9"},
		{"3..1", ""}, {"1..", ""}, {"0..8*2", ""}, {"1..8*1", ""}, {"1..8+0", ""}, {"1..8+-1", ""}, {"a..b", ""}, {",1", ""},
		{"0..1000000", ""}, {"1..9999999999999", ""},
	} {
		a, err := parseAxis("k=" + tc.in)
		if got := strings.Join(a.values, " "); err == nil && got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s: %q, %v, want %q", tc.in, got, err, tc.want)
		}
	}
}

func TestExpression(t *testing.T) {
	c := hw.M1()
	for text, want := range map[string]float64{
		"3": 3, " 2 + 3*4 - 1": 13, "-2*Engines": -32, "1e-3*MACs*Engines+.5": 4.596, "1e+2": 100, "Engines-Engines": 0,
	} {
		e, err := parseExpression(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := e.evaluate(&c); got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
}

// A cloud keeps at most maxCloud designs, evenly sampled.
func TestCloud(t *testing.T) {
	var c cloud
	const n = 5*maxCloud + 3
	for i := range n {
		c.addDesign([]float64{float64(i)})
	}
	if c.seen != n || len(c.points) > maxCloud || len(c.points) < maxCloud/2 {
		t.Fatalf("%d of %d", len(c.points), c.seen)
	}
	for i, p := range c.points {
		if p[0] != float64(i*c.step) {
			t.Fatalf("point %d is number %v, the step %d", i, p[0], c.step)
		}
	}
}

// Constants that take fractions are accepted, even with a range inside of one unit; constants
// that take whole numbers are refused.
func TestParseKnob(t *testing.T) {
	for _, word := range []string{"chip.KernelOverlap=0.85..1", "chip.KernelOverlap=0.9..0.95", "chip.TransposeRate=1..2", "chip.TransposeRate=65535..65536", "chip.Clock=1e9..2e9"} {
		if _, err := parseKnob(word); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
	for _, word := range []string{"chip.Engines=8..16", "chip.L2Banks=1..2", "chip.L2Banks=63.5..64"} {
		if _, err := parseKnob(word); err == nil {
			t.Errorf("%s: accepted", word)
		}
	}
}

// BenchmarkSweepPoint times a convolution's row, from its keys to its line of CSV.
func BenchmarkSweepPoint(b *testing.B) {
	s := newTestSweep(b, "conv", "cin=16..1600+16", "cout=16..1600+16", "h=14,28", "w=7,14,28", "k=1,3", "pad=same")
	t, err := s.newTimer()
	if err != nil {
		b.Fatal(err)
	}
	n, err := s.grid.countPoints()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := io.Discard.Write(formatCSVLine(t.timeRow(i * 7919 % n))); err != nil {
			b.Fatal(err)
		}
	}
}

func newTestSweep(t testing.TB, words ...string) *Sweep {
	t.Helper()
	c, err := chip.ByName(chip.Default)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(&Description{Words: words, Options: anesim.Options{Chip: c, Seed: 1, Repeat: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A second writer cannot open a file of rows.
func TestOpenRowsTwice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are not locked on Windows")
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	held, err := OpenRows(file)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := OpenRows(file); !errors.Is(err, errLocked) {
		t.Errorf("opened twice: %v", err)
	}
}
