package agreement

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim"
	"anesim/bench/internal/reference"
	"anesim/bench/internal/reference/tensor"
	"anesim/bench/internal/summation"
	"anesim/internal/datapath/mac"
	"anesim/internal/network/onnx"
	"anesim/loader/network"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

// A Network is an ONNX file with inputs, and the outputs that package reference computes for them.
// All maps are keyed by the name of the tensor. Exact holds the expected outputs. Half, Added and
// Tabled hold outputs with rounding errors like the engine's. Where these are far from Exact, the
// engine's results may be too.
type Network struct {
	Model   *onnx.Model
	File    []byte
	Inputs  map[string]*tensor.Tensor
	Exact   map[string]*tensor.Tensor // outputs computed in float64
	Half    map[string]*tensor.Tensor // outputs if each node's results are rounded to fp16, and quantized halves up
	Largest float64                   // largest finite magnitude of any float tensor, including inner ones
	Added   map[string]*tensor.Tensor // outputs like Half, with sums of products in the engine's arithmetic
	// Tabled has three versions of the outputs, with the largest errors of the engine's
	// activation tables: all downwards, in random directions, and all upwards. It is nil if no
	// node uses a table.
	Tabled []map[string]*tensor.Tensor

	limited map[string]*tensor.Tensor // see limitedOutput
}

// Read reads an ONNX file and computes its outputs for the given inputs with package reference.
// Errors are those of [onnx.Read] and [reference.Run].
func Read(file []byte, inputs map[string]*tensor.Tensor) (*Network, error) {
	m, err := onnx.Read(file)
	if err != nil {
		return nil, err
	}
	n := &Network{Model: m, File: file, Inputs: inputs}
	observe := func(_ *onnx.Node, results []*tensor.Tensor) {
		for _, t := range results {
			n.recordLargest(t)
		}
	}
	for _, t := range inputs {
		n.recordLargest(t)
	}
	if n.Exact, err = reference.Run(m, inputs, reference.Options{Observe: observe}); err != nil {
		return nil, err
	}
	if n.Half, err = reference.Run(m, inputs, reference.Options{Round: roundToHalf, Nearest: roundHalvesUp, Function: endFunctions}); err != nil {
		return nil, err
	}
	if n.Added, err = reference.Run(m, inputs, reference.Options{Round: tensor.RoundHalf, Reduce: summation.H13.Reduce, Function: endFunctions}); err != nil {
		return nil, err
	}
	// Tables may err to one side all along, so errors of random sign alone would understate the tolerance.
	for _, direction := range [...]int{-1, 0, 1} {
		noise := newTableErrorNoise(m, direction)
		if noise == nil {
			break
		}
		noisy, err := reference.Run(m, inputs, reference.Options{Round: noise, Function: endFunctions})
		if err != nil {
			return nil, err
		}
		n.Tabled = append(n.Tabled, noisy)
	}
	return n, nil
}

// roundToHalf rounds an element of a tensor to fp16. If the element is too large for fp16, the
// result of an operator becomes infinite, and an element of an input or a constant (op is "")
// becomes the largest fp16 number, as in converters of models.
func roundToHalf(op string, v float64) float64 {
	h := tensor.RoundHalf(op, v)
	if op == "" && math.IsInf(h, 0) && !math.IsInf(v, 0) {
		return math.Copysign(65504, v)
	}
	return h
}

// endFunctions ends two functions where the engine does and leaves others exact. A softplus is 0 from
// [mac.SoftplusEnd] on. A length, the root of a sum of squares, is infinite where fp16 does not hold the sum,
// from 256 on: a reduction hands its sum to the root as a tensor, or the squares alone exceed fp16.
func endFunctions(name string, x float64) (y float64, ok bool) {
	if name == "Sqrt" && math.IsInf(tensor.RoundHalf("", x), 0) {
		return math.Inf(1), true
	}
	return 0, name == "Softplus" && x >= mac.SoftplusEnd
}

// roundHalvesUp returns the integer nearest to v, and of two equally near ones the larger one, as
// the engine's sum with a number between 1024 and 2048 does. In ONNX it is the even one.
func roundHalvesUp(v float64) float64 { return math.Floor(v + 0.5) }

// recordLargest raises n.Largest to the largest finite magnitude in the float tensor t. It does
// nothing if t is nil.
func (n *Network) recordLargest(t *tensor.Tensor) {
	if t == nil || !t.Type.IsFloat() {
		return
	}
	for _, v := range t.Data {
		if a := math.Abs(v); a < math.MaxFloat32 {
			n.Largest = max(n.Largest, a)
		}
	}
}

// A Result is one output of a network, as computed by the model of the engine.
type Result struct {
	Name  string
	Type  string
	Dims  []int
	Data  []float64 // nil if the output was not computed
	Notes []string  // remarks of the run, such as where the engine's results differ from ONNX's
}

// Run computes the outputs of an ONNX file with the model of the engine and returns them by name.
// If inMemory is true, tensors between layers are kept in memory instead of L2. Run returns an
// error if the file cannot be read or run; a panic becomes an error that begins with "panic".
func Run(file []byte, inputs map[string]*tensor.Tensor, inMemory bool) (results map[string]*Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	n, err := network.ReadONNX(file, network.Options{})
	if err != nil {
		return nil, err
	}
	n.InMemory = inMemory
	results, _, err = runNetwork(n, inputs)
	return results, err
}

