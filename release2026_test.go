package anesim_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"anesim"
	"anesim/hw/regs"
	"anesim/internal/material"
	"anesim/loader"
)

// release2026 lists the known texts of Apple's compiler of 2026, with the network of each.
var release2026 = []struct{ network, text string }{
	{"norm", "gpt2_norm768x32"},
	{"feedforward", "gpt2_norm_ffn768_3072"},
	{"projections", "gpt2_norm_project3"},
}

// headerNames are the words of a descriptor's header.
var headerNames = [...]string{"Task", "Timing", "LogEvents", "Exceptions", "DebugLogEvents", "DebugExceptions", "Control", "Next", "Bases", "KernelBases"}

// namedWords returns the words of a descriptor by name.
func namedWords(d *regs.Descriptor) map[string]uint32 {
	names := map[uint32]string{}
	for r := range regs.Registers() {
		names[r.Addr()] = r.Block + "." + r.Name
	}
	words := map[string]uint32{}
	h := d.Append(nil)
	for i := range regs.HeaderWords {
		name := fmt.Sprintf("header word %d", i)
		if i < len(headerNames) {
			name = "header " + headerNames[i]
		}
		words[name] = uint32(h[4*i]) | uint32(h[4*i+1])<<8 | uint32(h[4*i+2])<<16 | uint32(h[4*i+3])<<24
	}
	for _, r := range d.Records {
		for i, v := range r.Values {
			words[names[r.Addr+4*uint32(i)]] = v
		}
	}
	return words
}

// TestRelease2026 compares the programs of three networks, in the form of the compiler of 2026, with those
// that Apple's compiler made of them: their descriptors are the same, byte by byte, and so are the sizes
// of constants and scratch memory.
func TestRelease2026(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(material.Read(t, "texts/MANIFEST.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range release2026 {
		t.Run(known.network, func(t *testing.T) {
			m, err := anesim.Open("testdata/release2026/" + known.network + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			list, err := m.Programs(t.Context(), anesim.Options{})
			if err != nil || len(list) != 1 {
				t.Fatalf("%d programs, %v; want 1", len(list), err)
			}
			var got, want []*regs.Descriptor
			for d, err := range regs.Chain(list[0].Text, list[0].FirstWords) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, d)
			}
			for _, row := range rows[1:] {
				if row[0] != known.text+".text.bin" {
					continue
				}
				words, _ := strconv.Atoi(row[3])
				for d, err := range regs.Chain(material.Read(t, "texts/"+row[0]), words) {
					if err != nil {
						t.Fatal(err)
					}
					want = append(want, d)
				}
				var cycles []string
				for _, d := range got {
					cycles = append(cycles, strconv.Itoa(int(d.Header.Timing.ExeCycles())))
				}
				if c := strings.Join(cycles, " "); c != row[4] {
					t.Errorf("estimated cycles are %s; want %s", c, row[4])
				}
				if !bytes.Equal(list[0].Text, material.Read(t, "texts/"+row[0])) {
					t.Error("the descriptors differ")
				}
				// The constants are those for the engines and, in a buffer of their own, those for the tile DMA.
				for bar, text := range map[int]string{list[0].WeightsBAR(): row[7], regs.BARScratch: row[8]} {
					// A container has room in the scratch buffer even where no descriptor names it.
					if n := bufferBytes(list[0], bar); strconv.Itoa(n) != text && text != "0" {
						t.Errorf("buffer %d has %d bytes; want %s", bar, n, text)
					}
				}
			}
			if len(got) != len(want) {
				t.Fatalf("%d descriptors; want %d", len(got), len(want))
			}
			for i := range want {
				a, b := namedWords(got[i]), namedWords(want[i])
				if len(a) != len(b) {
					t.Errorf("descriptor %d writes %d words; want %d", i, len(a), len(b))
				}
				for name, v := range b {
					if a[name] != v {
						t.Errorf("descriptor %d: %s is %#x; the compiler has %#x", i, name, a[name], v)
					}
				}
			}
		})
	}
}

