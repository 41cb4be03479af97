package fp32

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/loader/network"
	"anesim/loader/network/partition"
)

// A pixelNet is a random network in the making: layers over the channels of one row of pixels, of the
// kinds that Apple's compiler of 2026 schedules as one chain.
type pixelNet struct {
	r      *rand.Rand
	pixels int
	lines  []string
	last   string // the tensor of the last layer
	c      int    // its channels
}

// add appends a layer with the given keys, and makes it the last one.
func (n *pixelNet) add(format string, v ...any) string {
	name := fmt.Sprintf("t%d", len(n.lines))
	n.lines = append(n.lines, fmt.Sprintf("  - {name: %s, ", name)+fmt.Sprintf(format, v...)+"}\n")
	n.last = name
	return name
}

// addPart appends a few layers: a norm, a convolution with an activation that is spelled out, a residual
// sum, or single layers between those.
func (n *pixelNet) addPart() {
	x := n.last
	switch n.r.IntN(7) {
	case 0:
		mean := n.add("op: reduce, kind: mean, axis: c, from: %s", x)
		d := n.add("op: sub, from: [%s, %s]", x, mean)
		n.add([]string{"op: mul, from: [%[1]s, %[1]s]", "op: square, from: %[1]s"}[n.r.IntN(2)], d)
		n.add("op: reduce, kind: mean, axis: c")
		if n.r.IntN(2) == 0 {
			n.add("op: rsqrt, eps: 0.001")
		} else {
			n.add("op: add, value: 0.001")
			n.add("op: pow, value: -0.5")
		}
		n.add("op: mul, from: [%s, %s]", d, n.last)
		if n.r.IntN(2) == 0 {
			n.add("op: mul, second: constant")
		}
		n.add("op: add, second: constant")
	case 1:
		from := n.c
		n.c = []int{8, 16, 24, 40, 64, 128}[n.r.IntN(6)]
		n.add("op: conv, cout: %d, k: 1, bias: true, act: %s, from: %s", n.c, []string{"none", "relu", "tanh"}[n.r.IntN(3)], x)
		if n.r.IntN(3) == 0 && from == n.c {
			n.add("op: add, from: [%s, %s]", n.last, x)
		}
	case 2:
		s := n.add("op: square, from: %s", x)
		n.add("op: mul, from: [%s, %s]", s, x)
		n.add("op: mul, value: 0.04")
		n.add("op: add, from: [%s, %s]", x, n.last)
		n.add("op: mul, value: 0.8")
		n.add("op: tanh")
		n.add("op: add, value: 1")
		n.add("op: mul, from: [%s, %s]", x, n.last)
		n.add("op: mul, value: 0.5")
	case 3:
		n.add("op: square, from: %s", x)
		n.add("op: add, value: 0.5")
		n.add("op: pow, value: %v", []float64{0.5, -1, 0.25, -0.5}[n.r.IntN(4)])
	case 4:
		n.add("op: %s, from: %s", []string{"sigmoid", "relu", "tanh"}[n.r.IntN(3)], x)
		n.add("op: add, from: [%s, %s]", n.last, x) // not a difference, which may cancel
	case 5:
		a := n.add("op: conv, cout: %d, k: 1, from: %s", n.c, x)
		b := n.add("op: conv, cout: %d, k: 1, bias: true, from: %s", n.c, x)
		n.add("op: %s, from: [%s, %s]", []string{"add", "mul", "max"}[n.r.IntN(3)], a, b)
	case 6: // the softmax ends the chain, which has two results
		a := n.add("op: conv, cout: %d, k: 1, from: %s", n.c, x)
		b := n.add("op: conv, cout: %d, k: 1, from: %s", n.c, x)
		n.add("op: softmax, axis: c, from: %s", a)
		n.add("op: mul, value: 16") // few denormal products
		n.add("op: mul, from: [%s, %s]", n.last, b)
	}
}

// TestRelease2026 runs random networks in the form of the compiler of 2026. Their results are those of
// float32 but for the engine's rounding, and the same bits if all tensors go through memory.
func TestRelease2026(t *testing.T) {
	networks := uint64(120)
	if testing.Short() {
		networks = 40
	}
	chains, worst := 0, 0.0
	for seed := range networks {
		r := rand.New(rand.NewPCG(seed, 2026))
		n := &pixelNet{r: r, last: "x", pixels: []int{2, 3, 8, 16, 17, 24, 32, 48, 64, 100, 192, 200}[r.IntN(12)], c: []int{8, 16, 24, 40, 128, 256}[r.IntN(6)]}
		input := fmt.Sprintf("release: 2026\ninputs: {x: {c: %d, w: %d}}\nlayers:\n", n.c, n.pixels)
		x := make([]float16.Float16, n.c*n.pixels)
		for i := range x {
			x[i] = float16.Fromfloat32(float32(r.NormFloat64()))
		}
		for range 1 + r.IntN(4) {
			n.addPart()
		}
		text := input + strings.Join(n.lines, "")
		if r.IntN(3) == 0 { // a result beside the last
			text += fmt.Sprintf("outputs: [%s, t%d]\n", n.last, r.IntN(len(n.lines)))
		}
		run := func(text string, inMemory bool) *anesim.Result {
			net, err := network.ReadYAML([]byte(text))
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			net.InMemory = inMemory
			res, err := anesim.FromNetwork(net).Run(t.Context(), anesim.Options{Values: true, Seed: seed, Inputs: map[string][]float16.Float16{"x": x}})
			if err != nil || len(res.Report.Faults) > 0 || len(res.Missing()) > 0 {
				t.Fatalf("seed %d: %v, faults %v, missing %v\n%s", seed, err, res.Report.Faults, res.Missing(), text)
			}
			return res
		}
		res := run(text, false)
		c, err := Compare(t.Context(), res)
		if err != nil {
			t.Fatal(err)
		}
		for _, out := range c.Outputs {
			if out.Error == nil || *out.Error > 0.02 {
				t.Errorf("seed %d: output %s differs from float32 by %v; want at most 0.02\n%s", seed, out.Name, out.Error, text)
				continue
			}
			worst = max(worst, *out.Error)
		}
		other := run(text, true)
		for i, out := range res.Outputs {
			for k, v := range out.Data {
				if w := other.Outputs[i].Data[k]; w != v {
					t.Errorf("seed %d: output %s is %v at %d, and %v with tensors in memory\n%s", seed, out.Port.Name, v, k, w, text)
					break
				}
			}
		}
		for k := range res.Programs {
			if slices.ContainsFunc(res.Programs[k].Runs, func(r partition.Run) bool { return r.Pixels }) {
				chains++
				break
			}
		}
	}
	t.Logf("%d of %d networks have chains over pixels; largest error %.2g", chains, networks, worst)
	if 2*chains < int(networks) {
		t.Errorf("%d of %d networks have chains over pixels; want at least half", chains, networks)
	}
}
