package samples

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"anesim"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/lower"
)

// Shared returns models for tests that run several models on one engine. They are example programs,
// single layers and small networks.
func Shared(t *testing.T) []*anesim.Model {
	t.Helper()
	var list []*anesim.Model
	for _, name := range []string{"identity", "add"} {
		b, err := lower.Example(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := anesim.Read(name+".hwx", strings.NewReader(string(b)), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	for _, words := range []string{
		"softmax c=48 h=1 w=40", "conv cin=24 h=9 w=9 cout=40 k=3 pad=same", "linear m=1 k=96 n=64", "layernorm c=64 h=1 w=8", "matmul m=8 k=32 n=16",
	} {
		f := strings.Fields(words)
		m, err := anesim.Layer(f[0], f[1:]...)
		if err != nil {
			t.Logf("%s: %v", words, err)
			continue
		}
		list = append(list, m)
	}
	return append(list, Read(t, Residual), Read(t, Observed))
}

// Read returns a model of the network that the YAML text describes. It ends the test if the text is
// not valid.
func Read(t *testing.T, text string) *anesim.Model {
	t.Helper()
	m, err := anesim.Read("net.yaml", strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Run runs the model m with the options o and returns the result. It ends the test if the run
// fails.
func Run(t *testing.T, m *anesim.Model, o anesim.Options) *anesim.Result {
	t.Helper()
	res, err := m.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Residual is the YAML text of a network with a branch: the result of its first layer stays in use
// while other layers run.
const Residual = `
inputs: {x: {c: 16, h: 12, w: 12}}
layers:
  - {name: a, op: conv, cout: 16, k: 3, pad: 1, act: relu, from: x}
  - {name: b, op: conv, cout: 16, k: 1, from: a}
  - {name: c, op: conv, cout: 16, k: 3, pad: 1, from: b}
  - {name: d, op: add, from: [a, c]}
  - {name: e, op: softmax, from: d}
`

// Observed is the YAML text of a network in which the result of every layer is an output, so that
// it runs as several descriptor chains.
const Observed = `
inputs: {x: {c: 16, h: 12, w: 12}}
layers:
  - {name: a, op: conv, cout: 16, k: 3, pad: 1, act: relu, from: x}
  - {name: b, op: conv, cout: 24, k: 1, from: a}
  - {name: c, op: conv, cout: 16, k: 3, pad: 1, from: b}
  - {name: d, op: add, from: [a, c]}
outputs: [a, b, c, d]
`

// LiveRows returns a copy of p whose tensors have a run-time parameter "rows" as their height. The
// program p must have one descriptor, and height must be the height of its tensors. LiveRows
// returns an error unless the descriptor writes exactly three height fields.
func LiveRows(p *loader.Program, height int) (*loader.Program, error) {
	q := *p
	q.Relocations = slices.Clone(p.Relocations)
	for d, err := range p.Descriptors() {
		if err != nil {
			return nil, err
		}
		for r := range regs.Registers() {
			for _, f := range r.Fields {
				name := r.Block + "." + r.Name + "." + f.Name
				if name != "Common.InDim.Hin" && name != "Common.OutDim.Hout" && name != "Common.TileCfg.TileHeight" {
					continue
				}
				for _, at := range p.WordsOf(d, r.Addr()) {
					q.Relocations = append(q.Relocations, loader.Relocation{
						Kind: loader.LiveIn, Task: d.Index, Register: r.Addr(), Off: at, Bit: f.Low, Width: f.Width,
						Value: uint64(height), Name: "rows", Range: loader.Range{Start: 1, Stop: uint64(height), Step: 1},
					})
				}
			}
		}
	}
	if n := len(q.Relocations) - len(p.Relocations); n != 3 {
		return nil, fmt.Errorf("descriptor writes %d height fields; want 3", n)
	}
	return &q, nil
}
