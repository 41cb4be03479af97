package command

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/evidence"
)

// A chip that is written and given again changes nothing; one with another clock does.
func TestChipFiles(t *testing.T) {
	text, errs, code := invoke("chip", "m1")
	if code != exitDone {
		t.Fatal(errs)
	}
	file := filepath.Join(t.TempDir(), "my.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	time := func(chip string) string {
		out, errs, code := invoke("layer", "conv", "cin=64", "h=8", "w=8", "cout=64", "k=1", "--timing-only", "--csv", "--chip", chip)
		if code != exitDone {
			t.Fatal(errs)
		}
		return out
	}
	write(text)
	if got, want := time(file), time("m1"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if again, errs, code := invoke("chip", file); code != exitDone || again != text {
		t.Errorf("exit %d: %s\n%s", code, errs, again)
	}
	write(strings.Replace(text, "value: 4e+10", "value: 2e+10", 1))
	changed := strings.Contains(text, "value: 4e+10")
	if !changed {
		i := strings.Index(text, "  Clock:")
		at := i + strings.Index(text[i:], "value: ")
		end := at + strings.Index(text[at:], "\n")
		write(text[:at] + "value: 1e+9" + text[end:])
	}
	if time(file) == time("m1") {
		t.Error("another constant changes no figure")
	}
	write("name: x\ntarget: h13\n")
	for _, tc := range []struct{ chip, want string }{
		{file, `my.yaml: key "constants" is missing or not a mapping`}, {"m3", `unknown chip "m3"; want m1, m1max or a14`},
		{filepath.Dir(file), "is a directory"}, {"none.yaml", "no such file"},
	} {
		if _, errs, code := invoke("run", "--chip", tc.chip); code == exitDone || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: exit %d: %s", tc.chip, code, errs)
		}
	}
}