// runNetwork computes the outputs of a network with the model of the engine and returns them by
// name. It also returns the coverage: how many of the network's nodes ran on the engine or the
// host. runNetwork returns an error if an input is missing or the run fails.
func runNetwork(n *list.Network, inputs map[string]*tensor.Tensor) (map[string]*Result, partition.Coverage, error) {
	o := anesim.Options{Values: true, Seed: 1, Inputs: map[string][]float16.Float16{}, Numbers: map[string][]float64{}}
	for _, in := range n.Inputs {
		t := inputs[in.Name]
		if t == nil {
			return nil, partition.Coverage{}, fmt.Errorf("missing input %q", in.Name)
		}
		// Not every index above 2048 is a number of fp16, so the layers of the host get the exact values.
		o.Numbers[in.Name] = t.Data
		o.Inputs[in.Name] = toFloat16(t.Data)
	}
	res, err := anesim.FromNetwork(n).Run(context.Background(), o)
	if err != nil {
		return nil, partition.Coverage{}, err
	}
	notes := slices.Concat(n.Notes, res.PrecisionNotes())
	results := map[string]*Result{}
	for _, out := range n.Results {
		results[out.Name] = &Result{Name: out.Name, Type: out.Type, Notes: notes}
	}
	for i := range res.Outputs {
		out := &res.Outputs[i]
		r := results[out.Port.Name]
		if r == nil { // a list of layers names only tensors
			r = &Result{Name: out.Port.Name, Notes: notes}
			results[out.Port.Name] = r
		}
		r.Type, r.Dims, r.Data = out.Type, out.Shape(), out.Numbers
		if r.Data == nil {
			r.Data = make([]float64, len(out.Data))
			for k, h := range out.Data {
				r.Data[k] = float64(h.Float32())
			}
		}
	}
	return results, res.Coverage(), nil
}

func toFloat16(v []float64) []float16.Float16 {
	h := make([]float16.Float16, len(v))
	for i, x := range v {
		h[i] = float16.Fromfloat32(float32(x))
	}
	return h
}

// sumLimit is the magnitude above which the engine's sums may become infinite: 32768 minus 2% for
// rounding.
const sumLimit = 32768 * 0.98

// compare compares results, computed by the engine, with the outputs of n. It returns one line for
// each output that is missing, has another type or shape, or differs by more than its tolerance.
// The tolerance is computed from Half, Added and Tabled. Compare returns "" if all outputs agree.
func (n *Network) compare(results map[string]*Result) string {
	var lines []string
	for _, out := range n.Model.Outputs {
		if what := n.compareOutput(out.Name, results[out.Name]); what != "" {
			lines = append(lines, out.Name+": "+what)
		}
	}
	return strings.Join(lines, "\n")
}

// limitedOutput returns the named output like n.Half, but with sums of products that are infinite if a
// partial sum exceeds sumLimit. On the engine such a sum stays infinite, even if later terms bring it back
// (measured; see package mac).
func (n *Network) limitedOutput(name string) *tensor.Tensor {
	if n.limited == nil {
		var err error
		n.limited, err = reference.Run(n.Model, n.Inputs, reference.Options{Round: roundToHalf, Nearest: roundHalvesUp, Reduce: addLimited, Function: endFunctions})
		if err != nil { // as n.Half has been computed, and other sums stop nothing
			panic(err)
		}
	}
	return n.limited[name]
}

// addLimited adds the sum of panel[k*len(acc)+l]*taps[k] over all k to acc[l], for each l. The sum becomes
// infinite if a partial one exceeds sumLimit.
func addLimited(acc, panel, taps []float64) {
	for l, sum := range acc {
		for k, w := range taps {
			sum += panel[k*len(acc)+l] * w
			if math.Abs(sum) > sumLimit {
				sum = math.Inf(int(math.Copysign(1, sum)))
				break
			}
		}
		acc[l] = sum
	}
}

// compareOutput compares the engine's result got with the named output of n. It returns a
// description of the difference, or "" if all elements agree within the output's tolerance. An
// element that equals the one in n.Half always agrees, and so does one that follows from an infinite
// partial sum.
func (n *Network) compareOutput(name string, got *Result) string {
	want, half := n.Exact[name], n.Half[name]
	switch {
	case got == nil || got.Data == nil:
		return "not computed"
	case got.Type != want.Type.String():
		return fmt.Sprintf("type %s; want %v", got.Type, want.Type)
	case !slices.Equal(got.Dims, want.Dims):
		return fmt.Sprintf("shape %v; want %v", got.Dims, want.Dims)
	}
	tolerance := n.outputTolerance(name)
	worst, at := 0.0, -1
	for i, w := range want.Data {
		g := got.Data[i]
		d := math.Abs(g - w)
		switch {
		case g == w, half.Data[i] == g, w != w, math.IsInf(half.Data[i], 0), half.Data[i] != half.Data[i]:
			d = 0 // fp16 rounding explains g, or does not give a finite number either
		case math.Abs(w) > sumLimit && math.IsInf(g, 0):
			d = 0
		case d != d:
			d = math.Inf(1)
		}
		// That sums have a limit is asked last, as few graphs reach it and the limited outputs cost a run.
		if d > tolerance {
			if l := n.limitedOutput(name).Data[i]; l == g || math.IsInf(l, 0) && math.IsInf(g, 0) || l != l {
				d = 0
			}
		}
		if d > worst {
			worst, at = d, i
		}
	}
	if worst > tolerance {
		return fmt.Sprintf("element %d of %v is %g; want %g (difference %g, tolerance %g)", at, want.Dims, got.Data[at], want.Data[at], worst, tolerance)
	}
	return ""
}
