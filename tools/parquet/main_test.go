package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// header is that of a sweep of one key, c.
const header = "point,program,c,descriptors,cycles,bound,dma_bytes,time_ns,energy_nj,dispatch_energy_nj,macs,tflops,time_ns_low,time_ns_high,error\n"

// sweepRow returns a row of a sweep with the given point and value of c.
func sweepRow(point, c string) string {
	return point + ",relu," + c + ",1,100,compute,64,70.5,4,3,0,0,60,80,\n"
}

// read returns the names of the columns in a Parquet file and the text of its rows.
func read(t *testing.T, file []byte) (names []string, rows [][]string) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Schema().Columns() {
		names = append(names, c[0])
	}
	for _, g := range f.RowGroups() {
		if n := g.NumRows(); n > groupRows {
			t.Errorf("a group has %d rows, want at most %d", n, groupRows)
		}
		r := g.Rows()
		buf := make([]parquet.Row, 16)
		for {
			n, err := r.ReadRows(buf)
			for _, row := range buf[:n] {
				text := make([]string, len(names))
				for _, v := range row {
					switch {
					case v.IsNull():
					case v.Kind() == parquet.Int64:
						text[v.Column()] = "int " + strconv.FormatInt(v.Int64(), 10)
					case v.Kind() == parquet.Double:
						text[v.Column()] = "real " + strconv.FormatFloat(v.Double(), 'g', -1, 64)
					default:
						text[v.Column()] = "word " + string(v.ByteArray())
					}
				}
				rows = append(rows, text)
			}
			if err != nil {
				break
			}
		}
		r.Close()
	}
	return names, rows
}

