package command

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim/hw"
	"anesim/loader/lower"
)

// The shards of a grid have every point once, whatever the axes and the number of shards.
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
		n, err := g.points()
		if err != nil || n > 1<<12 {
			return
		}
		s, err := parseShard(part)
		if err != nil || s.n > 1<<10 {
			return
		}
		var seen []int
		for i := 1; i <= s.n; i++ {
			each := shard{i, s.n}
			for k := range each.points(n) {
				seen = append(seen, each.point(k))
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

// A file that rows are to be written behind is another's and stays as it is, or is left
// with complete rows of this sweep alone.
func FuzzResume(f *testing.F) {
	header := []string{"point", "program", "c", "error"}
	label := func(row int) []string { return []string{string(rune('0' + row)), "relu", "16"} }
	whole := append(csvLine(header), csvLine(append(label(0), ""))...)
	whole = append(whole, csvLine(append(label(1), `a, "b"`))...)
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
		file, err := openRows(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		o := &sweepOutput{header: header}
		err = o.resume(file, 9, label)
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
		if !bytes.HasPrefix(data, left) || len(left) > 0 && left[len(left)-1] != '\n' || o.rows > 9 {
			t.Errorf("%d rows in %q of %q", o.rows, left, data)
		}
	})
}

// Files of rows are merged to a sweep's whole, in the order of the points, or refused with
// nothing written; whatever they are, status and front say so and do not fall over.
func FuzzMerge(f *testing.F) {
	header := "point,program,c," + strings.Join(resultColumns[:], ",") + "\n"
	row := func(point, value string) string {
		return point + ",relu," + value + ",1,100,compute,64,70,40000,40000,0,0,60,80,\n"
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
		if err := merge(&out, names, 0); err != nil {
			if out.Len() > 0 {
				t.Errorf("%v, and %q is written", err, out.String())
			}
		} else if lines := strings.Count(out.String(), "\n"); lines < 2 || !strings.Contains(first, out.String()[:strings.Index(out.String(), "\n")]) {
			t.Errorf("%q of %q and %q", out.String(), first, second)
		}
		status := statusFlags{points: 3}
		status.run(io.Discard, names)
		front := frontFlags{programs: 1}
		front.run(io.Discard, "time,energy", names)
	})
}

// An expression has a value or is refused.
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
			e.value(&c)
		}
	})
}

// Raw fp16 values are read whole, in whatever pieces.
func FuzzRawTensor(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add([]byte{0, 0x3c, 1}, uint16(0))
	f.Add([]byte{0, 0x3c, 0xff, 0x7b}, uint16(40000))
	f.Fuzz(func(t *testing.T, data []byte, more uint16) {
		data = append(data, make([]byte, more)...)
		name := filepath.Join(t.TempDir(), "x.f16")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		got, shape, err := readTensor(name)
		if odd := len(data)%2 != 0; odd != (err != nil) || shape != nil {
			t.Fatalf("%d bytes: %v, shape %v", len(data), err, shape)
		}
		for i, v := range got {
			if uint16(v) != binary.LittleEndian.Uint16(data[2*i:]) {
				t.Fatalf("value %d of %d is %#x", i, len(got), uint16(v))
			}
		}
		if err == nil && len(got) != len(data)/2 {
			t.Errorf("%d values of %d bytes", len(got), len(data))
		}
	})
}

// Whatever the arguments are, the command ends with one of its codes, and with an error on
// one line where it has one. Commands that take long whatever they are given, and those that
// could write outside the directory, are left out.
func FuzzArguments(f *testing.F) {
	for _, line := range []string{
		"", "--help", "run", "run x.hwx --json", "run x.hwx --set PE.Cfg.OpMode=1 --counters", "run x.hwx --repeat 3 --idle 1ms --host linux --csv",
		"layer relu c=4 h=2 w=2", "layer conv cin=3 cout=5 h=7 w=9 k=3 pad=1 --emit y.hwx", "layer conv cin=-1", "layer", "layer relu c=4 --in x=x.hwx",
		"dump x.hwx", "dump --json --all x.hwx x.hwx", "dump --text --procedure net x.hwx", "enum fp16", "enum 0x3f", "chip m1", "chip m1max",
		"patch x.hwx --set PE.Cfg.OpMode=1 -o y.hwx", "convert x.hwx -o y.anec", "diff x.hwx x.hwx", "check --baseline b.json --update x.hwx",
		"check --baseline b.json --max 2% x.hwx --junit j.xml", "asm x.hwx -o y.hwx", "model n.yaml --dim a=4", "run -", "run --chip x.hwx", "help run",
		"run x.hwx --gate-tiles 0-3,7 --power-budget 1.5", "run x.hwx --bind a=1", "run --in a=b=c", "run 4-in a=bc", "run x.hwx --pprof p --trace t --html h",
	} {
		f.Add(line)
	}
	program, err := lower.Example("add")
	if err != nil {
		f.Fatal(err)
	}
	allowed := []string{"", "run", "layer", "dump", "enum", "chip", "patch", "convert", "diff", "check", "asm", "model", "help", "--help", "-h"}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Fields(line)
		if len(args) > 0 && !slices.Contains(allowed, args[0]) || strings.ContainsAny(line, "/\\") || len(line) > 200 {
			return
		}
		if len(args) > 0 && (args[0] == "layer" || args[0] == "run" || args[0] == "model") {
			args = append(args, "--timing-only")
		}
		t.Chdir(t.TempDir())
		for name, data := range map[string][]byte{"x.hwx": program, "n.yaml": []byte("inputs:\n  x: {c: 4}\nlayers:\n  - {op: relu}\n")} {
			if err := os.WriteFile(name, data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var errs strings.Builder
		switch code := Main(args, io.Discard, &errs); code {
		case exitDone:
		case exitFailed, exitUsage:
			// A line for each file that fails, and how many when there are several.
			text := errs.String()
			lines := slices.Collect(strings.Lines(text))
			whole := func(l string) bool { return strings.HasPrefix(l, "anesim: ") && strings.HasSuffix(l, "\n") }
			if len(lines) == 0 || code == exitFailed && (len(lines) > len(args)+1 || slices.ContainsFunc(lines, func(l string) bool { return !whole(l) })) {
				t.Errorf("%q: exit %d with %q", args, code, text)
			}
		default:
			t.Errorf("%q: exit %d", args, code)
		}
	})
}
