package command

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const smallNet = "inputs: {x: {c: 16, h: 8, w: 8}}\nlayers:\n- {op: conv, cout: 32, k: 3, pad: 1}\n- {op: relu}\n"

// A network, a layer with its keys and a chip's constants make one grid: the programs
// change fastest, and each row is what the command for one of them says.
func TestSweepPrograms(t *testing.T) {
	net := filepath.Join(t.TempDir(), "net.yaml")
	if err := os.WriteFile(net, []byte(smallNet), 0o666); err != nil {
		t.Fatal(err)
	}
	const layer = "matmul m=64 k=64 n=64"
	args := []string{net, layer, "chip.Engines=8,16", "chip.ReadRate=20e9,60e9", "--area", "1 + 0.5*Engines"}
	rows := sweepRows(t, args...)
	if len(rows) != 1+2*4 {
		t.Fatalf("%d rows", len(rows))
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	for i, row := range rows[1:] {
		if row[0] != strconv.Itoa(i) || row[1] != []string{net, layer}[i%2] || row[column("error")] != "" {
			t.Errorf("%q", row)
		}
		if want := map[string]string{"8": "5", "16": "9"}[row[2]]; row[column("area")] != want {
			t.Errorf("area %s of %s engines", row[column("area")], row[2])
		}
	}
	chip := filepath.Join(t.TempDir(), "chip.yaml")
	text, _, _ := invoke("chip", "m1")
	text = strings.Replace(text, "value: 16\n    unit: engines", "value: 8\n    unit: engines", 1)
	if err := os.WriteFile(chip, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	out, errs, code := invoke("sweep", net, "chip.ReadRate=20e9", "--chip", chip)
	if code != exitDone {
		t.Fatal(errs)
	}
	figures := func(row []string) []string { return row[:len(row)-1] } // without what timed them
	if got, want := figures(records(t, out)[1][3:]), figures(rows[1][5:]); !slices.Equal(got, want) {
		t.Errorf("a file with 8 engines: %q\nan axis of 8: %q", got, want)
	}
}

// What of a network is not modelled is said in its row.
func TestSweepNetworkInPart(t *testing.T) {
	net := filepath.Join(t.TempDir(), "net.yaml")
	if err := os.WriteFile(net, []byte("inputs: {x: {c: 16, h: 8, w: 20000}}\nlayers:\n- {op: pool, k: 3, pad: 1, name: wide}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	rows := sweepRows(t, net, "chip.Engines=16")
	if why := rows[1][len(rows[1])-2]; !strings.Contains(why, "1 of 1 layer not modelled, wide: ") {
		t.Errorf("%q", why)
	}
}

// The front over several programs is that of their sums, in the sweep and of its rows in
// shards, and no design outside it is better than one on it in all goals.
func TestSweepFrontOfPrograms(t *testing.T) {
	dir := t.TempDir()
	args := []string{"sweep", "conv cin=64 h=14 w=14 cout=64 k=1", "matmul m=64 k=256 n=64", "chip.Engines=4,8,16,32", "chip.ReadRate=10e9..60e9+10e9", "--area", "Engines + 1e-10*ReadRate"}
	picture := filepath.Join(dir, "front.svg")
	front, errs, code := invoke(append(args, "--pareto", "time,area,energy", "--plot", picture)...)
	if code != exitDone {
		t.Fatal(errs)
	}
	if b, err := os.ReadFile(picture); err != nil || !strings.Contains(string(b), "of 24 designs") || !strings.Contains(string(b), "area") {
		t.Errorf("the picture: %v, %d bytes", err, len(b))
	}
	var files []string
	for _, s := range []string{"2/3", "1/3", "3/3"} {
		file := filepath.Join(dir, s[:1]+".csv")
		if _, errs, code := invoke(append(args, "--shard", s, "--resume", file)...); code != exitDone {
			t.Fatal(errs)
		}
		files = append(files, file)
	}
	again, errs, code := invoke(append([]string{"sweep", "front", "time,area,energy", "--programs", "2"}, files...)...)
	if code != exitDone || again != front {
		t.Errorf("of the rows: %s%s\nof the sweep: %s", errs, again, front)
	}
	all, _, _ := invoke(args...)
	rows := records(t, all)
	value := func(row []string, name string) float64 {
		v, err := strconv.ParseFloat(row[slices.Index(rows[0], name)], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	names := []string{"time_ns", "area", "energy_nj"}
	var designs [][]float64
	for i := 1; i < len(rows); i += 2 {
		designs = append(designs, []float64{value(rows[i], names[0]) + value(rows[i+1], names[0]), value(rows[i], names[1]), value(rows[i], names[2]) + value(rows[i+1], names[2])})
	}
	best := records(t, front)[1:]
	if len(best) < 4 || len(best) >= len(designs) {
		t.Errorf("%d of %d designs", len(best), len(designs))
	}
	for _, b := range best {
		for _, d := range designs {
			if d[0] < value(b, names[0])*(1-1e-8) && d[1] < value(b, names[1]) && d[2] < value(b, names[2])*(1-1e-8) {
				t.Errorf("%v is better than %q", d, b)
			}
		}
	}
}

func TestSweepProgramErrors(t *testing.T) {
	net := filepath.Join(t.TempDir(), "net.yaml")
	if err := os.WriteFile(net, []byte(smallNet), 0o666); err != nil {
		t.Fatal(err)
	}
	grid := []string{"relu", "c=16", "h=8", "w=8"}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{net, "cin=3"}, `unexpected key "cin=3" for a network`},
		{[]string{net, "relu c=4", "cin=3"}, `unexpected key "cin=3" with several programs; quote each operation together with its keys`},
		{[]string{"relu c=4", "h=3"}, "quote the operation together with all its keys"},
		{[]string{net, "relu"}, "missing keys for operation relu; with several programs, quote each operation with its keys, such as 'relu c=64"},
		{[]string{net, net}, "duplicate program"},
		{[]string{net, "chip.Clock=1e9", net}, "want programs before keys"},
		{[]string{"relu cc=4", net}, `"relu cc=4": relu: cc: unknown key`},
		{append(grid, "--area", "2*Engine"), "--area: Engine: unknown constant; did you mean Engines or"},
		{append(grid, "--area", "2*"), "want a number or a chip constant"},
		{append(grid, "--area", "2 Engines"), "want +, - or *"},
		{append(grid, "--area", "1e999"), "is not a finite number"},
		{append(grid, "--pareto", "time,area"), "requires --area"},
		{append(grid, "--pareto", "time,chip.Clock"), "unknown goal"},
		{append(grid, "--plot", "x.svg"), "--plot requires --pareto"},
		{append(grid, "--pareto", "time,energy", "--plot", "x.gif"), "ends in .svg"},
		{append(grid, "--pareto", "time,energy", "--shard", "1/2"), "mutually exclusive"},
	} {
		_, errs, code := invoke(append([]string{"sweep"}, tc.args...)...)
		if code != exitUsage || !strings.Contains(errs, tc.want) {
			t.Errorf("%q: exit %d: %swant %s", tc.args, code, errs, tc.want)
		}
	}
}
