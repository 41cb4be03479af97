package onnxnodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/x448/float16"
	"google.golang.org/protobuf/encoding/protowire"

	"anesim"
	"anesim/hw"
	"anesim/internal/network/onnx"
	"anesim/internal/network/wire"
	"anesim/loader/network"
	"anesim/loader/network/list"
)

// An outcome is the kind of result of a node test.
type outcome string

const (
	passed  outcome = "pass"
	refused outcome = "refused"
	wrong   outcome = "wrong"
	skipped outcome = "other elements" // not run, for instance because the tensors are not floats
)

// A verdict is the outcome of a node test with its reason. Op is the operator of the first node,
// and Nodes is the number of nodes.
type verdict struct {
	Name, Op string
	Outcome  outcome
	Why      string
	Nodes    int
}

// checkDirectory runs the node test in dir. If the network is refused with tensors as inputs, it
// tries again with all inputs but the first as constants.
func checkDirectory(dir string) verdict {
	v := verdict{Name: filepath.Base(dir)}
	data, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		v.Outcome, v.Why = skipped, err.Error()
		return v
	}
	m, err := onnx.Read(data)
	if err != nil {
		v.Outcome, v.Why = skipped, err.Error()
		return v
	}
	v.Nodes = len(m.Nodes)
	if v.Nodes > 0 {
		v.Op = m.Nodes[0].Op
	}
	in, err1 := readTensors(dir, "input", valueNames(m.Inputs))
	out, err2 := readTensors(dir, "output", valueNames(m.Outputs))
	if err := errors.Join(err1, err2); err != nil {
		v.Outcome, v.Why = skipped, err.Error()
		return v
	}
	if !areFloats(m.Outputs, out) || len(in) > 0 && !slices.ContainsFunc(m.Inputs, func(x onnx.Value) bool { return in[x.Name] != nil && in[x.Name].Type.IsFloat() }) {
		v.Outcome, v.Why = skipped, "no float elements in or out"
		return v
	}
	for _, x := range slices.Concat(m.Inputs, m.Outputs) {
		// Some files keep bfloat16 as whole numbers of 16 bits.
		if t := cmp.Or(in[x.Name], out[x.Name]); t != nil && t.Type != x.Type {
			v.Outcome, v.Why = skipped, fmt.Sprintf("%q is stated as %v and stored as %v", x.Name, x.Type, t.Type)
			return v
		}
	}
	if name := findCoarseInput(in); name != "" {
		v.Outcome, v.Why = skipped, fmt.Sprintf("%q has values that fp16 rounds by more than a quarter", name)
		return v
	}
	for _, constants := range []bool{false, true} {
		v.Outcome, v.Why = runModel(data, m, in, out, constants)
		if v.Outcome != refused {
			break
		}
	}
	return v
}

func valueNames(list []onnx.Value) (s []string) {
	for _, v := range list {
		s = append(s, v.Name)
	}
	return s
}

func areFloats(list []onnx.Value, t map[string]*onnx.Tensor) bool {
	for _, v := range list {
		if x := t[v.Name]; x == nil || !x.Type.IsFloat() {
			return false
		}
	}
	return true
}

// findCoarseInput returns the name of an input with a value that fp16 rounds by more than 0.25,
// or "" if there is none. Expected results of such inputs cannot be compared.
func findCoarseInput(in map[string]*onnx.Tensor) string {
	for name, t := range in {
		v, err := t.Numbers()
		if err != nil || !t.Type.IsFloat() {
			continue
		}
		for _, x := range v {
			if h := float16.Fromfloat32(float32(x)); math.Abs(x) < 65504 && math.Abs(float64(h.Float32())-x) > 0.25 {
				return name
			}
		}
	}
	return ""
}

// readTensors reads the tensors of a test's first data set by name. The kind is "input" or
// "output". A tensor without a file, which is optional, is left out.
func readTensors(dir, kind string, names []string) (map[string]*onnx.Tensor, error) {
	list := map[string]*onnx.Tensor{}
	for i, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, "test_data_set_0", fmt.Sprintf("%s_%d.pb", kind, i)))
		if errors.Is(err, os.ErrNotExist) {
			continue // an optional one
		}
		if err != nil {
			return nil, err
		}
		t, err := onnx.ReadTensor(b)
		if err != nil {
			return nil, err
		}
		list[name] = t
	}
	return list, nil
}

// runModel runs the model in data and compares its results with out. Inputs that are not floats
// become constants of the graph. If constants is set, so do all other inputs but the first.
// runModel returns the outcome and its reason.
func runModel(data []byte, m *onnx.Model, in, out map[string]*onnx.Tensor, constants bool) (outcome, string) {
	graph := graphOf(data)
	var inputs []string
	for i, x := range m.Inputs {
		t := in[x.Name]
		if t == nil {
			continue
		}
		if t.Type.IsFloat() && (i == 0 || !constants) {
			inputs = append(inputs, x.Name)
			continue
		}
		graph = wire.Encoding(graph).Bytes(5, encodeConstant(x.Name, t))
	}
	n, err := network.ReadONNX(replaceGraph(data, graph), network.Options{})
	if err != nil {
		return refused, err.Error()
	}
	values := map[string][]float16.Float16{}
	for _, name := range inputs {
		if values[name], err = in[name].Halves(); err != nil {
			return refused, err.Error()
		}
	}
	why, err := runNetwork(n, values)
	if err != nil {
		return wrong, err.Error()
	}
	for _, r := range n.Results {
		got, ok := values[r.Tensor]
		if !ok {
			return refused, why
		}
		want, err := out[r.Name].Floats()
		if err != nil {
			return refused, err.Error()
		}
		if bad := diffElements(got, want, tolerance(m.Nodes[0].Op)); bad != "" {
			return wrong, r.Name + ": " + bad
		}
	}
	return passed, ""
}

