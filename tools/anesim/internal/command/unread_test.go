package command

import (
	"strings"
	"testing"

	"anesim/internal/network/onnxtest"
)

// A node with an input or an attribute that nothing reads is left out of the model, and the report
// says which one it is.
func TestUnreadPartsOfNodes(t *testing.T) {
	x := onnxtest.Input("x", 1, 4, 2, 2)
	for _, tc := range []struct {
		node onnxtest.Message
		want string
	}{
		{onnxtest.Node("Relu", "y", []string{"x"}, onnxtest.Int("shift", 1)), `attribute "shift" of operator Relu is not modelled`},
		{onnxtest.Node("Relu", "y", []string{"x", "x"}), `input 1 ("x") of operator Relu is not modelled`},
		{onnxtest.NodeOf("com.example", "Relu", "y", []string{"x"}), `operator com.example.Relu is not modelled`},
		{onnxtest.Node("Nonesuch", "y", []string{"x"}), `operator Nonesuch is not modelled`},
	} {
		file := writeFile(t, "net.onnx", onnxtest.Model(x, tc.node, onnxtest.Output("y")))
		for _, args := range [][]string{{"model", file}, {"model", file, "--values"}} {
			out, errs, _ := invoke(args...)
			if !strings.Contains(out, tc.want) || !strings.Contains(out, "INCOMPLETE") || strings.Contains(out, "y [") {
				t.Errorf("%v: want %q, and no values:\n%s%s", args, tc.want, out, errs)
			}
		}
	}
}

// An output that the operator does not have leaves out its readers, and nothing else.
func TestUnknownOutputs(t *testing.T) {
	for _, op := range []string{"Relu", "Dropout", "Shape", "Identity", "Softmax", "Asinh"} {
		node := onnxtest.Several(op, []string{"a", "b", "c"}, []string{"x"})
		file := writeFile(t, "net.onnx", onnxtest.Model(onnxtest.Input("x", 1, 4, 2, 2), node, onnxtest.Node("Neg", "y", []string{"c"}), onnxtest.Output("y")))
		out, errs, _ := invoke("model", file, "--values")
		if want := `output 2 ("c") of operator ` + op + " is not modelled"; !strings.Contains(out, want) || strings.Contains(out, "y [") {
			t.Errorf("want %q, and no values:\n%s%s", want, out, errs)
		}
	}
}

// An operator set that is newer than every known one is a note.
func TestNewOperatorSet(t *testing.T) {
	file := onnxtest.Model(onnxtest.Input("x", 1, 4, 2, 2), onnxtest.Node("Relu", "y", []string{"x"}), onnxtest.Output("y"))
	for version, want := range map[int]bool{22: false, 25: false, 30: true} {
		newer := append(file[:len(file):len(file)], onnxtest.Message{}.Bytes(8, onnxtest.Message{}.Int(2, version))...)
		out, errs, _ := invoke("model", writeFile(t, "net.onnx", newer))
		if strings.Contains(out+errs, "operator set") != want {
			t.Errorf("operator set %d: a note is wanted: %v:\n%s%s", version, want, out, errs)
		}
	}
}

// The filter of an average pool is no weight that the file should have had.
func TestAverageHasItsWeights(t *testing.T) {
	pool := onnxtest.Node("AveragePool", "y", []string{"x"}, onnxtest.List("kernel_shape", 3, 2), onnxtest.List("strides", 3, 2))
	file := writeFile(t, "net.onnx", onnxtest.Model(onnxtest.Input("x", 1, 16, 6, 8), pool, onnxtest.Output("y")))
	if r := model(t, file); r.Memory.MadeUp {
		t.Error("weights_made_up is true for a network without weights")
	}
	lacks := onnxtest.Node("Conv", "y", []string{"x", "w"})
	file = writeFile(t, "net.onnx", onnxtest.Model(onnxtest.Input("x", 1, 16, 6, 8), onnxtest.Constant("w", []int{4, 16, 1, 1}), lacks, onnxtest.Output("y")))
	if r := model(t, file); !r.Memory.MadeUp {
		t.Error("weights_made_up is false for a convolution without weights")
	}
}
