package sweep

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anesim/hw"
)

// The shards of a grid have every point exactly once.
func FuzzGridShards(f *testing.F) {
	f.Add("cin=1..5", "k=1,3,5", "2/3")
	f.Add("chip.Clock=1e9..2e9+1e8", "h=64..512*2", "1/1")
	f.Add("w=-3..3", "x=same", "7/7")
	f.Add("w=0..1000000", "k=..", "0/0")
	f.Add("chip.A=1e-300..1*1.0000001", "k=5..1", "1/9223372036854775807")
	f.Fuzz(func(t *testing.T, first, second, part string) {
		if len(first)+len(second) > 64 {
			return // every item of a list may be a range of as many values as an axis has
		}
		var g grid
		for _, s := range []string{first, second} {
			a, err := parseAxis(s)
			if err != nil {
				return
			}
			if len(a.values) == 0 || len(a.values) > maxValues {
				t.Fatalf("%q has %d values", s, len(a.values))
			}
			g = append(g, a)
		}
		n, err := g.countPoints()
		if err != nil || n > 1<<12 {
			return
		}
		s, err := ParseShard(part)
		if err != nil || s.n > 1<<10 {
			return
		}
		var seen []int
		for i := 1; i <= s.n; i++ {
			each := Shard{i, s.n}
			for k := range each.Points(n) {
				seen = append(seen, each.Point(k))
			}
		}
		slices.Sort(seen)
		for i, p := range seen {
			if p != i {
				t.Fatalf("point %d stands at %d of %d", p, i, n)
			}
		}
		if len(seen) != n {
			t.Fatalf("%d points of %d", len(seen), n)
		}
	})
}

// Resume either refuses a file and leaves it unchanged, or leaves only complete rows of this
// sweep in it.
func FuzzResume(f *testing.F) {
	header := []string{"point", "program", "c", "error", "origin"}
	label := func(row int) []string { return []string{string(rune('0' + row)), "relu", "16"} }
	whole := append(formatCSVLine(header), formatCSVLine(append(label(0), "", "chip=m1"))...)
	whole = append(whole, formatCSVLine(append(label(1), `a, "b"`, "chip=m1"))...)
	for cut := range len(whole) + 1 {
		f.Add(whole[:cut])
	}
	f.Add([]byte("\n"))
	f.Add([]byte("point,program\n\"\n"))
	f.Add(bytes.Repeat([]byte("x"), 1<<17))
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "rows.csv")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		file, err := OpenRows(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		o := &Output{header: header}
		err = o.Resume(file, 9, "chip=m1", label, func(row int) ([]string, error) { return label(row), nil })
		left, e := os.ReadFile(name)
		if e != nil {
			t.Fatal(e)
		}
		if err != nil {
			if !bytes.Equal(left, data) {
				t.Errorf("refused and changed: %q to %q", data, left)
			}
			return
		}
		if !bytes.HasPrefix(data, left) || len(left) > 0 && left[len(left)-1] != '\n' || o.Rows > 9 {
			t.Errorf("%d rows in %q of %q", o.Rows, left, data)
		}
	})
}

// Merge either merges files in the order of the points, or returns an error and writes nothing.
// ReadStatus and ReadFront do not panic on the same files.
func FuzzMerge(f *testing.F) {
	header := "point,program,c," + strings.Join(resultColumns[:], ",") + "\n"
	row := func(point, value string) string {
		return point + ",relu," + value + ",1,100,compute,64,70,40000,40000,0,0,60,80,,chip=m1 points=3\n"
	}
	f.Add(header+row("0", "4")+row("2", "6"), header+row("1", "5"))
	f.Add(header+row("0", "4"), header)
	f.Add(header+row("0", "4")+"1,relu", header+row("1", "5"))
	f.Add(header+row("1", "4")+row("0", "5"), "")
	f.Add(header+row("0", "4")+row("1", "\"a\nb\""), header+row("3", "5"))
	f.Add(strings.Replace(header, "c,", "c,area,", 1), header)
	f.Fuzz(func(t *testing.T, first, second string) {
		dir := t.TempDir()
		names := []string{filepath.Join(dir, "1.csv"), filepath.Join(dir, "2.csv")}
		for i, text := range []string{first, second} {
			if err := os.WriteFile(names[i], []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		if err := Merge(&out, names, 0); err != nil {
			if out.Len() > 0 {
				t.Errorf("%v, and %q is written", err, out.String())
			}
		} else if lines := strings.Count(out.String(), "\n"); lines < 2 || !strings.Contains(first, out.String()[:strings.Index(out.String(), "\n")]) {
			t.Errorf("%q of %q and %q", out.String(), first, second)
		}
		for _, s := range ReadStatus(names, 0) {
			s.State(s.Points(len(names)), time.Now())
		}
		if front, err := ReadFront("time,energy", 1, names); err == nil {
			front.Write(NewOutput(io.Discard, front.Header))
		}
	})
}

// An expression is parsed and evaluated, or refused with an error.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{"2 + 0.003*Engines*MACs", "-1e-3*Clock", "1e+2", "3*", "MACs Engines", ".", "e", "2--1", "L2Bytes*L2Bytes*L2Bytes*L2Bytes"} {
		f.Add(s)
	}
	c := hw.M1()
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseExpression(text)
		if err == nil && (len(*e) == 0 || len(*e) > maxTerms) {
			t.Errorf("%q has %d terms", text, len(*e))
		}
		if err == nil {
			e.evaluate(&c)
		}
	})
}