// bufferBytes returns the bytes of a buffer that the program uses.
func bufferBytes(p *loader.Program, bar int) int {
	for _, s := range p.Segments {
		if s.Addr == p.BARs[bar] {
			return int(s.Size)
		}
	}
	return 0
}

// TestWeightsOfRelease2026 checks what other commands do with a program whose weights have a buffer of their
// own: it is read as it was written, its relocations are where its descriptors load weights, and the form of
// the Linux driver, which has one buffer for constants, is refused.
func TestWeightsOfRelease2026(t *testing.T) {
	m, err := anesim.Open("testdata/release2026/norm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := programOf(t, m)
	const weights = 6 // the buffers of the result and the input are 4 and 5
	if p.WeightsBAR() != weights || p.BARs[regs.BARWeights] != p.BARs[weights]+0x100 {
		t.Errorf("weights in buffer %d at %#x, tensors at %#x; want buffer %d, and tensors behind two tables", p.WeightsBAR(), p.BARs[p.WeightsBAR()], p.BARs[regs.BARWeights], weights)
	}
	lanes := 0
	l, err := p.Link()
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range l.Tasks {
		for _, c := range task.Groups.KernelDMASrc.CoeffDMAConfig {
			if c.En() {
				lanes++
			}
		}
	}
	if lanes == 0 || len(p.Tiles) != lanes || len(p.Relocations) != lanes {
		t.Errorf("%d weight symbols and %d relocations for %d loads", len(p.Tiles), len(p.Relocations), lanes)
	}
	again, err := p.Rebuild()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Text, p.Text) || again.WeightsBAR() != weights || again.BARs[regs.BARWeights] != again.BARs[weights]+0x100 {
		t.Errorf("the program built again has other descriptors, or its buffers at %#x", again.BARs)
	}
	var unsupported *loader.UnsupportedError
	if _, err := p.ANEC(); !errors.As(err, &unsupported) {
		t.Errorf("form of the Linux driver: error %v; want an UnsupportedError", err)
	}
}