// A chip's constant is an axis like a layer's key, and its figures are those of the chip
// with that constant.
func TestSweepChipConstants(t *testing.T) {
	rows := sweepRows(t, "conv", "cin=64", "h=56", "w=56", "cout=64", "chip.Clock=0.5e9,1.428e9", "k=1", "chip.ReadRate=20e9..60e9+20e9")
	if len(rows) != 7 || rows[0][7] != "chip.Clock" && !strings.Contains(strings.Join(rows[0], " "), "chip.Clock k chip.ReadRate") {
		t.Fatalf("%q", rows)
	}
	var at int
	for i, name := range rows[0] {
		if name == "time_ns" {
			at = i
		}
	}
	seen := map[string]bool{}
	for _, row := range rows[1:] {
		seen[row[at]] = true
	}
	if len(seen) < 4 {
		t.Errorf("times %v", seen)
	}
	front := sweepRows(t, "conv", "cin=64", "h=56", "w=56", "cout=64,128", "k=1,3", "chip.ReadRate=20e9..60e9+20e9", "--pareto", "time,chip.ReadRate")
	if n := len(front); n < 3 || n > 4 {
		t.Errorf("%q", front)
	}
	for _, row := range front[1:] {
		if row[5] != "64" || row[6] != "1" {
			t.Errorf("%q is on the front: more work is never faster", row)
		}
	}
	for _, tc := range []struct{ args, want string }{
		{"conv cin=3 cout=1 chip.Clok=1e9", "Clok: unknown constant; did you mean Clock?"},
		{"conv cin=3 cout=1 chip.Clock=fast", `chip.Clock: "fast" is not a finite number`},
		{"conv cin=3 cout=1 chip.Clock=1", "Clock: 1 Hz is out of range"},
		{"conv cin=3 cout=1 chip.Clock=NaN", "is not a finite number"},
		{"conv cin=3 cout=1 chip.Clock=1e9..2e9", "want FROM..TO+STEP"},
		{"conv cin=3 cout=1 chip.Clock=1e9..2e9+0", "invalid range"},
		{"conv cin=3 cout=1 --pareto time", "want two or more"},
		{"conv cin=3 cout=1 --pareto time,speed", "unknown goal"},
		{"conv cin=3 cout=1 --pareto time,time", "duplicate goal"},
		{"conv cin=3 cout=1 --pareto time,energy --resume x.csv", "mutually exclusive"},
		{"conv cin=3 cout=1 --workers 4611686018427387904", "want 1 to 4096"},
		{"conv cin=3 cout=1 --workers 0", "want 1 to 4096"},
		{"conv cin=3 cout=1 --shard 1/9223372036854775807", "more than 268435456 parts"},
		{"conv cin=3 cout=1 --shard 1/92233720368547758070", "want I/N"},
	} {
		_, errs, code := invoke(append([]string{"sweep"}, strings.Fields(tc.args)...)...)
		if code != exitUsage || !strings.Contains(errs, tc.want) {
			t.Errorf("sweep %s: exit %d\n got %swant %s", tc.args, code, errs, tc.want)
		}
	}
	if _, errs, code := invoke("sweep", "conv", "cin=3", "cout=1", "--resume", "/dev/zero"); code != exitFailed || !strings.Contains(errs, "not a regular file") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// An override, a chip file, a sweep and an engine made in Go refuse the same values with the
// same words.
func TestChipBoundsAreTheSameEverywhere(t *testing.T) {
	preset, _, _ := invoke("chip", "m1")
	for _, tc := range []struct {
		name, value string
		want        string
	}{
		{"Clock", "0", "Clock: 0 Hz is out of range; want 1e+06 to 1e+11"},
		{"Clock", "5e+11", "Clock: 5e+11 Hz is out of range; want 1e+06 to 1e+11"},
		{"Engines", "24", "Engines: 24 engines is out of range; want at most 16 or a multiple of 16, the number of weight streams"},
		{"MACs", "0.5", "MACs: 0.5 MACs/engine is out of range; want 1 to 65536"},
		{"PatchPixels", "1e+09", "PatchPixels: 1e+09 pixels is out of range; want 1 to 65536"},
		{"L2Bytes", "4194304", "L2Bytes: 4.194304e+06 B is out of range; want 1024 to 2.097152e+06: an L2 register counts 16-byte units in 17 bits"},
		{"L2Banks", "2.5", "L2Banks: 2.5 banks is not a whole number"},
		{"TransposeRate", "0", "TransposeRate: 0 elements/cycle is out of range; want 0.001 to 65536"},
		{"KernelOverlap", "2", "KernelOverlap: 2 1 is out of range; want 0 to 1"},
	} {
		_, flag, _ := invoke("layer", "relu", "c=4", "--chip", "m1,"+tc.name+"="+tc.value)

		key := "\n  " + tc.name + ":\n    value: "
		before, after, ok := strings.Cut(preset, key)
		_, after, ok2 := strings.Cut(after, "\n")
		if !ok || !ok2 {
			t.Fatalf("the chip file has no %s", tc.name)
		}
		file := writeFile(t, "chip.yaml", []byte(before+key+tc.value+"\n"+after))
		_, inFile, _ := invoke("layer", "relu", "c=4", "--chip", file)

		_, swept, _ := invoke("sweep", "relu", "c=4", "chip."+tc.name+"="+tc.value)

		o := engine.Options{Chip: hw.M1()}
		v, err := strconv.ParseFloat(tc.value, 64)
		if err != nil {
			t.Fatal(err)
		}
		k := reflect.ValueOf(&o.Chip).Elem().FieldByName(tc.name).Addr().Interface().(*evidence.Constant)
		k.Value = v
		_, err = o.WithDefaults()

		for how, got := range map[string]string{"--chip": flag, "file": inFile, "sweep": swept, "engine.Options": fmt.Sprint(err, "\n")} {
			if !strings.HasSuffix(strings.TrimSpace(got), ": "+tc.want) {
				t.Errorf("%s=%s by %s: %s\nwant it to end in %q", tc.name, tc.value, how, got, tc.want)
			}
		}
	}
}

// Layers are lowered for the chip's scratchpad. On a smaller one than a program was made for
// what does not fit is a fault with its place; one that descriptors cannot address is refused.
func TestChipScratchpad(t *testing.T) {
	t.Parallel()
	grid := []string{"conv", "cin=256", "cout=512", "h=56", "w=56", "k=3", "pad=same"}
	rows := sweepRows(t, append(grid, "chip.L2Bytes=1048576,2097152")...)
	failed := slices.Index(rows[0], "error")
	if rows[1][failed] != "" || rows[2][failed] != "" || slices.Equal(rows[1][3:], rows[2][3:]) {
		t.Errorf("%q", rows[1:])
	}
	file := filepath.Join(t.TempDir(), "conv.hwx")
	if _, errs, code := invoke(append(append([]string{"layer"}, grid...), "--emit", file)...); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	rows = sweepRows(t, file, "chip.L2Bytes=1048576,2097152")
	failed = slices.Index(rows[0], "error")
	if why := rows[1][failed]; !strings.Contains(why, "device fault: descriptor 0, l2") || !strings.Contains(why, "L2 has 0x100000 bytes") {
		t.Errorf("%q", why)
	}
	if why := rows[2][failed]; why != "" {
		t.Errorf("%q", why)
	}
	if _, errs, code := invoke(append(append([]string{"sweep"}, grid...), "chip.L2Bytes=4194304")...); code != exitUsage || !strings.Contains(errs, "an L2 register counts 16-byte units in 17 bits") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
