package agreement

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim/bench/internal/onnxgraph"
	"anesim/bench/internal/onnxruntime"
	"anesim/bench/randomgraph"
	"anesim/internal/network/onnx"
)

// cropsUnchangedAxis reports whether a node of g resizes a region by tf_crop_and_resize, and the
// region is smaller than the tensor along an axis whose size does not change. ONNX defines the same
// coordinates for such an axis as for any other. onnxruntime copies its elements instead (seen in
// graph 2711477, where it returns element 0 and the definition is the mean of elements 0 and 1).
func cropsUnchangedAxis(g *onnxgraph.Graph) bool {
	return slices.ContainsFunc(g.Nodes, func(n *onnxgraph.Node) bool {
		if n.Op != "Resize" || !slices.ContainsFunc(n.Attributes, func(a onnxgraph.Attribute) bool { return a.Text == "tf_crop_and_resize" }) {
			return false
		}
		i := slices.IndexFunc(g.Constants, func(c *onnxgraph.Tensor) bool { return c.Name == n.Inputs[1] })
		if i < 0 {
			return false
		}
		region, from, to := g.Constants[i].Values, g.Values[n.Inputs[0]].Dims, g.Values[n.Outputs[0]].Dims
		for k := range from {
			if from[k] == to[k] && (region[k] != 0 || region[k+len(from)] != 1) {
				return true
			}
		}
		return false
	})
}

// TestCropOfUnchangedAxis checks that TestRuntime leaves out the graph in which onnxruntime differs
// from the definition, and that the engine follows the definition there.
func TestCropOfUnchangedAxis(t *testing.T) {
	g := randomgraph.New(2711477, randomgraph.Options{})
	if !cropsUnchangedAxis(g) {
		t.Error("graph 2711477 has no region that is cropped along an axis whose size does not change")
	}
	if what := diffDefinition(g); what != "" {
		t.Error(what)
	}
}

// TestRuntime compares random graphs with onnxruntime if $ORT_DIR has it: both the definition
// that the other tests use and the engine. It counts the graphs that onnxruntime does not
// run.
func TestRuntime(t *testing.T) {
	if err := onnxruntime.Find(); err != nil {
		t.Skip("it takes Node.js, and a directory in ORT_DIR where npm install onnxruntime-node ran: ", err)
	}
	refused := map[string]int{}
	compared := 0
	const batch = 500 // graphs for one start of node
	for first := uint64(0); first < uint64(*graphs); first += batch {
		dir := t.TempDir()
		var list []*Network
		var dirs []string
		for i := first; i < min(first+batch, uint64(*graphs)); i++ {
			g := randomgraph.New(*seed+i, randomgraph.Options{})
			if findGap(g) != "" || cropsUnchangedAxis(g) {
				continue
			}
			n, err := Read(g.Encode(), graphInputs(g))
			if err != nil {
				t.Fatalf("seed %d: %v", *seed+i, err)
			}
			list, dirs = append(list, n), append(dirs, filepath.Join(dir, fmt.Sprint(*seed+i)))
			if err := g.Save(dirs[len(dirs)-1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := onnxruntime.Run(dirs...); err != nil {
			t.Fatal(err)
		}
		for i, n := range list {
			switch what, err := n.compareRuntime(dirs[i]); {
			case err != nil:
				refused[err.Error()]++
			case what != "" && saturatesPairs(n.Model):
				refused["it differs, and onnxruntime may saturate its sums of pairs"]++
			case what != "":
				t.Errorf("seed %s: %s", filepath.Base(dirs[i]), what)
				fallthrough
			default:
				compared++
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d graphs were compared with onnxruntime", compared)
	for _, what := range slices.Sorted(maps.Keys(refused)) {
		t.Logf("%d graphs are left out: %s", refused[what], what)
	}
	if compared*10 < *graphs*9 {
		t.Errorf("onnxruntime runs %d of %d graphs", compared, *graphs)
	}
}

// saturatesPairs reports whether a node of m multiplies uint8 by constants of int8 so large that two products
// may exceed int16. On processors with AVX2 but without VNNI, onnxruntime adds such pairs in int16 and
// saturates them, as its documentation of quantization says. In graph 611293848 it returns 102, and the
// sum is exactly 98.2.
func saturatesPairs(m *onnx.Model) bool {
	const most = (1<<15 - 1) / 255 / 2
	return slices.ContainsFunc(m.Nodes, func(n onnx.Node) bool {
		if !strings.HasPrefix(n.Op, "QLinear") && !strings.HasSuffix(n.Op, "Integer") {
			return false
		}
		return slices.ContainsFunc(n.Inputs, func(name string) bool {
			w := m.Constants[name]
			if w == nil || w.Type != onnx.Int8 {
				return false
			}
			values, err := w.Numbers()
			return err == nil && slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v) > most })
		})
	})
}

// TestSaturatedPairs checks that TestRuntime knows the graph in which onnxruntime saturates, and that the
// engine follows the definition there.
func TestSaturatedPairs(t *testing.T) {
	g := randomgraph.New(611293848, randomgraph.Options{})
	n, err := Read(g.Encode(), graphInputs(g))
	if err != nil {
		t.Fatal(err)
	}
	if !saturatesPairs(n.Model) {
		t.Error("graph 611293848 has no weights of int8 whose products may be saturated")
	}
	if what := diffDefinition(g); what != "" {
		t.Error(what)
	}
}

// compareRuntime returns how n differs from the outputs that onnxruntime stored in dir. It returns
// an error if onnxruntime reported one.
func (n *Network) compareRuntime(dir string) (string, error) {
	single, err := onnxruntime.Outputs(dir, n.Model)
	if err != nil {
		return "", err
	}
	for _, out := range n.Model.Outputs {
		got, want := single[out.Name], n.Exact[out.Name]
		if got.Type != want.Type || len(got.Data) != len(want.Data) {
			return fmt.Sprintf("%s is %v %v, and %v %v in onnxruntime", out.Name, want.Type, want.Dims, got.Type, got.Dims), nil
		}
		// float32 has 13 more bits than fp16, whose error tolerance counts tenfold. What is
		// halfway between two steps of eight bits goes either way.
		tolerance := n.outputTolerance(out.Name) / 64
		if slices.ContainsFunc(n.Model.Nodes, func(x onnx.Node) bool { return strings.Contains(x.Op, "QuantizeLinear") }) {
			tolerance = n.outputTolerance(out.Name) / 8
		}
		// The definition does not round the tensors that the file has in fp16, as onnxruntime does.
		if slices.ContainsFunc(n.Model.Nodes, castsToHalf) {
			tolerance = n.outputTolerance(out.Name)
		}
		if want.Type == onnx.Uint8 || want.Type == onnx.Int8 {
			tolerance = max(tolerance, 1)
		}
		for i, w := range want.Data {
			g := got.Data[i]
			if g != w && !(math.Abs(g-w) <= tolerance) && g == g && w == w && math.Abs(w) < math.MaxFloat32 {
				return fmt.Sprintf("%s: element %d of %v is %g, and %g in onnxruntime; tolerance %g", out.Name, i, want.Dims, w, g, tolerance), nil
			}
		}
	}
	results, err := Run(n.File, n.Inputs, false)
	if err != nil {
		return "not run: " + err.Error(), nil
	}
	measured := *n
	measured.Exact = single
	return measured.compare(results), nil
}

// castsToHalf reports whether a node makes a tensor of fp16 from another type.
func castsToHalf(n onnx.Node) bool {
	to := n.Attributes["to"]
	return n.Op == "Cast" && to != nil && onnx.DataType(to.Int) == onnx.Float16
}
