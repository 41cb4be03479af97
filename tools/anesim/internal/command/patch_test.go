package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

// TestPatchWeights replaces the weights and biases of convolutions of every dense layout
// and compares with the program that has them from the start.
func TestPatchWeights(t *testing.T) {
	values := func(n, seed int) []float16.Float16 {
		v := make([]float16.Float16, n)
		for i := range v {
			v[i] = float16.Fromfloat32(float32((i*7+seed)%97)/8 - 6)
		}
		return v
	}
	for _, tt := range []struct {
		name  string
		layer layer.Layer
	}{
		{"dense 3x3 with bias", layer.Layer{Op: layer.Convolution, In: layer.Shape{N: 1, C: 16, H: 8, W: 8}, Cout: 48, Window: layer.Valid(3, 1), Bias: true}},
		{"few channels", layer.Layer{Op: layer.Convolution, In: layer.Shape{N: 1, C: 4, H: 4, W: 4}, Cout: 5, Window: layer.Valid(1, 1), Bias: true}},
		{"depthwise", layer.Layer{Op: layer.Convolution, In: layer.Shape{N: 1, C: 32, H: 8, W: 8}, Cout: 32, Groups: 32, Window: layer.Valid(3, 1)}},
		{"grouped", layer.Layer{Op: layer.Convolution, In: layer.Shape{N: 1, C: 32, H: 8, W: 8}, Cout: 64, Groups: 2, Window: layer.Valid(3, 1), Bias: true}},
		{"zero-skipping", layer.Layer{Op: layer.Convolution, In: layer.Shape{N: 1, C: 16, H: 8, W: 8}, Cout: 64, Window: layer.Valid(1, 2), Bias: true}},
		{"matrix product", layer.Layer{Op: layer.Linear, In: layer.Shape{N: 1, C: 1, H: 4, W: 64}, Columns: 96}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			per := tt.layer.In.W
			n := tt.layer.Columns
			if tt.layer.Op == layer.Convolution {
				n, per = tt.layer.Cout, tt.layer.In.C/max(1, tt.layer.Groups)*tt.layer.Window.Kh*tt.layer.Window.Kw
			}
			build := func(seed int) []byte {
				w := layer.Weights{Filter: values(n*per, seed)}
				if tt.layer.Bias {
					w.Bias = values(n, seed+1)
				}
				p, err := lower.Lower(tt.layer, w)
				if err != nil {
					t.Fatal(err)
				}
				return p.Bytes()
			}
			before, want := build(1), build(50)
			dir := t.TempDir()
			in, out := filepath.Join(dir, "in.hwx"), filepath.Join(dir, "out.hwx")
			if err := os.WriteFile(in, before, 0o666); err != nil {
				t.Fatal(err)
			}
			td := "0" // with and without "td"
			if tt.layer.Op == layer.Linear {
				td = "td1"
			}
			args := []string{"patch", in, "-o", out, "--weights", td + "=" + writeNPY(t, []int{n, per}, values(n*per, 50))}
			if tt.layer.Bias {
				args = append(args, "--weights", td+".bias="+writeNPY(t, []int{n}, values(n, 51)))
			}
			if _, stderr, code := invoke(args...); code != exitDone {
				t.Fatal(stderr)
			}
			got, err := loader.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := loader.Read("want", bytes.NewReader(want), int64(len(want)))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Text, wanted.Text) {
				t.Error("a descriptor changed")
			}
			for i := range got.Segments {
				if !bytes.Equal(got.Segments[i].Data, wanted.Segments[i].Data) {
					t.Errorf("%v is not that of the program with these weights", &got.Segments[i])
				}
			}
			// Nothing but the constants changed.
			if file := got.Bytes(); len(file) != len(before) || !bytes.Equal(file[:0x4000], before[:0x4000]) {
				t.Error("the commands or symbols changed")
			}
		})
	}
}