func TestConvert(t *testing.T) {
	for _, x := range []struct{ values, want []string }{
		{[]string{"4", "-8"}, []string{"int 4", "int -8"}},
		{[]string{"4", "0.5"}, []string{"real 4", "real 0.5"}},
		{[]string{"5e+08", "1e+09"}, []string{"real 5e+08", "real 1e+09"}},
		{[]string{"4", "same"}, []string{"word 4", "word same"}},
		{[]string{"007", "1"}, []string{"word 007", "word 1"}},
		{[]string{"9007199254740993", "1.5"}, []string{"word 9007199254740993", "word 1.5"}},
	} {
		text := header
		for i, v := range x.values {
			text += sweepRow(strconv.Itoa(i), v)
		}
		var out bytes.Buffer
		if err := convertCSV(strings.NewReader(text), &out); err != nil {
			t.Errorf("%q: %v", x.values, err)
			continue
		}
		names, rows := read(t, out.Bytes())
		if want := strings.Split(strings.TrimSpace(header), ","); !slices.Equal(names, want) {
			t.Errorf("columns %q, want %q", names, want)
		}
		for i, want := range x.want {
			full := []string{"int " + strconv.Itoa(i), "word relu", want, "int 1", "int 100", "word compute", "int 64",
				"real 70.5", "real 4", "real 3", "int 0", "real 0", "real 60", "real 80", ""}
			if !slices.Equal(rows[i], full) {
				t.Errorf("%q: row %q, want %q", x.values, rows[i], full)
			}
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":         "line 1: unexpected columns; want a CSV file from anesim sweep",
		"a,b\n1,2": "missing line break after the last row",
		"a,b\n":    "line 1: unexpected columns; want a CSV file from anesim sweep",
		strings.Replace(header, "cycles", "ticks", 1):                "line 1: unexpected columns; want a CSV file from anesim sweep",
		strings.Replace(header, ",c,", ",c,c,", 1):                   `line 1: duplicate column "c"`,
		header + sweepRow("0", "4") + "1,relu\n":                     "line 3: wrong number of fields",
		header + sweepRow("0", "4") + sweepRow("x", "4"):             `line 3: point: invalid value "x"; want an integer`,
		header + strings.Replace(sweepRow("0", "4"), "70.5", "s", 1): `line 2: time_ns: invalid value "s"; want a number`,
	} {
		var out bytes.Buffer
		if err := convertCSV(strings.NewReader(text), &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What the rows are of is a column too.
func TestConvertOrigin(t *testing.T) {
	text := strings.TrimSuffix(header, "\n") + ",origin\n" + strings.TrimSuffix(sweepRow("0", "4"), "\n") + ",chip=m1 seed=1\n"
	var out bytes.Buffer
	if err := convertCSV(strings.NewReader(text), &out); err != nil {
		t.Fatal(err)
	}
	names, rows := read(t, out.Bytes())
	if last := len(names) - 1; names[last] != "origin" || rows[0][last] != "word chip=m1 seed=1" {
		t.Errorf("%q: %q", names, rows)
	}
}

// Rows beyond a group start another one.
func TestConvertGroups(t *testing.T) {
	const n = groupRows + 5
	var b strings.Builder
	b.WriteString(header)
	for i := range n {
		b.WriteString(sweepRow(strconv.Itoa(i), "4"))
	}
	var out bytes.Buffer
	if err := convertCSV(strings.NewReader(b.String()), &out); err != nil {
		t.Fatal(err)
	}
	if _, rows := read(t, out.Bytes()); len(rows) != n || rows[n-1][0] != "int "+strconv.Itoa(n-1) {
		t.Errorf("%d rows, want %d", len(rows), n)
	}
}

// A file and standard input give the same bytes. A failure leaves what was there.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	in, a, b := filepath.Join(dir, "in.csv"), filepath.Join(dir, "a.parquet"), filepath.Join(dir, "b.parquet")
	text := header + sweepRow("0", "4")
	if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(nil, in, a); err != nil {
		t.Fatal(err)
	}
	if err := run(strings.NewReader(text), "-", b); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(b); err != nil || !bytes.Equal(first, second) {
		t.Errorf("standard input gives other bytes than a file: %v", err)
	}
	if err := run(nil, in, in); err == nil || !strings.Contains(err.Error(), "would overwrite input") {
		t.Errorf("the input as output: %v", err)
	}
	if err := run(strings.NewReader("a\n"), "", a); err == nil || !strings.Contains(err.Error(), "standard input: line 1") {
		t.Errorf("no sweep: %v", err)
	}
	if again, err := os.ReadFile(a); err != nil || !bytes.Equal(first, again) {
		t.Errorf("a failure changed the output: %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 3 {
		t.Errorf("%d files, want 3: %v", len(list), err)
	}
}

// The command's own sweeps convert, those with an area, refused points and words too.
func TestSweepConverts(t *testing.T) {
	cmd := exec.Command("go", "run", "./tools/anesim", "sweep", "conv", "cin=16,20000,70000", "cout=16..64*2", "h=8", "w=8", "k=1,3",
		"pad=same", "chip.Clock=0.5e9,1e9", "--area", "Engines")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := convertCSV(bytes.NewReader(text), &out); err != nil {
		t.Fatal(err)
	}
	want, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	names, rows := read(t, out.Bytes())
	if !slices.Equal(names, want[0]) || len(rows) != len(want)-1 {
		t.Fatalf("columns %q with %d rows, want %q with %d", names, len(rows), want[0], len(want)-1)
	}
	refused := 0
	for i, row := range rows {
		for k, text := range row {
			kind, value, _ := strings.Cut(text, " ")
			if x, err := strconv.ParseFloat(want[i+1][k], 64); err == nil && kind == "real" {
				if got, err := strconv.ParseFloat(value, 64); err != nil || got != x {
					t.Errorf("row %d, %s: %s, want %v", i, names[k], value, x)
				}
			} else if value != want[i+1][k] {
				t.Errorf("row %d, %s: %q, want %q", i, names[k], value, want[i+1][k])
			}
		}
		if row[len(row)-2] != "" {
			refused++
		}
	}
	if refused == 0 || refused == len(rows) {
		t.Errorf("%d of %d points are refused, want some", refused, len(rows))
	}
}

func FuzzConvert(f *testing.F) {
	f.Add(header + sweepRow("0", "4") + sweepRow("1", "same"))
	f.Add(header)
	f.Add(strings.Replace(header, "c,", "c,area,", 1) + "0,x,1,2,,,,,,,,,,,,refused\n")
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		if err := convertCSV(strings.NewReader(text), &out); err == nil {
			read(t, out.Bytes())
		}
	})
}