// runNetwork computes a network on the engine. It reads the inputs from tensors, by name, and
// adds the results to it. If a layer was not computed, why is the reason; otherwise it is "".
func runNetwork(n *list.Network, tensors map[string][]float16.Float16) (why string, err error) {
	o := anesim.Options{Chip: hw.M1(), Values: true, Seed: 1, Inputs: map[string][]float16.Float16{}}
	for _, in := range n.Inputs {
		if v, ok := tensors[in.Name]; ok {
			o.Inputs[in.Name] = v
		}
	}
	res, err := anesim.FromNetwork(n).Run(context.Background(), o)
	var input *anesim.InputError
	if errors.As(err, &input) { // a tensor without elements
		return err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	for i := range res.Layers {
		if l := &res.Layers[i]; why == "" && (!l.Modelled() || l.Note != "") {
			why = l.Layer.Name + ": " + cmp.Or(l.Reason, l.Note)
		}
	}
	for _, r := range n.Results {
		for _, out := range res.Outputs {
			if out.Port.Name == r.Name {
				tensors[r.Tensor] = out.Data
			}
		}
	}
	return why, nil
}

// tolerance returns the relative tolerance for the results of an operator. That of LSTM and GRU
// is larger, because the errors of tables add up over the steps.
func tolerance(op string) float64 {
	if op == "LSTM" || op == "GRU" {
		return 2 * relativeTolerance
	}
	return relativeTolerance
}

// relativeTolerance is the largest error of an element as a fraction of its value, plus half of
// that as a fraction of the largest element. The engine's tables err by up to 3e-3, and the
// layers of one operator round several times to the 2^-11 of fp16.
const relativeTolerance = 6e-3

// diffElements returns the first difference of got from want that exceeds the relative
// tolerance, or "" if there is none.
func diffElements(got []float16.Float16, want []float32, relative float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d elements, want %d", len(got), len(want))
	}
	largest := 0.0
	for _, w := range want {
		if !math.IsInf(float64(w), 0) && !math.IsNaN(float64(w)) {
			largest = max(largest, math.Abs(float64(w)))
		}
	}
	for i, w := range want {
		g, w := float64(got[i].Float32()), float64(w)
		if math.IsNaN(w) && math.IsNaN(g) || g == w || math.Abs(w) > 65504 && math.IsInf(g, 0) {
			continue
		}
		if d := math.Abs(g - w); !(d <= relative*math.Abs(w)+relative/2*max(largest, 1e-3)) {
			return fmt.Sprintf("element %d is %g, want %g", i, g, w)
		}
	}
	return ""
}

// graphOf returns the encoded graph of an encoded ONNX model.
func graphOf(data []byte) []byte {
	var graph []byte
	walkFields(data, func(num protowire.Number, field, body []byte) {
		if num == 7 {
			graph = append(graph, body...)
		}
	})
	return graph
}

// replaceGraph returns an encoded ONNX model with another encoded graph.
func replaceGraph(data, graph []byte) []byte {
	var out wire.Encoding
	walkFields(data, func(num protowire.Number, field, body []byte) {
		if num != 7 {
			out = append(out, field...)
		}
	})
	return out.Bytes(7, graph)
}

// walkFields calls visit for each field of an encoded protocol-buffer message: with its number,
// the whole field, and the value without tag and length.
func walkFields(data []byte, visit func(num protowire.Number, field, body []byte)) {
	for len(data) > 0 {
		num, wire, tag := protowire.ConsumeTag(data)
		n := protowire.ConsumeFieldValue(num, wire, data[tag:])
		if tag < 0 || n < 0 {
			return
		}
		body := data[tag : tag+n]
		if wire == protowire.BytesType {
			body, _ = protowire.ConsumeBytes(body)
		}
		visit(num, data[:tag+n], body)
		data = data[tag+n:]
	}
}

// encodeConstant returns t as an encoded constant of a graph, with the given name.
func encodeConstant(name string, t *onnx.Tensor) []byte {
	var m wire.Encoding
	for _, d := range t.Dims {
		m = m.Int(1, int(d))
	}
	m = m.Int(2, int(t.Type)).Text(8, name)
	v, err := t.Numbers()
	if err != nil {
		return m
	}
	raw := make([]byte, 0, len(v)*t.Type.Width())
	for _, x := range v {
		raw = t.Type.Append(raw, x)
	}
	return m.Bytes(9, raw)
}
