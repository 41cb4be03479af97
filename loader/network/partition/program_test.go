package partition_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/loader/layer"
	"anesim/loader/lower"
	"anesim/loader/network"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
	"anesim/loader/network/weights"
)

// readExample reads an example file after replacing some of its numbers.
func readExample(t *testing.T, name string, numbers map[string]string) *list.Network {
	t.Helper()
	text, err := os.ReadFile("../../../tools/anesim/examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`: \d+`).ReplaceAllFunc(text, func(b []byte) []byte {
		if to, ok := numbers[string(b[2:])]; ok {
			return []byte(": " + to)
		}
		return b
	})
	n, err := network.ReadYAML(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// runAlone runs every layer as a program of its own, on the results of the layers before it. It
// returns all tensors and the cycles of each layer. A layer that cannot be lowered produces zeros.
func runAlone(t *testing.T, n *list.Network, o anesim.Options) (map[string][]float16.Float16, []uint64) {
	t.Helper()
	tensors := map[string][]float16.Float16{}
	for _, in := range n.Inputs {
		tensors[in.Name] = make([]float16.Float16, in.Shape.Elements())
		for i := range tensors[in.Name] {
			tensors[in.Name][i] = float16.Fromfloat32(float32(i*7%31-15) / 16)
		}
	}
	for name, values := range n.Constants {
		tensors[name] = values
	}
	var cycles []uint64
	for i := range n.Layers {
		l := &n.Layers[i]
		w, err := weights.Complete(l, o.Seed)
		if err != nil {
			t.Fatal(err)
		}
		p, err := lower.Lower(l.Lower, w)
		if err != nil {
			tensors[l.Output] = make([]float16.Float16, l.Out.Elements())
			cycles = append(cycles, 0)
			continue
		}
		o.Inputs = map[string][]float16.Float16{}
		for k, name := range l.Inputs {
			port := []string{"x", "z"}[min(k, 1)]
			if l.Lower.Op == layer.Concat {
				port = fmt.Sprint("x", k)
			}
			o.Inputs[port] = tensors[name]
		}
		res, err := anesim.Run(p, o)
		if err != nil || len(res.Outputs) != 1 {
			t.Fatalf("%s: %v, %+v", l.Name, err, res)
		}
		tensors[l.Output] = res.Outputs[0].Data
		cycles = append(cycles, uint64(res.Report.Cycles+res.Report.Saved()))
	}
	return tensors, cycles
}

// The examples, made small, come out bit for bit as their layers do one by one, and every
// layer takes as long as by itself.
func TestLowerExamples(t *testing.T) {
	for _, tc := range []struct {
		name    string
		numbers map[string]string
		first   []int // layers that start a program
		turned  string
		fused   bool // layers share descriptors, whose results round once
	}{
		{"resnet50.yaml", map[string]string{"224": "32", "2048": "128", "1024": "64", "512": "32", "256": "16"}, []int{0}, "fc1000", false},
		{"mobilenetv2.yaml", map[string]string{"224": "32"}, []int{0}, "classes", false},
		{"transformer.yaml", map[string]string{"768": "96", "3072": "384", "64": "8", "128": "16"}, []int{0}, "", true},
	} {
		n := readExample(t, tc.name, tc.numbers)
		o := anesim.Options{Chip: hw.M1(), Values: true, Seed: 1}
		tensors, cycles := runAlone(t, n, o)
		if tc.fused {
			tensors = checkFused(t, n, o, tensors)
			cycles = nil
		}
		checkResident(t, n, o, tensors)
		n.InMemory = true
		programs, _, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: o.Seed})
		var first []int
		for _, p := range programs {
			first = append(first, p.First)
			o.Inputs = map[string][]float16.Float16{}
			for port := range p.Inputs() {
				o.Inputs[port.Name] = tensors[port.Name]
			}
			res, err := anesim.Run(p.Program, o)
			if err != nil || len(res.Outputs) == 0 {
				t.Fatalf("%s: %v, %+v", tc.name, err, res)
			}
			for _, out := range res.Outputs {
				if !slices.Equal(out.Data, tensors[out.Port.Name]) {
					t.Errorf("%s: %s differs from its layer by itself", tc.name, out.Port.Name)
				}
			}
			// Layers run beside each other: with what that saves they take what they take by
			// themselves, but for one that turns its input first and has the last results of
			// the layer before to wait for.
			together, alone := uint64(0), uint64(0)
			for i, run := range p.Runs {
				if n.Layers[p.First+i].Name == tc.turned {
					continue
				}
				for _, d := range res.Report.Descriptors[run.First:][:run.Tasks] {
					together += uint64(d.Cycles.Total() + d.Saved)
				}
				if cycles != nil {
					alone += cycles[p.First+i]
				}
			}
			if tc.fused || sharesDescriptors(n) {
				continue
			}
			if exact := tc.turned == "" || len(p.Runs) == 1; exact && together != alone || together > alone || together < alone-alone/100 {
				t.Errorf("%s: %d cycles, the layers by themselves %d", tc.name, together, alone)
			}
		}
		if !slices.Equal(first, tc.first) {
			t.Errorf("%s: programs start at layers %v, want %v", tc.name, first, tc.first)
		}
	}
}