func TestPatchSet(t *testing.T) {
	in, out := example(t, "add"), filepath.Join(t.TempDir(), "mul.hwx")
	if _, stderr, code := invoke("patch", in, "--set", "PE.Cfg.OpMode=1", "-o", out); code != exitDone {
		t.Fatal(stderr)
	}
	p, err := loader.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	for words, err := range p.Describe() {
		if err != nil || words.Operation != "product of two sources" {
			t.Errorf("%v, %v", words, err)
		}
	}
	before, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, b := range p.Bytes() {
		if b != before[i] {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d bytes changed, want 1", n)
	}
}

func TestPatchErrors(t *testing.T) {
	in := example(t, "conv")
	out := filepath.Join(t.TempDir(), "out.hwx")
	few := writeNPY(t, []int{2}, ramp(2))
	unbiased := filepath.Join(t.TempDir(), "unbiased.hwx")
	if _, stderr, code := invoke("layer", "conv", "cin=4", "h=4", "w=4", "cout=4", "k=1", "--timing-only", "--emit", unbiased); code != exitDone {
		t.Fatal(stderr)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{in}, exitUsage, "missing -o"},
		{[]string{in, "-o", out}, exitUsage, "missing --weights"},
		{[]string{in, "-o", out, "--set", "PE.Cfg.OpMode"}, exitFailed, "missing value"},
		{[]string{in, "-o", out, "--set", "x:PE.Cfg.OpMode=1"}, exitFailed, `invalid descriptor number "x"`},
		{[]string{in, "-o", out, "--set", "PE.Cfg.OpMod=1"}, exitFailed, "did you mean OpMode?"},
		{[]string{in, "-o", out, "--set", "Header.Bases=1"}, exitFailed, `Header.Bases is in the descriptor's header, which has no registers to set`},
		{[]string{in, "-o", out, "--set", "3:PE.Cfg.OpMode=1"}, exitFailed, "descriptor 3 does not write"},
		{[]string{in, "-o", out, "--bind", "n=3"}, exitFailed, "unknown run-time parameter"},
		{[]string{in, "-o", out, "--weights", "td0"}, exitUsage, "NAME=FILE"},
		{[]string{in, "-o", out, "--weights", "td0=" + few}, exitFailed, "2 weights; want 15"},
		{[]string{in, "-o", out, "--weights", "td0.bias=" + few}, exitFailed, "2 biases; want 3"},
		{[]string{unbiased, "-o", out, "--weights", "td0.bias=" + few}, exitFailed, "the descriptor has no biases"},
		{[]string{in, "-o", out, "--weights", "td7=" + few}, exitFailed, "1 descriptor"},
		{[]string{in, "-o", out, "--weights", "tdx=" + few}, exitFailed, `invalid descriptor number "x"`},
		{[]string{in, "-o", out, "--weights", "Kzz=" + few}, exitFailed, "unknown or ambiguous weight symbol"},
		{[]string{in, "-o", out, "--set", "NE.KernelCfg.Sparse=1", "--weights", "td0=" + few}, exitFailed, "zero-skipping"},
		{[]string{in, "-o", out, "--set", "NE.KernelCfg.KernelFmt=0", "--weights", "td0=" + few}, exitFailed, "format is 8-bit(0); want fp16"},
		{[]string{in, "-o", out, "--set", "NE.KernelCfg.PalEn=1", "--weights", "td0=" + few}, exitFailed, "palette"},
		{[]string{in, "-o", in, "--set", "PE.Cfg.OpMode=1"}, exitUsage, "would overwrite input"},
		{[]string{example(t, "relu"), "-o", out, "--weights", "td0=" + few}, exitFailed, "does not multiply"},
	} {
		_, stderr, code := invoke(append([]string{"patch"}, tt.args...)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: status %d, %s; want %q", tt.args, code, stderr, tt.want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("an output stands although nothing was patched")
	}
}

// TestPatchText binds a parameter of a descriptor text and sets a field in one step; the
// text is written as the program that asm makes of it.
func TestPatchText(t *testing.T) {
	const text = `.port input x b4 1x1x1x16
.port output y b5 1x1x1x16
.bind rows 1 1 64 1
.td
Common.InDim Win=16 Hin=$rows
Common.Cin 1
`
	in, dir := writeFile(t, "rows.td", []byte(text)), t.TempDir()
	assembled, patched := filepath.Join(dir, "asm.hwx"), filepath.Join(dir, "patch.hwx")
	if _, stderr, code := invoke("asm", in, "--bind", "rows=8", "-o", assembled); code != exitDone {
		t.Fatal(stderr)
	}
	stdout, stderr, code := invoke("patch", in, "--bind", "rows=8", "--set", "Common.Cin=3", "-o", patched)
	if code != exitDone || !strings.Contains(stdout, "rows=8, Common.Cin=3 in 1 place") {
		t.Fatal(stdout, stderr)
	}
	a, err := os.ReadFile(assembled)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(patched)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	if len(a) != len(b) || n != 1 {
		t.Errorf("%d of %d bytes differ, want 1", n, len(a))
	}
	if _, stderr, code := invoke("patch", in, "--bind", "rows=65", "-o", patched); code != exitFailed || !strings.Contains(stderr, "want 1 to 64 in steps of 1") {
		t.Errorf("status %d, %s", code, stderr)
	}
}

// TestPatchZeroSkipping: weights that skip zeros keep the bytes of their lanes, so fewer
// zeros than there were may not fit; then nothing is written.
func TestPatchZeroSkipping(t *testing.T) {
	l := layer.Layer{Op: layer.Convolution, In: layer.Shape{N: 1, C: 32, H: 8, W: 8}, Cout: 64, Window: layer.Valid(1, 2)}
	sparse, dense := make([]float16.Float16, 64*32), make([]float16.Float16, 64*32)
	for i := range dense {
		dense[i] = 0x3c00
		if i%5 == 0 {
			sparse[i] = 0x4000
		}
	}
	p, err := lower.Lower(l, layer.Weights{Filter: sparse})
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range p.States() {
		if err != nil || !s.Groups.NE.KernelCfg.Sparse() {
			t.Fatalf("weights are not zero-skipping: %v", err)
		}
	}
	in, out := writeFile(t, "sparse.hwx", p.Bytes()), filepath.Join(t.TempDir(), "out.hwx")
	_, stderr, code := invoke("patch", in, "-o", out, "--weights", "td0="+writeNPY(t, []int{64, 32}, dense))
	if _, err := os.Stat(out); code != exitFailed || !strings.Contains(stderr, "the new values need") || err == nil {
		t.Errorf("status %d, %s, output %v", code, stderr, err == nil)
	}
	// Other values at the same places, and fewer.
	for i := range sparse {
		sparse[i] *= 2 // the bits of another number
		if i%10 == 0 {
			sparse[i] = 0
		}
	}
	if _, stderr, code := invoke("patch", in, "-o", out, "--weights", "td0="+writeNPY(t, []int{64, 32}, sparse)); code != exitDone {
		t.Error(stderr)
	}
}

// TestPatchParams binds a parameter that stands in a text beside the container.
func TestPatchParams(t *testing.T) {
	in, out := example(t, "add"), filepath.Join(t.TempDir(), "out.hwx")
	text := writeFile(t, "add.params", []byte("param n 1 1 64 1\nlive-in 0 Common.InDim.Hin n\nlive-in 0 Common.OutDim.Hout n\n"))
	stdout, stderr, code := invoke("patch", in, "--params", text, "--bind", "n=1", "--set", "Common.InDim.Win=1", "-o", out)
	if code != exitDone || !strings.Contains(stdout, "n=1 in 2 places") {
		t.Fatal(stdout, stderr)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--bind", "n=65"}, "want 1 to 64 in steps of 1"},
		{[]string{"--bind", "m=2"}, "unknown run-time parameter"},
	} {
		if _, stderr, code := invoke(append([]string{"patch", in, "--params", text, "-o", out}, tt.args...)...); code != exitFailed || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: status %d, %s", tt.args, code, stderr)
		}
	}
}
