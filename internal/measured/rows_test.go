package measured

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"anesim/internal/material"
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
	if len(rows) != 130 {
		t.Errorf("%d rows", len(rows))
	}
}

// The built-in rows are those of the published collection, where it stands beside the
// checkout. Names of machines and sources are shorter.
func TestRowsAreThoseOfTheCollection(t *testing.T) {
	want, err := ReadCSV(bytes.NewReader(material.Read(t, "measured/m1_public.csv")))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	// The source of these two withdrew their times: they are of a model with other weights.
	withdrawn := []string{"r0199", "r0202"}
	want = slices.DeleteFunc(want, func(r Row) bool { return slices.Contains(withdrawn, r.ID) })
	for i := range want {
		want[i].Weights = strings.ReplaceAll(want[i].Weights, " ", "_")
	}
	// The others have collections of their own.
	got = slices.DeleteFunc(got, func(r Row) bool { return !slices.ContainsFunc(want, func(w Row) bool { return w.ID == r.ID }) })
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Row{}, "Machine", "Source", "Clock", "Unexplained")); d != "" {
		t.Errorf("rows differ (-collection +ours):\n%s", d)
	}
}

// Rows of another collection, whose columns are its own, have its latencies.
func TestRowsAreThoseOfTheNetworks(t *testing.T) {
	records, err := csv.NewReader(bytes.NewReader(material.Read(t, "measured/networks.csv"))).ReadAll()
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
		{"", "line 1: missing header line"},
		{"id,op\n", `line 1: missing column "latency_us"`},
		{"op,latency_us,M\nmatmul,1,x\n", `line 2: M: strconv.Atoi: parsing "x": invalid syntax`},
		{"op,latency_us,M\nmatmul,1,-1\n", "line 2: M: dimension -1 is out of range; want 0 to 16777216"},
		{"op,latency_us\nmatmul,NaN\n", "line 2: latency_us: invalid measurement NaN"},
		{"op,latency_us\n\"matmul,1\n", "parse error"},
	} {
		if _, err := ReadCSV(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

// endless gives the same line for ever.
type endless struct{ line string }

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.line)
	}
	return n, nil
}

// A file without an end is refused, whether it has lines or not.
func TestReadCSVIsBounded(t *testing.T) {
	for _, line := range []string{"x", "\x00", "\n", "relu,5\n", "\""} {
		_, err := ReadCSV(io.MultiReader(strings.NewReader("op,latency_us\n"), endless{line}))
		var e *RowError
		want := "file exceeds 16777216 bytes"
		if strings.HasPrefix(line, "relu") {
			want = "file has more than 65536 rows"
		}
		if !errors.As(err, &e) || e.What != want {
			t.Errorf("%q for ever: %v", line, err)
		}
	}
	long := "op,latency_us\n" + strings.Repeat("relu,5\n", maxRows)
	long += strings.Repeat("\n", maxBytes-len(long))
	if rows, err := ReadCSV(strings.NewReader(long)); err != nil || len(rows) != maxRows {
		t.Errorf("a file of the most bytes and rows: %d rows, %v", len(rows), err)
	}
}

// Whatever a file says, reading it gives rows that a line of rows could give, or an error.
func FuzzReadCSV(f *testing.F) {
	f.Add("op,latency_us\nrelu,5\n")
	f.Add("tier,id,chip,machine,op,N,M,K,latency_us,iter_us,energy_mj,notes\nT0-engine,a,M1,\"x,y\",relu,1,2,3,4,5,6,\"a \"\"b\"\"\"\n")
	f.Add("\ufeffop,latency_us,M\nmatmul,1e400,9999999999\n")
	f.Add("op,latency_us,dram_bytes\nx,NaN,-1\n")
	f.Add("op,latency_us\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ReadCSV(strings.NewReader(text))
		if err != nil && rows != nil {
			t.Errorf("%d rows with %v", len(rows), err)
		}
		for _, r := range rows {
			for _, n := range []int{r.N, r.Cin, r.H, r.W, r.Cout, r.Kh, r.Kw, r.Stride, r.Groups, r.M, r.K, r.Cols, r.Depth} {
				if n < 0 || n > maxDimension {
					t.Errorf("a dimension of %d in %+v", n, r)
				}
			}
			for _, v := range []float64{r.Latency, r.Sustained, r.Power, r.Energy, r.GFLOPS} {
				if !(v >= 0 && v <= math.MaxInt64) {
					t.Errorf("%v in %+v", v, r)
				}
			}
		}
	})
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"a\tb\n", "line 1: row has 2 fields; want 11"},
		{"a\tT0\tM1\tx\tconv\t\t-\t-\t-\t-\ts1\n", `line 1: unknown source "s1"; want a name from an earlier "source" line`},
		{"source\ts1\tx\na\tT0\tM1\tx\tconv\tq=1\t-\t-\t-\t-\ts1\n", "line 2: q: unknown key"},
		{"source\ts1\tx\na\tT0\tM1\tx\tconv\tn=q\t-\t-\t-\t-\ts1\n", "line 2: n: "},
		{"source\ts1\tx\na\tT0\tM1\tx\tconv\t\tz\t-\t-\t-\ts1\n", "line 2: field 7: "},
	} {
		if _, err := parseRows(tt.text); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.text, err, tt.want)
		}
	}
}

// The rows of later machines name their machine and the software of a call.
func TestLaterRows(t *testing.T) {
	rows, err := LaterRows()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, r := range rows {
		if r.ID == "" || seen[r.ID] || r.Op == "" || r.Chip == "" || r.Path == "" || r.Latency <= 0 || r.Source == "" {
			t.Errorf("row %+v", r)
		}
		seen[r.ID] = true
	}
	if len(rows) != 375 {
		t.Errorf("%d rows", len(rows))
	}
}
