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
	"strings"

	"github.com/x448/float16"
	"google.golang.org/protobuf/encoding/protowire"

	"anesim"
	"anesim/hw"
	"anesim/loader/network"
	"anesim/loader/network/list"
	"anesim/loader/network/onnx"
)

// An Outcome is how a test ends.
type Outcome string

const (
	Pass    Outcome = "pass"
	Refused Outcome = "refused"
	Wrong   Outcome = "wrong"
	Other   Outcome = "other elements" // its tensors are no floats
)

// A Verdict is a test's outcome and why.
type Verdict struct {
	Name, Op string
	Outcome  Outcome
	Why      string
	Nodes    int
}

// Check runs the test in a directory.
func Check(dir string) Verdict {
	v := Verdict{Name: filepath.Base(dir)}
	data, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		v.Outcome, v.Why = Other, err.Error()
		return v
	}
	m, err := onnx.Read(data)
	if err != nil {
		v.Outcome, v.Why = Other, err.Error()
		return v
	}
	v.Nodes = len(m.Nodes)
	if v.Nodes > 0 {
		v.Op = m.Nodes[0].Op
	}
	in, err1 := tensors(dir, "input", names(m.Inputs))
	out, err2 := tensors(dir, "output", names(m.Outputs))
	if err := errors.Join(err1, err2); err != nil {
		v.Outcome, v.Why = Other, err.Error()
		return v
	}
	if !floats(m.Outputs, out) || len(in) > 0 && !slices.ContainsFunc(m.Inputs, func(x onnx.Value) bool { return in[x.Name] != nil && in[x.Name].Type.IsFloat() }) {
		v.Outcome, v.Why = Other, "no float elements in or out"
		return v
	}
	for _, x := range slices.Concat(m.Inputs, m.Outputs) {
		// Some files keep bfloat16 as whole numbers of 16 bits.
		if t := cmp.Or(in[x.Name], out[x.Name]); t != nil && t.Type != x.Type {
			v.Outcome, v.Why = Other, fmt.Sprintf("%q is stated as %v and stored as %v", x.Name, x.Type, t.Type)
			return v
		}
	}
	if name := coarse(in); name != "" {
		v.Outcome, v.Why = Other, fmt.Sprintf("%q has values that fp16 rounds by more than a quarter", name)
		return v
	}
	for _, constants := range []bool{false, true} {
		v.Outcome, v.Why = attempt(data, m, in, out, constants)
		if v.Outcome != Refused {
			break
		}
	}
	return v
}

func names(list []onnx.Value) (s []string) {
	for _, v := range list {
		s = append(s, v.Name)
	}
	return s
}

func floats(list []onnx.Value, t map[string]*onnx.Tensor) bool {
	for _, v := range list {
		if x := t[v.Name]; x == nil || !x.Type.IsFloat() {
			return false
		}
	}
	return true
}

// coarse names a tensor of values that fp16 cannot tell apart.
func coarse(in map[string]*onnx.Tensor) string {
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

// tensors reads the files of a data set.
func tensors(dir, kind string, names []string) (map[string]*onnx.Tensor, error) {
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

// attempt runs a model with whole numbers as constants, or all inputs but the first.
func attempt(data []byte, m *onnx.Model, in, out map[string]*onnx.Tensor, constants bool) (Outcome, string) {
	graph := message(data)
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
		graph = protowire.AppendTag(graph, 5, protowire.BytesType)
		graph = protowire.AppendBytes(graph, encode(x.Name, t))
	}
	n, err := network.ReadONNX(replaced(data, graph), network.Options{})
	if err != nil {
		return Refused, err.Error()
	}
	values := map[string][]float16.Float16{}
	for _, name := range inputs {
		if values[name], err = in[name].Halves(); err != nil {
			return Refused, err.Error()
		}
	}
	why, err := Run(n, values)
	if err != nil {
		return Wrong, err.Error()
	}
	for _, r := range n.Results {
		got, ok := values[r.Tensor]
		if !ok {
			return Refused, why
		}
		want, err := out[r.Name].Floats()
		if err != nil {
			return Refused, err.Error()
		}
		if bad := compare(got, want, tolerance(m.Nodes[0].Op)); bad != "" {
			return Wrong, r.Name + ": " + bad
		}
	}
	return Pass, ""
}

// Run computes a network on tensors, to which it adds the network's results. It returns why
// a layer was not computed, if one was not.
func Run(n *list.Network, tensors map[string][]float16.Float16) (why string, err error) {
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

// tolerance returns the relative tolerance for an operator. That of recurrent operators is larger, because
// they use tables in every step and the errors add up.
func tolerance(op string) float64 {
	if op == "LSTM" || op == "GRU" {
		return 2 * relative
	}
	return relative
}

// The tolerance: fp16 rounds at 2^-11, and what a layer is composed of rounds several
// times.
const relative = 6e-3 // of a value, and half of it of the largest: tables err by up to 3e-3

func compare(got []float16.Float16, want []float32, relative float64) string {
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

// message is the graph in a model.
func message(data []byte) []byte {
	var graph []byte
	walk(data, func(num protowire.Number, field, body []byte) {
		if num == 7 {
			graph = append(graph, body...)
		}
	})
	return graph
}

// replaced is a model with another graph.
func replaced(data, graph []byte) []byte {
	var out []byte
	walk(data, func(num protowire.Number, field, body []byte) {
		if num != 7 {
			out = append(out, field...)
		}
	})
	out = protowire.AppendTag(out, 7, protowire.BytesType)
	return protowire.AppendBytes(out, graph)
}

func walk(data []byte, visit func(num protowire.Number, field, body []byte)) {
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

// encode is a tensor as a constant of a graph, its numbers as float64.
func encode(name string, t *onnx.Tensor) []byte {
	var b []byte
	for _, d := range t.Dims {
		b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), uint64(d))
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), uint64(t.Type))
	b = protowire.AppendBytes(protowire.AppendTag(b, 8, protowire.BytesType), []byte(name))
	v, err := t.Numbers()
	if err != nil {
		return b
	}
	raw := make([]byte, 0, len(v)*t.Type.Width())
	for _, x := range v {
		raw = t.Type.Append(raw, x)
	}
	return protowire.AppendBytes(protowire.AppendTag(b, 9, protowire.BytesType), raw)
}

// Expanded reports whether a test states an operator in terms of others.
func Expanded(name string) bool { return strings.HasSuffix(name, "_expanded") }
