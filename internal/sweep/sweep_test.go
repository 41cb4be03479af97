package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
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
		c.countDesign([]float64{float64(i)})
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

// To continue a file, its first and its last row are computed again and compared: each once, even if
// they are the same.
func TestResumeComparesEachRowOnce(t *testing.T) {
	header := []string{"point", "cycles", originColumn}
	label := func(row int) []string { return []string{strconv.Itoa(row)} }
	for rows := range 4 {
		f, err := os.Create(filepath.Join(t.TempDir(), "rows.csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		row := func(i int) []string { return append(label(i), "10", "here") }
		text := formatCSVLine(header)
		for i := range rows {
			text = append(text, formatCSVLine(row(i))...)
		}
		if _, err := f.Write(text); err != nil {
			t.Fatal(err)
		}
		want := slices.Compact([]int{0, max(0, rows-1)})
		if rows == 0 {
			want = nil
		}
		for _, changed := range append([]int{-1}, want...) {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			var computed []int
			out := NewOutput(io.Discard, header)
			err := out.Resume(f, 4, "here", label, func(i int) ([]string, error) {
				computed = append(computed, i)
				r := row(i)
				if i == changed {
					r[1] = "11"
				}
				return r, nil
			})
			if changed < 0 && (err != nil || !slices.Equal(computed, want) || out.Rows != rows) {
				t.Errorf("%d rows: computed %v, %v; want %v", rows, computed, err, want)
			}
			if changed >= 0 && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("line %d is from another build", changed+2))) {
				t.Errorf("%d rows, %d has other cycles now: %v; want an error", rows, changed, err)
			}
		}
	}
}

// A design whose goals are not finite numbers is on no front, and makes no other design leave it.
func TestFrontOfFiniteGoals(t *testing.T) {
	header := append([]string{"point", "program"}, resultColumns[:]...)
	row := func(time, energy string) []string {
		r := make([]string, len(header))
		for i, name := range header {
			switch name {
			case "time_ns":
				r[i] = time
			case "energy_nj":
				r[i] = energy
			}
		}
		return r
	}
	for _, bad := range [][2]string{{"NaN", "1"}, {"1", "NaN"}, {"-Inf", "1"}, {"1", "-Inf"}, {"+Inf", "1"}, {"1", "1e999"}, {"", "1"}} {
		f, err := NewFront("time,energy", header, 1)
		if err != nil {
			t.Fatal(err)
		}
		f.Add(row("5", "5"))
		f.Add(row(bad[0], bad[1]))
		f.Add(row("4", "6"))
		var rows bytes.Buffer
		out := NewOutput(&rows, header)
		if err := errors.Join(f.Write(out), out.Finish()); err != nil {
			t.Fatal(err)
		}
		if n, p := strings.Count(rows.String(), "\n")-1, f.Plane(); n != 2 || len(p.Best) != 2 || p.Of != 2 {
			t.Errorf("with time and energy %q: %d rows, %+v; want the other two designs", bad, n, p)
		}
	}
}
