package agreement

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/bench/internal/reference"
	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
	"anesim/loader/network"
)

var (
	inspected = flag.String("inspect", "", "ONNX file whose tensors are compared one by one")
	openSizes = flag.String("dim", "", "sizes that -inspect's file leaves open, as in N=1,H=32")
)

// TestTensors makes every tensor of the file named by -inspect an output. It logs how far
// each is from its definition, and how far fp16, tables and sums explain. If the first
// is many times the second, a layer is wrong, unless the defect depends on merged layers,
// which the outputs prevent.
func TestTensors(t *testing.T) {
	if *inspected == "" {
		t.Skip("-inspect names no ONNX file whose tensors are compared, as in go test -run TestTensors -inspect net.onnx")
	}
	file, err := os.ReadFile(*inspected)
	if err != nil {
		t.Fatal(err)
	}
	var o network.Options
	if *openSizes != "" {
		if o.Dims, err = network.ParseDims(*openSizes); err != nil {
			t.Fatal(err)
		}
	}
	m, err := onnx.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := network.ReadONNX(addOutputs(file, m), o)
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := plausibleInputs(n, m, o.Dims, 1)
	if err != nil {
		t.Fatal(err)
	}
	results, _, err := runNetwork(n, inputs)
	if err != nil {
		t.Fatal(err)
	}
	exact, rounded := computeTensors(t, m, inputs, definitions[0]), computeTensors(t, m, inputs, definitions[3])
	for i := range m.Nodes {
		for _, name := range m.Nodes[i].Outputs {
			r, want := results[name], exact[name]
			if r == nil || r.Data == nil || want == nil || !want.Type.IsFloat() || len(r.Data) != len(want.Data) {
				continue
			}
			t.Logf("%-14s %-50s %-18s %.2g, explained %.2g", m.Nodes[i].Op, name, fmt.Sprint(want.Dims),
				measureDifference(r.Data, want.Data).RMS, measureDifference(rounded[name].Data, want.Data).RMS)
		}
	}
}

// computeTensors computes all tensors of a model, including inner ones, and returns them by name.
func computeTensors(t *testing.T, m *onnx.Model, inputs map[string]*tensor.Tensor, o reference.Options) map[string]*tensor.Tensor {
	t.Helper()
	all := map[string]*tensor.Tensor{}
	o.Observe = func(n *onnx.Node, results []*tensor.Tensor) {
		for i, r := range results {
			if r != nil {
				all[n.Outputs[i]] = r
			}
		}
	}
	if _, err := reference.Run(m, inputs, o); err != nil {
		t.Fatal(err)
	}
	return all
}

// addOutputs returns a copy of the ONNX file in which the results of all nodes are outputs of the
// graph.
func addOutputs(file []byte, m *onnx.Model) []byte {
	var graph []byte
	known := map[string]bool{}
	for _, out := range m.Outputs {
		known[out.Name] = true
	}
	for i := range m.Nodes {
		for _, name := range m.Nodes[i].Outputs {
			if name == "" || known[name] {
				continue
			}
			value := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
			graph = protowire.AppendBytes(protowire.AppendTag(graph, 12, protowire.BytesType), value)
		}
	}
	var out []byte
	for len(file) > 0 {
		num, kind, tag := protowire.ConsumeTag(file)
		size := protowire.ConsumeFieldValue(num, kind, file[tag:])
		if num == 7 {
			body, _ := protowire.ConsumeBytes(file[tag:])
			out = protowire.AppendBytes(protowire.AppendTag(out, 7, protowire.BytesType), append(append([]byte{}, body...), graph...))
		} else {
			out = append(out, file[:tag+size]...)
		}
		file = file[tag+size:]
	}
	return out
}
