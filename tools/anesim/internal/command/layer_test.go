package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim/internal/network/keys"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/npy"
)

// runLayer runs a layer and returns its report.
func runLayer(t *testing.T, args ...string) report.Run {
	t.Helper()
	out, errs, code := invoke(append([]string{"layer", "--json"}, args...)...)
	if code != exitDone {
		t.Fatalf("layer %v: exit %d: %s", args, code, errs)
	}
	var r report.Run
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// Every operation runs with the smallest line that names it, and gives values where the
// device computes them.
func TestLayerOperations(t *testing.T) {
	lines := map[string]string{
		"conv": "cin=4 cout=4 h=4 w=4 k=3 pad=same", "deconv": "cin=4 cout=4 h=4 w=4 k=3 stride=2", "matmul": "m=4 k=8 n=4", "linear": "m=4 k=8 n=4 bias=true act=relu",
		"tile": "c=16 h=1 w=4 reps=1x1x4x1", "reduce": "c=4 h=4 w=4 kind=mean", "concat": "parts=4+4 h=4 w=4", "slice": "c=8 h=4 w=4 begin=2 size=4",
		"pool": "c=4 h=4 w=4 kind=avg k=2 stride=2", "layernorm": "h=4 w=16",
	}
	for _, op := range keys.Names() {
		line, ok := lines[op]
		if !ok {
			line = "c=16 h=4 w=4"
		}
		r := runLayer(t, append([]string{op}, strings.Fields(line)...)...)
		if len(r.Outputs) != 1 || r.Total.Cycles == 0 {
			t.Errorf("%s %s: %+v", op, line, r)
		}
	}
}

func TestLayerKeys(t *testing.T) {
	for _, tc := range []struct {
		line string
		out  [4]int
		macs uint64
	}{
		{"conv cin=3 h=224 w=224 cout=8 k=7 stride=2 pad=3 --timing-only", [4]int{}, 8 * 112 * 112 * 3 * 49},
		{"conv cin=8 h=9 w=9 groups=cin k=3 pad=same stride=2", [4]int{1, 8, 5, 5}, 8 * 25 * 9},
		{"conv cin=8 h=9 w=9 cout=4 kh=1 kw=3 pad=valid", [4]int{1, 4, 9, 7}, 4 * 63 * 24},
		{"matmul m=8 k=16 n=4 c=3 rhs=runtime", [4]int{1, 3, 8, 4}, 3 * 8 * 16 * 4},
		{"reduce c=4 h=4 w=8 kind=sum axis=w", [4]int{1, 4, 4, 1}, 0},
		{"transpose c=4 w=8", [4]int{1, 8, 1, 4}, 0},
	} {
		r := runLayer(t, strings.Fields(tc.line)...)
		if len(r.Outputs) > 0 && !slices.Equal(r.Outputs[0].Shape, tc.out[:]) {
			t.Errorf("%s: result %v, want %v", tc.line, r.Outputs[0].Shape, tc.out)
		}
		if r.Total.MACs != tc.macs {
			t.Errorf("%s: %d MACs, want %d", tc.line, r.Total.MACs, tc.macs)
		}
	}
}

func TestLayerErrors(t *testing.T) {
	for _, tc := range []struct {
		line string
		code int
		want string
	}{
		{"", exitUsage, "missing operation; want one of conv deconv matmul"},
		{"convolution", exitUsage, `unknown operation "convolution"; want one of conv deconv matmul`},
		{"conv cin=4 cout=4 dilations=2", exitUsage, "conv: dilations: unknown key; conv has keys n cin h w cout k kh kw"},
		{"conv cin=4 cout=x", exitUsage, `conv: cout: invalid value "x"; want an integer from 1 to`},
		{"conv cin=4", exitUsage, "conv: cout: missing key; conv has"},
		{"conv cin=4 cout", exitUsage, "conv: cout: missing key or value; want key=value"},
		{"conv cin=4 cin=5 cout=4", exitUsage, "conv: cin: duplicate key"},
		{"conv cin=4 cout=4 pad=full", exitUsage, `conv: pad: invalid value "full"; want same, valid, one number, or top,bottom,left,right`},
		{"softmax c=4 axis=n", exitUsage, `softmax: axis: invalid value "n"; want distinct axes from c, h and w`},
		{"conv cin=4 cout=4 k=3", exitFailed, "conv: window of 3x3 taps is larger than the padded input of 1x1"},
		{"conv cin=4 h=20000 w=3 cout=4 k=3", exitFailed, "conv: height: found 20000; want at most 16384; split it"},
		{"transpose w=20000", exitFailed, "transpose: width: found 20000; want at most 16384; split it"},
		{"relu c=4 --in weights=x.npy --seed x", exitUsage, `--seed "x": want a whole number from 0 to 2^64-1`},
	} {
		_, errs, code := invoke(append([]string{"layer"}, strings.Fields(tc.line)...)...)
		if code != tc.code || !strings.HasPrefix(errs, "anesim: "+tc.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("layer %s: exit %d, want %d\n got %swant %s", tc.line, code, tc.code, errs, tc.want)
		}
	}
}

// A layer uses the given weights and inputs, and the program that --emit writes gives the same
// results.
func TestLayerGivenValues(t *testing.T) {
	half := func(v ...float32) (h []float16.Float16) {
		for _, x := range v {
			h = append(h, float16.Fromfloat32(x))
		}
		return h
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "layer.hwx")
	x := writeNPY(t, []int{1, 2, 1, 1}, half(1, 10))
	args := []string{
		"conv", "cin=2", "cout=2", "bias=true", "--in", "x=" + x, "--out", dir, "--emit", program,
		"--in", "weights=" + writeNPY(t, []int{2, 2, 1, 1}, half(1, 2, 3, 4)),
		"--in", "bias=" + writeNPY(t, []int{2}, half(0.5, -0.5)),
	}
	runLayer(t, args...)
	check := func() {
		t.Helper()
		f, err := os.Open(filepath.Join(dir, "y.npy"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, _ := f.Stat()
		a, err := npy.Read(f, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(half(21.5, 42.5), a.Data); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	check()
	if err := os.Remove(filepath.Join(dir, "y.npy")); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := invoke("run", program, "--in", "x="+x, "--out", dir); code != exitDone {
		t.Fatal(errs)
	}
	check()
	_, errs, code := invoke("layer", "conv", "cin=2", "cout=4", "--in", "weights="+x)
	if code != exitFailed || !strings.Contains(errs, "found 2 elements; want 8") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// Timing does not depend on whether values are computed.
func TestLayerTimingIsThatOfValues(t *testing.T) {
	for _, line := range []string{"conv cin=8 cout=32 h=16 w=16 k=3 stride=2 pad=1", "matmul m=8 k=64 n=32"} {
		a := runLayer(t, strings.Fields(line)...)
		b := runLayer(t, append(strings.Fields(line), "--timing-only")...)
		if a.Total != b.Total {
			t.Errorf("%s: %+v with values, %+v without", line, a.Total, b.Total)
		}
	}
}

func TestLayerHelp(t *testing.T) {
	out, _, code := invoke("layer", "-h")
	for _, want := range []string{"  add, sub, mul, max, min, real_div, average\n", "    groups ", "  softmax\n", "--emit OUT.hwx"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the help", want)
		}
	}
	if code != exitDone {
		t.Error(code)
	}
}
