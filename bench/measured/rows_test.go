package measured

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRows(t *testing.T) {
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, r := range rows {
		if r.ID == "" || r.Op == "" || r.Chip == "" || r.Machine == "" || seen[r.ID] {
			t.Errorf("row %+v", r)
		}
		seen[r.ID] = true
	}
	if len(rows) != 128 {
		t.Errorf("%d rows", len(rows))
	}
}

// The built-in rows are those of the published collection, where it stands beside the
// checkout. Names of machines and sources are shorter.
func TestRowsAreThoseOfTheCollection(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "measured", "m1_public.csv"))
	if err != nil {
		t.Skip("no collection beside the checkout:", err)
	}
	defer f.Close()
	want, err := ReadCSV(f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i].Weights = strings.ReplaceAll(want[i].Weights, " ", "_")
	}
	got = got[:min(len(got), len(want))] // the others have a collection of their own
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Row{}, "Machine", "Source")); d != "" {
		t.Errorf("rows differ (-collection +ours):\n%s", d)
	}
}

// Rows of another collection, whose columns are its own, have its latencies.
func TestRowsAreThoseOfTheNetworks(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "measured", "networks.csv"))
	if err != nil {
		t.Skip("no collection beside the checkout:", err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index(records[0], "latency_us")
	found := 0
	for _, record := range records[1:] {
		i := slices.IndexFunc(rows, func(r Row) bool { return r.ID == record[0] })
		if i < 0 {
			continue // a network
		}
		found++
		if got := strconv.FormatFloat(rows[i].Latency, 'f', -1, 64); got != record[column] {
			t.Errorf("%s: %s us, published %s", record[0], got, record[column])
		}
	}
	if found < 4 {
		t.Errorf("%d rows of the collection", found)
	}
}

func TestCold(t *testing.T) {
	for _, tt := range []struct {
		latency, sustained float64
		cold               bool
		warm               float64
	}{{100, 0, false, 100}, {100, 120, false, 100}, {120, 100, true, 100}, {0, 100, false, 0}} {
		r := Row{Latency: tt.latency, Sustained: tt.sustained}
		if r.Cold() != tt.cold || r.Warm() != tt.warm {
			t.Errorf("%v us, sustained %v: cold %v, warm %v", tt.latency, tt.sustained, r.Cold(), r.Warm())
		}
	}
}

func TestReadCSVErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "line 1: no header line"},
		{"id,op\n", `line 1: no column "latency_us"`},
		{"op,latency_us,M\nmatmul,1,x\n", `line 2: M: strconv.Atoi: parsing "x": invalid syntax`},
		{"op,latency_us,M\nmatmul,1,-1\n", "line 2: M: -1 is not in 0 to 16777216"},
		{"op,latency_us\nmatmul,NaN\n", "line 2: latency_us: NaN is not a measurement"},
		{"op,latency_us\n\"matmul,1\n", "parse error"},
	} {
		if _, err := ReadCSV(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"a\tb\n", "line 1: 2 fields, want 11"},
		{"a\tT0\tM1\tx\tconv\t\t-\t-\t-\t-\ts1\n", `line 1: source "s1" is not listed`},
		{"source\ts1\tx\na\tT0\tM1\tx\tconv\tq=1\t-\t-\t-\t-\ts1\n", "line 2: q: no such word"},
		{"source\ts1\tx\na\tT0\tM1\tx\tconv\tn=q\t-\t-\t-\t-\ts1\n", "line 2: n: "},
		{"source\ts1\tx\na\tT0\tM1\tx\tconv\t\tz\t-\t-\t-\ts1\n", "line 2: field 7: "},
	} {
		if _, err := parse(tt.text); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
}
