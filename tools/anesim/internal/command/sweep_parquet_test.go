package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// tableRows reads a Parquet file back as the text of its rows.
func tableRows(t *testing.T, name string) (header []string, rows [][]string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range f.Schema().Columns() {
		header = append(header, column[0])
	}
	for _, g := range f.RowGroups() {
		r := g.Rows()
		buf := make([]parquet.Row, 16)
		for {
			n, err := r.ReadRows(buf)
			for _, row := range buf[:n] {
				text := make([]string, len(header))
				for _, v := range row {
					switch {
					case v.IsNull():
					case v.Kind() == parquet.Int64:
						text[v.Column()] = strconv.FormatInt(v.Int64(), 10)
					case v.Kind() == parquet.Double:
						text[v.Column()] = number(v.Double())
					default:
						text[v.Column()] = string(v.ByteArray())
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
	return header, rows
}

// The Parquet file has the rows of the CSV, with types, whichever way it is made and however
// many points run at a time.
func TestSweepParquet(t *testing.T) {
	dir := t.TempDir()
	args := []string{"sweep", "conv", "cin=16,20000,70000", "cout=16..64*2", "h=8", "w=8", "k=1,3", "pad=same", "chip.Clock=0.5e9,1e9", "--area", "Engines"}
	direct, merged := filepath.Join(dir, "direct.parquet"), filepath.Join(dir, "merged.parquet")
	if out, errs, code := invoke(append(args, "--parquet", direct, "--workers", "7")...); code != exitDone || out != "" {
		t.Fatal(out, errs)
	}
	whole, errs, code := invoke(args...)
	if code != exitDone {
		t.Fatal(errs)
	}
	var files []string
	for _, s := range []string{"1/3", "2/3", "3/3"} {
		file := filepath.Join(dir, s[:1]+".csv")
		if _, errs, code := invoke(append(args, "--shard", s, "--resume", file)...); code != exitDone {
			t.Fatal(errs)
		}
		files = append(files, file)
	}
	if out, errs, code := invoke(append([]string{"sweep", "merge", "--parquet", merged}, files...)...); code != exitDone || out != "" {
		t.Fatal(out, errs)
	}
	a, err := os.ReadFile(direct)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(merged)
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("merged and direct differ: %v", err)
	}
	want := records(t, whole)
	header, rows := tableRows(t, direct)
	if !slices.Equal(header, want[0]) {
		t.Fatalf("%q\nwant %q", header, want[0])
	}
	if len(rows) != len(want)-1 {
		t.Fatalf("%d rows, want %d", len(rows), len(want)-1)
	}
	refused := 0
	for i, row := range rows {
		if v, err := strconv.ParseFloat(want[i+1][8], 64); err != nil || number(v) != row[8] {
			t.Errorf("clock %s, want %s", row[8], want[i+1][8])
		}
		row[8] = want[i+1][8] // 5e+08 and 500000000 are the same number
		if !slices.Equal(row, want[i+1]) {
			t.Errorf("%q\nwant %q", row, want[i+1])
		}
		if row[len(row)-1] != "" {
			refused++
		}
	}
	if refused == 0 || refused == len(rows) {
		t.Errorf("%d of %d rows are refused", refused, len(rows))
	}
	for _, more := range [][]string{{"--resume", filepath.Join(dir, "x.csv")}, {"--pareto", "time,energy"}} {
		if _, errs, code := invoke(append(append(slices.Clone(args), "--parquet", direct), more...)...); code != exitUsage || !strings.Contains(errs, "mutually exclusive") {
			t.Errorf("%q: exit %d: %s", more, code, errs)
		}
	}
	if _, errs, code := invoke("sweep", "merge", files[0], "--parquet", files[0]); code == exitDone || !strings.Contains(errs, "is the input") {
		t.Errorf("exit %d: %s", code, errs)
	}
	before := len(a)
	if _, _, code := invoke("sweep", "merge", files[0], "--parquet", direct); code == exitDone {
		t.Error("a shard alone is merged")
	}
	if a, err := os.ReadFile(direct); err != nil || len(a) != before {
		t.Errorf("what failed changed the file: %v", err)
	}
}

func TestKindOf(t *testing.T) {
	for text, want := range map[string]columnKind{
		"1 -2 16": integers, "1 1.5": reals, "2e+10 5": reals, "same": words, "1 same": words, "007": words, "0x10": words, "nan": words,
		"9007199254740993 1.5": words,
	} {
		for _, list := range [][]string{strings.Fields(text), slices.Sorted(slices.Values(strings.Fields(text)))} {
			if got := kindOf(slices.Values(list)); got != want {
				t.Errorf("%q: %d, want %d", list, got, want)
			}
		}
	}
}

// More rows than a group holds make several.
func TestTableGroups(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.parquet")
	s := &sweep{workloads: []workload{{name: "relu"}}, grid: grid{{"c", []string{"4"}}}}
	table, err := newTable(name, s.header(), s.kinds())
	if err != nil {
		t.Fatal(err)
	}
	const n = groupRows + 5
	for i := range n {
		if err := table.add([]string{strconv.Itoa(i), "relu", "4", "1", "2", "compute", "3", "1.5", "2.5", "0", "0", "0.25", "1", "2", ""}); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.finish(); err != nil {
		t.Fatal(err)
	}
	if _, rows := tableRows(t, name); len(rows) != n || rows[n-1][0] != strconv.Itoa(n-1) {
		t.Errorf("%d rows", len(rows))
	}
	if table, err = newTable(name, s.header(), s.kinds()); err != nil {
		t.Fatal(err)
	}
	defer table.abort()
	for _, bad := range [][]string{{"x"}, {"1", "relu", "four"}} {
		if err := table.add(append(bad, make([]string, 15-len(bad))...)); err == nil || !strings.Contains(err.Error(), "is not a whole number") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
