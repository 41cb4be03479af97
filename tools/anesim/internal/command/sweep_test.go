package command

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/internal/report"
)

func sweepRows(t *testing.T, args ...string) [][]string {
	t.Helper()
	out, errs, code := invoke(append([]string{"sweep"}, args...)...)
	if code != exitDone {
		t.Fatalf("sweep %v: exit %d: %s", args, code, errs)
	}
	return records(t, out)
}

func records(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Rows come in the grid's order however many points run at a time, and say what layer
// says.
func TestSweepLayers(t *testing.T) {
	args := []string{"conv", "cin=16,32", "cout=16..64*2", "h=8", "w=8", "k=1,3", "pad=same", "--workers"}
	one, many := sweepRows(t, append(args, "1")...), sweepRows(t, append(args, "7")...)
	if d := cmp.Diff(one, many); d != "" {
		t.Errorf("one worker and seven (-one +seven):\n%s", d)
	}
	if len(one) != 1+2*3*2 {
		t.Fatalf("%d rows", len(one))
	}
	if d := cmp.Diff([]string{"8", "conv", "32", "32", "8", "8", "1", "same"}, one[9][:8]); d != "" {
		t.Errorf("point 8 (-want +got):\n%s", d)
	}
	r := runLayer(t, "conv", "cin=32", "cout=32", "h=8", "w=8", "k=1", "pad=same", "--timing-only")
	if got := one[9][slices.Index(one[0], "time_ns")]; got != report.Number(r.Total.TimeNs) {
		t.Errorf("%s ns, layer says %v", got, r.Total.TimeNs)
	}
}

func TestSweepRegistersOfAProgram(t *testing.T) {
	rows := sweepRows(t, example(t, "add"), "--set", "PE.Cfg.OpMode=0..2", "--set", "Common.TileCfg.TileHeight=1,2")
	if len(rows) != 7 || rows[0][2] != "PE.Cfg.OpMode" || rows[4][2] != "1" || rows[4][3] != "2" {
		t.Errorf("%q", rows)
	}
}

// Points that are refused are rows with the reason.
func TestSweepRefusals(t *testing.T) {
	rows := sweepRows(t, "transpose", "w=16,20000", "--set", "Common.TileCfg.TileHeight=1")
	last := len(rows[0]) - 2
	if rows[1][last] != "" || !strings.Contains(rows[2][last], "width: found 20000; want at most 16384") || rows[2][4] != "" {
		t.Errorf("%q", rows)
	}
}

// Shards together are the whole; a file that was cut off is completed.
func TestSweepShardsAndResume(t *testing.T) {
	args := []string{"sweep", "add", "c=16,32,48", "h=1..3", "w=8"}
	whole, _, _ := invoke(args...)
	var parts [][]string
	for _, s := range []string{"1/4", "2/4", "3/4", "4/4"} {
		parts = append(parts, sweepRows(t, append(args[1:], "--shard", s)...)[1:]...)
	}
	rows := records(t, whole)[1:]
	for _, row := range rows {
		if !slices.ContainsFunc(parts, func(p []string) bool { return slices.Equal(p, row) }) {
			t.Errorf("no shard has %q", row)
		}
	}
	if len(parts) != len(rows) {
		t.Errorf("%d rows in shards, %d in all", len(parts), len(rows))
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	for _, cut := range []int{0, 5, len(whole) / 2, len(whole) - 1, len(whole)} {
		if err := os.WriteFile(file, []byte(whole[:cut]), 0o666); err != nil {
			t.Fatal(err)
		}
		if out, errs, code := invoke(append(args, "--resume", file)...); code != exitDone || out != "" {
			t.Fatalf("cut at %d: exit %d: %s%s", cut, code, errs, out)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(whole, string(got)); d != "" {
			t.Errorf("cut at %d (-whole +resumed):\n%s", cut, d)
		}
	}
	old := strings.ReplaceAll(regexp.MustCompile(`(?m),[^,\n]*$`).ReplaceAllString(whole, ""), "\r", "")
	for _, command := range [][]string{append(args, "--resume"), {"sweep", "merge"}, {"sweep", "front", "time,energy"}} {
		name := writeFile(t, "old.csv", []byte(old))
		if _, errs, code := invoke(append(command, name)...); code != exitFailed || !strings.Contains(errs, `missing column "origin"`) {
			t.Errorf("%q of a file without origins: exit %d: %s", command[:2], code, errs)
		}
	}
	_, errs, code := invoke("sweep", "add", "c=16", "h=1..3", "w=9", "--resume", file)
	if code != exitFailed || !strings.Contains(errs, "line 2 does not match this sweep") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// A build that was not made of a commit has no name. --resume takes rows only if this build computes
// the first and the last of them as well, and leaves the file as it is otherwise.
func TestSweepOfAnotherBuild(t *testing.T) {
	args := []string{"sweep", "add", "c=16,32,48", "h=8", "w=8"}
	whole, errs, code := invoke(args...)
	if code != exitDone {
		t.Fatal(errs)
	}
	lines := strings.SplitAfter(whole, "\n")
	for line := range 3 {
		rows := slices.Clone(lines[:3])
		if line > 0 {
			cells := strings.Split(rows[line], ",")
			cycles := slices.Index(strings.Split(lines[0], ","), "cycles")
			cells[cycles] += "0"
			rows[line] = strings.Join(cells, ",")
		}
		file := writeFile(t, "rows.csv", []byte(strings.Join(rows, "")))
		_, errs, code := invoke(append(args, "--resume", file)...)
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if line == 0 {
			if code != exitDone || string(got) != whole {
				t.Errorf("exit %d: %s", code, errs)
			}
			continue
		}
		if want := fmt.Sprintf("line %d is from another build of anesim: cycles ", line+1); code != exitFailed || !strings.Contains(errs, want) || string(got) != strings.Join(rows, "") {
			t.Errorf("exit %d: %s", code, errs)
		}
	}
}

// An area that is not finite is an error of its row, and no design.
func TestSweepAreaIsFinite(t *testing.T) {
	for _, area := range []string{"1e308*1e308", "1e308*1e308 - 1e308*1e308"} {
		args := []string{"sweep", "add", "c=16,32", "h=8", "w=8", "--area", area}
		out, _, code := invoke(args...)
		if code != exitDone || strings.Count(out, "want a finite number") != 2 || strings.Contains(out, ",NaN,") || strings.Contains(out, ",+Inf,") {
			t.Errorf("%s: exit %d: %s", area, code, out)
		}
		if out, _, _ := invoke(append(args, "--pareto", "time,area")...); strings.Count(out, "\n") != 1 {
			t.Errorf("%s: front %s", area, out)
		}
	}
}

// Rows of another chip, other constants or settings are neither gone on with nor merged, and
// the message names what differs with both values.
func TestSweepOrigins(t *testing.T) {
	grid := []string{"sweep", "conv", "cin=16,32", "cout=16", "h=8", "w=8", "k=1"}
	net := writeFile(t, "net.yaml", []byte(smallNet))
	other := []struct {
		args []string
		want []string
	}{
		{[]string{"--chip", "m1,Clock=1e9"}, []string{"chip m1,Clock=1e+09 here, m1 there", "constants "}},
		{[]string{"--chip", "m1max"}, []string{"chip m1max here, m1 there"}},
		{[]string{"--gate-tiles", "0-3"}, []string{"gate-tiles 0xf here, none there"}},
		{[]string{"--seed", "7"}, []string{"seed 7 here, 1 there"}},
	}
	for _, tc := range other {
		dir := t.TempDir()
		first, second := filepath.Join(dir, "1.csv"), filepath.Join(dir, "2.csv")
		for i, file := range []string{first, second} {
			args := append(slices.Clone(grid), "--shard", strconv.Itoa(i+1)+"/2", "--resume", file)
			if i == 1 {
				args = append(args, tc.args...)
			}
			if _, errs, code := invoke(args...); code != exitDone {
				t.Fatalf("%q: %s", tc.args, errs)
			}
		}
		_, merged, code := invoke("sweep", "merge", first, second)
		_, resumed, again := invoke(append(append(slices.Clone(grid), "--shard", "1/2", "--resume", first), tc.args...)...)
		if code != exitFailed || again != exitFailed {
			t.Errorf("%q: merge exits with %d, --resume with %d", tc.args, code, again)
		}
		for _, want := range tc.want {
			if !strings.Contains(merged, want) || !strings.Contains(resumed, want) {
				t.Errorf("%q: want %s in\n%s%s", tc.args, want, merged, resumed)
			}
		}
	}
	// A file that is another meanwhile, and another area of the same name.
	rows := filepath.Join(t.TempDir(), "rows.csv")
	args := []string{"sweep", net, "chip.Engines=8,16", "--area", "2 + Engines", "--resume", rows}
	if _, errs, code := invoke(args...); code != exitDone {
		t.Fatal(errs)
	}
	args[4] = "3 + Engines"
	if _, errs, code := invoke(args...); code != exitFailed || !strings.Contains(errs, "area 3+Engines here, 2+Engines there") {
		t.Errorf("exit %d: %s", code, errs)
	}
	args[4] = "2 + Engines"
	if err := os.WriteFile(net, []byte(strings.Replace(smallNet, "relu", "sigmoid", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := invoke(args...); code != exitFailed || !strings.Contains(errs, "files ") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestSweepErrors(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"", "missing operation or file"},
		{"convolve cin=3", `unknown file or operation "convolve"`},
		{"conv cin=3 cout=1 dilations=2", "conv: dilations: unknown key; conv has"},
		{"conv cin=3 cin=4 cout=1", `duplicate axis "cin"`},
		{"conv cin=8..4 cout=1", `cin: invalid range "8..4"`},
		{"conv cin=3 cout=1 --shard 0/2", `--shard: malformed shard "0/2"; want I/N`},
		{"conv cin=3 cout=1 --set X=1", `override "X=1"`},
		{"relu c=1..60000 h=1..60000", "grid has more than 268435456 points"},
	} {
		_, errs, code := invoke(append([]string{"sweep"}, strings.Fields(tc.args)...)...)
		if code != exitUsage || !strings.HasPrefix(errs, "anesim: "+tc.want) {
			t.Errorf("sweep %s: exit %d\n got %swant %s", tc.args, code, errs, tc.want)
		}
	}
}