// sharesDescriptors reports whether any layer has another one fused into it.
func sharesDescriptors(n *list.Network) bool {
	return slices.ContainsFunc(n.Layers, func(l list.Layer) bool { return len(l.Folded) > 0 })
}

// checkFused runs the network with all tensors in memory and checks that its results are close to
// those of the separate layers. It returns the tensors.
func checkFused(t *testing.T, n *list.Network, o anesim.Options, alone map[string][]float16.Float16) map[string][]float16.Float16 {
	t.Helper()
	n.InMemory = true
	defer func() { n.InMemory = false }()
	tensors := maps.Clone(alone)
	programs, _, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: o.Seed})
	for _, p := range programs {
		o.Inputs = map[string][]float16.Float16{}
		for port := range p.Inputs() {
			o.Inputs[port.Name] = tensors[port.Name]
		}
		res, err := anesim.Run(p.Program, o)
		if err != nil || len(res.Outputs) == 0 {
			t.Fatalf("%v, %+v", err, res)
		}
		for _, out := range res.Outputs {
			tensors[out.Port.Name] = out.Data
			for i, v := range out.Data {
				if w := alone[out.Port.Name][i]; math.Abs(float64(v.Float32()-w.Float32())) > 0.02*max(1, math.Abs(float64(w.Float32()))) {
					t.Errorf("%s[%d] is %v, by itself %v", out.Port.Name, i, v, w)
					break
				}
			}
		}
	}
	return tensors
}

// checkResident checks that the network computes the same tensors when they stay in L2.
func checkResident(t *testing.T, n *list.Network, o anesim.Options, tensors map[string][]float16.Float16) {
	t.Helper()
	programs, _, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: o.Seed})
	for _, p := range programs {
		o.Inputs = map[string][]float16.Float16{}
		for port := range p.Inputs() {
			o.Inputs[port.Name] = tensors[port.Name]
		}
		res, err := anesim.Run(p.Program, o)
		if err != nil || len(res.Outputs) == 0 {
			t.Fatalf("%v, %+v", err, res)
		}
		for _, out := range res.Outputs {
			if !slices.Equal(out.Data, tensors[out.Port.Name]) {
				t.Errorf("%s in the L2 differs from its layer by itself", out.Port.Name)
			}
		}
	}
}

// A tensor whose rows are laid out anew for its reader, by tasks, ends no program.
func TestViewsCutNothing(t *testing.T) {
	n, err := network.ReadYAML([]byte(`
inputs: {x: {c: 4, h: 6, w: 10}}
layers:
- {name: a, op: relu}
- {name: wide, op: reshape, c: 4, h: 3, w: 20}
- {name: b, op: relu}
- {name: flat, op: reshape, h: 12, w: 20}
- {name: c, op: softmax, axis: h}
`))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range n.Layers {
		names = append(names, n.Layers[i].Name)
	}
	if want := []string{"a", "b/rows", "b/rows/2", "b", "c"}; !slices.Equal(names, want) {
		t.Errorf("layers %q, want %q: flat has rows as long", names, want)
	}
	if programs, _, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1}); len(programs) != 1 || len(programs[0].Runs) != len(n.Layers) {
		t.Errorf("%d programs", len(programs))
	}
}

// A network of more inputs than a program has buffers is cut until it fits.
func TestLowerCutsAtPorts(t *testing.T) {
	text := "inputs:\n"
	for i := range 40 {
		text += fmt.Sprintf("  x%d: {c: 4}\n", i)
	}
	text += "layers:\n- {name: s0, op: relu, from: x0}\n"
	for i := 1; i < 40; i++ {
		text += fmt.Sprintf("- {name: s%d, op: add, from: [s%d, x%d]}\n", i, i-1, i)
	}
	n, err := network.ReadYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	programs, _, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1})
	layers := 0
	for _, p := range programs {
		layers += len(p.Runs)
		if len(p.Ports) > 28 {
			t.Errorf("%d ports", len(p.Ports))
		}
	}
	// The first takes 27 inputs and gives a result, the second takes that and 13.
	if len(programs) != 2 || layers != 40 || len(programs[0].Runs) < 24 || programs[1].Why == "" {
		t.Errorf("%d programs of %d layers, the first of %d", len(programs), layers, len(programs[0].Runs))
	}
}
