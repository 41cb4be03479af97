package network

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"anesim/internal/network/graph"
	ox "anesim/internal/network/onnxtest"
)

// newLoop returns a model with a loop of n iterations, where n is a part that defines the tensor n.
func newLoop(n ox.Message, body ...ox.Message) []byte {
	body = append([]ox.Message{ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h", 2, 4)}, append(body, ox.Output("go"), ox.Output("r"))...)
	return ox.Model(n, ox.Input("x", 2, 4), ox.Output("y"), ox.Node("Loop", "y", names("n", "", "x"), ox.Graph("body", body...)))
}

// TestLoopCountOfInput unrolls a loop as often as the value of an input says, which the user gives.
// Without a value, the reason says how to give it.
func TestLoopCountOfInput(t *testing.T) {
	file := newLoop(ox.InputOf(7, "n", 1), ox.Node("Relu", "r", names("h")))
	for _, count := range []int{1, 3} {
		n, err := ReadONNX(file, Options{Dims: map[string]int{"n": count}})
		if err != nil {
			t.Fatal(err)
		}
		if len(n.Layers) != count || findRefusal(n) != "" {
			t.Errorf("%d iterations become %d layers, refused: %q", count, len(n.Layers), findRefusal(n))
		}
	}
	n, err := ReadONNX(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `number of rounds is not constant: loop count depends on input "n"; choose it with --dim n=VALUE`; findRefusal(n) != want {
		t.Errorf("without a count: %q; want %q", findRefusal(n), want)
	}
}

// TestEndlessLoop refuses loops that small files repeat too often, alone and nested, soon.
func TestEndlessLoop(t *testing.T) {
	huge := ox.Whole("n", int(graph.Int64), 8, []int{}, 1<<62)
	inner := ox.Node("Loop", "r", names("n", "go", "h"), ox.Graph("body",
		ox.InputOf(7, "j"), ox.InputOf(9, "on"), ox.Input("g", 2, 4), ox.Node("Relu", "s", names("g")), ox.Output("on"), ox.Output("s")))
	for name, file := range map[string][]byte{
		"alone":  newLoop(huge, ox.Node("Identity", "r", names("h"))),
		"nested": newLoop(huge, inner),
		"a sequence that grows": ox.Model(huge, ox.Input("x", 2, 4), ox.Output("y"), ox.Node("SequenceEmpty", "e", nil), ox.Several("Loop", names("q"), names("n", "", "e"), ox.Graph("body",
			ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("list"), ox.Node("SequenceInsert", "more", names("list", "x")), ox.Output("go"), ox.Output("more"))), ox.Node("ConcatFromSequence", "y", names("q"))),
	} {
		start := time.Now()
		n, err := ReadONNX(file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		limit := "more than 512 rounds"
		if name == "nested" {
			limit = "more than 65536 nodes"
		}
		if why := findRefusal(n); !strings.Contains(why, limit) {
			t.Errorf("%s: %q; want %q", name, why, limit)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: refused after %v", name, took)
		}
	}
}

// TestRoundsOfLoops unrolls a Loop and a Scan of 512 rounds, and refuses 513 with the limit and a
// count that is computed with the reason.
func TestRoundsOfLoops(t *testing.T) {
	scan := func(rounds int) []byte {
		return ox.Model(ox.Input("h", 2, 4), ox.Input("x", rounds, 2, 4), ox.Output("y"), ox.Several("Scan", []string{"y"}, names("h", "x"), ox.Int("num_scan_inputs", 1), ox.Graph("body",
			ox.Input("a", 2, 4), ox.Input("b", 2, 4), ox.Node("Add", "r", names("a", "b")), ox.Output("r"))))
	}
	loop := func(rounds int) []byte {
		return newLoop(ox.Whole("n", int(graph.Int64), 8, []int{}, rounds), ox.Node("Relu", "r", names("h")))
	}
	for name, tc := range map[string]struct {
		file   []byte
		layers int
		why    string
	}{
		"a Loop of 3":   {loop(3), 3, ""},
		"a Loop of 512": {loop(512), 512, ""},
		"a Loop of 513": {loop(513), 0, "more than 512 rounds"},
		"a Scan of 513": {scan(513), 0, "scan has 513 rounds; want at most 512"},
		"a count that is computed": {ox.Model(ox.Input("x", 2, 4), ox.Output("y"), ox.Node("ReduceSum", "n", names("x"), ox.Int("keepdims", 0)), ox.Node("Loop", "y", names("n", "", "x"), ox.Graph("body",
			ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h", 2, 4), ox.Node("Relu", "r", names("h")), ox.Output("go"), ox.Output("r")))), 0, "number of rounds is not constant"},
	} {
		n, err := ReadONNX(tc.file, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		why := ""
		relus := 0
		for i := range n.Layers {
			if l := &n.Layers[i]; l.Reason != "" && l.Op != "ReduceSum" {
				why = l.Reason
			} else if l.Op == "Relu" {
				relus++
			}
		}
		if !strings.Contains(why, tc.why) || (why == "") != (tc.why == "") || relus != tc.layers {
			t.Errorf("%s: %d layers, refused: %q; want %d, %q", name, relus, why, tc.layers, tc.why)
		}
	}
	n, err := ReadONNX(scan(512), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if why := findRefusal(n); why != "" || len(n.Layers) < 512 {
		t.Errorf("a Scan of 512: %d layers, refused: %q", len(n.Layers), why)
	}
}

// TestNodesOfLoops unrolls a loop of 512 rounds to 51,712 nodes, and refuses one of 66,048, beyond the
// number of layers that a network may have.
func TestNodesOfLoops(t *testing.T) {
	for nodes, want := range map[int]string{100: "", 128: "more than 65536 nodes"} {
		last := "h"
		var body []ox.Message
		for i := range nodes - 1 {
			next := fmt.Sprintf("t%d", i)
			body = append(body, ox.Node("Identity", next, names(last)))
			last = next
		}
		body = append(body, ox.Node("Relu", "r", names(last)))
		n, err := ReadONNX(newLoop(ox.Whole("n", int(graph.Int64), 8, []int{}, 512), body...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if why := findRefusal(n); !strings.Contains(why, want) || (why == "") != (want == "") {
			t.Errorf("bodies of %d nodes: refused %q; want %q", nodes, why, want)
		}
	}
}

// TestSharedLoopWeights keeps one copy of the weights that all iterations of a loop multiply by,
// whether the file states them inside or outside the body.
func TestSharedLoopWeights(t *testing.T) {
	weights := ox.Constant("w", []int{128, 128}, make([]float32, 128*128)...)
	step := ox.Node("MatMul", "r", names("h", "w"))
	body := []ox.Message{ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h", 2, 128), step, ox.Output("go"), ox.Output("r")}
	for name, parts := range map[string][]ox.Message{
		"outside": {weights, ox.Node("Loop", "y", names("n", "", "x"), ox.Graph("body", body...))},
		"inside":  {ox.Node("Loop", "y", names("n", "", "x"), ox.Graph("body", append(body, weights)...))},
	} {
		n, err := ReadONNX(ox.Model(append(parts, ox.Whole("n", int(graph.Int64), 8, []int{}, 4), ox.Input("x", 2, 128), ox.Output("y"))...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(n.Layers) != 4 {
			t.Fatalf("%s: %d layers; want 4", name, len(n.Layers))
		}
		first := n.Layers[0].Weights.Filter
		for _, l := range n.Layers[1:] {
			if len(l.Weights.Filter) != len(first) || len(first) == 0 || &l.Weights.Filter[0] != &first[0] {
				t.Errorf("%s: %s has a copy of the weights", name, l.Name)
			}
		}
	}
}