// TestReleaseOfNetworks checks that the descriptors of a network are those of the release that its file
// asks for, and that others than the two known ones are refused.
func TestReleaseOfNetworks(t *testing.T) {
	file, err := os.ReadFile("testdata/release2026/norm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	count := func(release string) (n int) {
		m := readModel(t, "norm.yaml", bytes.Replace(file, []byte("release: 2026\n"), []byte(release), 1), anesim.OpenOptions{})
		for _, err := range regs.Chain(programOf(t, m).Text, programOf(t, m).FirstWords) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if newest, other, none := count("release: newest\n"), count("release: 2026\n"), count(""); newest != 14 || other != 10 || none != newest {
		t.Errorf("%d descriptors of the newest known for most programs, %d of 2026, %d of none; want 14, 10 and 14", newest, other, none)
	}
	wrong := strings.Replace(string(file), "release: 2026", "release: 2025", 1)
	if _, err := new(anesim.OpenOptions).Read("norm.yaml", strings.NewReader(wrong), int64(len(wrong))); err == nil || !strings.Contains(err.Error(), "want newest or 2026") {
		t.Errorf("release 2025: error %v; want one that names the known releases", err)
	}
}

// TestAttentionOfRelease2026 checks that the compiler of 2026 divides large attention as the newest does:
// scores never go through memory, and the values are the weights of the second product, as in a chain of
// that compiler.
func TestAttentionOfRelease2026(t *testing.T) {
	const file = `inputs: {q: {c: 4, h: 768, w: 64}, k: {c: 4, h: 768, w: 64}, v: {c: 4, h: 768, w: 64}}
layers:
  - {op: matmul, from: [q, k], rhs: runtime, ty: true, n: 768}
  - {name: softmax, op: softmax, axis: w}
  - {name: y, op: matmul, rhs: runtime, n: 64, from: [softmax, v]}
`
	moved := map[string]uint64{}
	for _, release := range []string{"newest", "2026"} {
		m := readModel(t, "attention.yaml", []byte(file), anesim.OpenOptions{Release: release})
		r, err := m.Run(t.Context(), anesim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range r.Report.Descriptors {
			moved[release] += d.DMA.Total()
		}
	}
	const scores = 2 * 4 * 768 * 768 * 2 // written and read
	if moved["2026"] != moved["newest"] || moved["2026"] >= scores {
		t.Errorf("bytes moved: %v; want the same, and fewer than the %d of scores in memory alone", moved, scores)
	}
}

// TestReleaseOption checks that the option of a release does to a program of Core ML what the key does to a
// list of layers, wins over the key, and is refused where it means nothing.
func TestReleaseOption(t *testing.T) {
	const mil = `program(1.0)
{
    func main<ios16>(tensor<fp16, [1, 64, 1, 32]> x) {
        tensor<int32, [1]> axes = const()[name = tensor<string, []>("axes"), val = tensor<int32, [1]>([1])];
        tensor<bool, []> keep = const()[name = tensor<string, []>("keep"), val = tensor<bool, []>(true)];
        tensor<fp16, [1, 1, 1, 32]> m = reduce_mean(x = x, axes = axes, keep_dims = keep)[name = tensor<string, []>("m")];
        tensor<fp16, [1, 64, 1, 32]> y = sub(x = x, y = m)[name = tensor<string, []>("y")];
    } -> (y);
}
`
	const list = "inputs: {x: {c: 64, w: 32}}\nlayers:\n  - {name: m, op: reduce, kind: mean, axis: c}\n  - {name: y, op: sub, from: [x, m]}\n"
	text := func(name, file, release string) string {
		return string(programOf(t, readModel(t, name, []byte(file), anesim.OpenOptions{Release: release})).Text)
	}
	of2026, newest := text("a.yaml", "release: 2026\n"+list, ""), text("a.yaml", list, "")
	if of2026 == newest {
		t.Fatal("both releases write the same descriptors")
	}
	for _, tc := range []struct{ what, got, want string }{
		{"program of Core ML", text("a.mil", mil, "2026"), of2026},
		{"program of Core ML, newest", text("a.mil", mil, "newest"), newest},
		{"program of Core ML without the option", text("a.mil", mil, ""), newest},
		{"list of layers", text("a.yaml", list, "2026"), of2026},
		{"list of layers that asks for another", text("a.yaml", "release: 2026\n"+list, "newest"), newest},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: descriptors of another release", tc.what)
		}
	}
	m := readModel(t, "a.mil", []byte(mil), anesim.OpenOptions{Release: "2026"})
	if m.Network().Release().String() != "2026" {
		t.Errorf("network of release %v; want 2026", m.Network().Release())
	}
	container := programOf(t, m).Bytes()
	for name, file := range map[string][]byte{"a.mil": []byte(mil), "a.hwx": container} {
		o := anesim.OpenOptions{Release: map[string]string{"a.mil": "2025", "a.hwx": "2026"}[name]}
		var bad *anesim.OptionError
		if _, err := o.Read(name, bytes.NewReader(file), int64(len(file))); !errors.As(err, &bad) || bad.Option != "Release" {
			t.Errorf("%s with release %s: error %v; want one of the option Release", name, o.Release, err)
		}
	}
}

// TestSpelledOperators checks that a program of Core ML that spells a layer norm and a GELU over the channels
// of one row of pixels has the descriptors of the list of the same layers, in the form of 2026: that
// compiler keeps both spelled (3 of 3 texts and 1 of 1). The newest known for most programs finds them.
func TestSpelledOperators(t *testing.T) {
	const channels, pixels = 64, 32
	full, one := fmt.Sprintf("tensor<fp16, [1, %d, 1, %d]>", channels, pixels), fmt.Sprintf("tensor<fp16, [1, 1, 1, %d]>", pixels)
	row := fmt.Sprintf("tensor<fp16, [1, %d, 1, 1]>", channels)
	var mil strings.Builder
	constant := func(kind, name, value string) {
		fmt.Fprintf(&mil, "        %s %s = const()[name = tensor<string, []>(%q), val = %[1]s(%[4]s)];\n", kind, name, name, value)
	}
	node := func(kind, name, call string) {
		fmt.Fprintf(&mil, "        %s %s = %s[name = tensor<string, []>(%q)];\n", kind, name, call, name)
	}
	fmt.Fprintf(&mil, "program(1.0)\n{\n    func main<ios16>(%s x) {\n", full)
	constant("tensor<int32, [1]>", "axes", "[1]")
	constant("tensor<bool, []>", "keep", "true")
	for _, number := range [][2]string{{"eps", "1e-5"}, {"power", "-0.5"}, {"cubic", "0.044715"}, {"root", "0.7978845608"}, {"unit", "1"}, {"half", "0.5"}} {
		constant("tensor<fp16, []>", number[0], number[1])
	}
	constant(row, "g", "["+strings.Repeat("0.5, ", channels-1)+"2]")
	constant(row, "b", "["+strings.Repeat("1, ", channels-1)+"3]")
	node(one, "mean", "reduce_mean(x = x, axes = axes, keep_dims = keep)")
	node(full, "centred", "sub(x = x, y = mean)")
	node(full, "squared", "mul(x = centred, y = centred)")
	node(one, "variance", "reduce_mean(x = squared, axes = axes, keep_dims = keep)")
	node(one, "shifted", "add(x = variance, y = eps)")
	node(one, "deviation", "pow(x = shifted, y = power)")
	node(full, "normal", "mul(x = centred, y = deviation)")
	node(full, "gamma", "mul(x = normal, y = g)")
	node(full, "beta", "add(x = gamma, y = b)")
	node(full, "up2", "mul(x = beta, y = beta)")
	node(full, "up3", "mul(x = up2, y = beta)")
	node(full, "third", "mul(x = up3, y = cubic)")
	node(full, "sum", "add(x = beta, y = third)")
	node(full, "argument", "mul(x = sum, y = root)")
	node(full, "curve", "tanh(x = argument)")
	node(full, "raised", "add(x = curve, y = unit)")
	node(full, "product", "mul(x = beta, y = raised)")
	node(full, "y", "mul(x = product, y = half)")
	mil.WriteString("    } -> (y);\n}\n")
	list := fmt.Sprintf("inputs: {x: {c: %d, w: %d}}\nlayers:\n", channels, pixels) + `
  - {name: mean, op: reduce, kind: mean, axis: c}
  - {name: centred, op: sub, from: [x, mean]}
  - {name: squared, op: mul, from: [centred, centred]}
  - {name: variance, op: reduce, kind: mean, axis: c}
  - {name: shifted, op: add, value: 0.00001}
  - {name: deviation, op: pow, value: -0.5}
  - {name: normal, op: mul, from: [centred, deviation]}
  - {name: gamma, op: mul, second: constant}
  - {name: beta, op: add, second: constant}
  - {name: up2, op: mul, from: [beta, beta]}
  - {name: up3, op: mul, from: [up2, beta]}
  - {name: third, op: mul, value: 0.044715}
  - {name: sum, op: add, from: [beta, third]}
  - {name: argument, op: mul, value: 0.7978845608}
  - {name: curve, op: tanh}
  - {name: raised, op: add, value: 1}
  - {name: product, op: mul, from: [beta, raised]}
  - {name: y, op: mul, value: 0.5}
`
	program := func(name, text, release string) *loader.Program {
		return programOf(t, readModel(t, name, []byte(text), anesim.OpenOptions{Release: release}))
	}
	count := func(p *loader.Program) (n int) {
		for range regs.Chain(p.Text, p.FirstWords) {
			n++
		}
		return n
	}
	spelled, listed := program("a.mil", mil.String(), "2026"), program("a.yaml", list, "2026")
	if !bytes.Equal(spelled.Text, listed.Text) {
		t.Errorf("%d descriptors of the Core ML program differ from the list's %d", count(spelled), count(listed))
	}
	if found, all := count(program("a.mil", mil.String(), "newest")), count(program("a.yaml", list, "newest")); found >= all {
		t.Errorf("newest: %d descriptors of the Core ML program, %d of the list; want fewer for operators that are found", found, all)
	}
}

// TestDescriptorsOfPixelChains checks how many descriptors the layers of a chain take in the form of 2026,
// where neighbors decide about it.
func TestDescriptorsOfPixelChains(t *testing.T) {
	const mean = "{name: m, op: reduce, kind: mean, axis: c}"
	for _, tc := range []struct {
		what          string
		width, layers string
		want          int
	}{
		{"a mean: a transpose and a reduction", "c: 64, w: 32", mean + "; {op: sub, from: [x, m]}", 3},
		{"a mean of squares, and its addend", "c: 64, w: 32", "{op: square}; " + mean + "; {op: add, value: 1}; {op: mul, from: [x, add2]}", 3},
		{"squares that something else reads", "c: 64, w: 32", "{name: s, op: square}; " + mean + "; {op: sub, from: [s, m]}", 4},
		{"a convolution: to rows, to blocks, the product, to columns", "c: 64, w: 32", "{op: conv, cout: 64, k: 1}; {op: relu}; {op: square}", 5},
		{"two convolutions in blocks", "c: 64, w: 32", "{op: conv, cout: 64, k: 1}; {op: square}; {op: conv, cout: 64, k: 1}; {op: square}", 7},
		{"two convolutions of one tensor", "c: 64, w: 32", "{name: a, op: conv, cout: 64, k: 1}; {name: b, op: conv, from: x, cout: 64, k: 1}; {op: mul, from: [a, b]}", 7},
		{"64 pixels and fewer than four times the channels: no blocks", "c: 64, w: 64", "{op: conv, cout: 128, k: 1}; {op: square}; {op: conv, cout: 64, k: 1}", 3},
		{"64 pixels and four times the channels", "c: 64, w: 64", "{op: conv, cout: 256, k: 1}; {op: square}; {op: conv, cout: 64, k: 1}", 6},
		{"a factor after a product", "c: 64, w: 32", mean + "; {op: mul, from: [x, m]}; {op: mul, value: 0.5}", 3},
		{"a factor after a maximum", "c: 64, w: 32", mean + "; {op: max, from: [x, m]}; {op: mul, value: 0.5}", 4},
	} {
		text := "release: 2026\ninputs: {x: {" + tc.width + "}}\nlayers:\n"
		for l := range strings.SplitSeq(tc.layers, "; ") {
			text += "  - " + l + "\n"
		}
		n := 0
		p := programOf(t, readModel(t, "chain.yaml", []byte(text), anesim.OpenOptions{}))
		for range regs.Chain(p.Text, p.FirstWords) {
			n++
		}
		if n != tc.want {
			t.Errorf("%s: %d descriptors; want %d\n%s", tc.what, n, tc.want, text)
		}
	}
}

// TestInputOfPixelChain checks that an input that a chain reads, and a layer behind it, is loaded once.
func TestInputOfPixelChain(t *testing.T) {
	const text = `
release: 2026
inputs: {x: {c: 64, w: 32}}
layers:
  - {name: m, op: reduce, kind: mean, axis: c}
  - {name: d, op: sub, from: [x, m]}
  - {name: s, op: softmax, axis: c}
  - {name: y, op: add, from: [s, x]}
`
	p := programOf(t, readModel(t, "residual.yaml", []byte(text), anesim.OpenOptions{}))
	bar := -1
	for port := range p.Inputs() {
		if port.Name == "x" {
			bar = port.BAR
		}
	}
	loads := 0
	for d, err := range regs.Chain(p.Text, p.FirstWords) {
		if err != nil {
			t.Fatal(err)
		}
		if b := d.Header.Bases; b.RBE0() && int(b.RBase0()) == bar || b.RBE1() && int(b.RBase1()) == bar {
			loads++
		}
	}
	if loads != 1 {
		t.Errorf("%d descriptors load x from buffer %d; want 1", loads, bar)
	}
}
