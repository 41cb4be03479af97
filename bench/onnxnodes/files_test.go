package onnxnodes

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/loader/network"
	"anesim/loader/network/onnx"
)

// A tensor is float64 values, those of a plain reference.
type tensor struct {
	dims []int
	v    []float64
}

func (t tensor) size() int { return len(t.v) }

// TestFiles computes whole files, which ONNX_FILES names, and compares them with a plain
// float64 reference where that has all of a file's operators.
func TestFiles(t *testing.T) {
	files := strings.Fields(os.Getenv("ONNX_FILES"))
	if len(files) == 0 {
		t.Skip("ONNX_FILES names no files")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := onnx.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		n, err := network.ReadONNX(data, network.Options{})
		if err != nil {
			t.Logf("%s: %v", file, err)
			continue
		}
		values, want := map[string][]float16.Float16{}, map[string]tensor{}
		for k, in := range n.Inputs {
			x := tensor{in.Dims, make([]float64, in.Shape.Elements())}
			half := make([]float16.Float16, len(x.v))
			for i := range half {
				half[i] = float16.Fromfloat32(float32(math.Sin(float64(i*7+k)) * 0.9))
				x.v[i] = float64(half[i].Float32())
			}
			values[in.Name], want[in.Name] = half, x
		}
		if op := reference(m, want); op != "" {
			t.Logf("%s: no reference of %s", file, op)
			continue
		}
		if why, err := Run(n, values); err != nil || why != "" {
			t.Errorf("%s: %v %s", file, err, why)
		}
		within := 0.0
		for i := range m.Nodes {
			for _, x := range want[m.Nodes[i].Outputs[0]].v {
				within = max(within, math.Abs(x))
			}
		}
		for _, r := range n.Results {
			got, ref := values[r.Tensor], want[r.Name]
			if len(got) != ref.size() {
				t.Errorf("%s: %s has %d elements, want %d", file, r.Name, len(got), ref.size())
				continue
			}
			worst, largest := 0.0, 0.0
			for i, w := range ref.v {
				worst = max(worst, math.Abs(float64(got[i].Float32())-w))
				largest = max(largest, math.Abs(w))
			}
			t.Logf("%s: %s: worst error %.3g of %.3g, tensors between layers up to %.3g", file, r.Name, worst, largest, within)
			// Roundings to fp16 add up over layers, of tensors as large as those between them;
			// a table errs by up to 3e-3.
			const table = 3e-3
			if layers := float64(len(n.Layers)); !(worst <= table+within*math.Sqrt(layers)/(1<<10)) {
				t.Errorf("%s: %s: worst error %g of %g", file, r.Name, worst, largest)
			}
		}
	}
}

// reference computes a graph's tensors and returns the operator that it does not have.
func reference(m *onnx.Model, t map[string]tensor) string {
	for name, c := range m.Constants {
		v, err := c.Numbers()
		if err != nil {
			return name
		}
		x := rounded(tensor{nil, v})
		for _, d := range c.Dims {
			x.dims = append(x.dims, int(d))
		}
		t[name] = x
	}
	for i := range m.Nodes {
		node := &m.Nodes[i]
		var in []tensor
		for _, name := range node.Inputs {
			in = append(in, t[name])
		}
		list := func(name string, missing ...int) []int {
			if a := node.Attributes[name]; a != nil {
				out := make([]int, len(a.Ints))
				for i, v := range a.Ints {
					out[i] = int(v)
				}
				return out
			}
			return missing
		}
		one := func(name string, missing int) int {
			if a := node.Attributes[name]; a != nil {
				return int(a.Int)
			}
			return missing
		}
		var out tensor
		switch node.Op {
		case "Relu":
			out = tensor{in[0].dims, slices.Clone(in[0].v)}
			for i := range out.v {
				out.v[i] = max(0, out.v[i])
			}
		case "LeakyRelu", "Sigmoid":
			out = tensor{in[0].dims, slices.Clone(in[0].v)}
			for i, x := range out.v {
				switch {
				case node.Op == "Sigmoid":
					out.v[i] = 1 / (1 + math.Exp(-x))
				case x < 0:
					out.v[i] = x * float64(node.Attributes["alpha"].Float)
				}
			}
		case "Max":
			if len(in[1].v) == 1 {
				in[0], in[1] = in[1], in[0]
			}
			if len(in[0].v) != 1 {
				return "Max of two tensors"
			}
			out = tensor{in[1].dims, slices.Clone(in[1].v)}
			for i := range out.v {
				out.v[i] = max(out.v[i], in[0].v[0])
			}
		case "Flatten":
			out = tensor{[]int{in[0].dims[0], len(in[0].v) / in[0].dims[0]}, in[0].v}
		case "Gemm":
			var bias []float64
			if len(in) > 2 {
				bias = in[2].v
			}
			out = multiplied(in[0], in[1], one("transB", 0) != 0, bias)
		case "Add":
			if !slices.Equal(in[0].dims, in[1].dims) {
				return "Add with a broadcast"
			}
			out = tensor{in[0].dims, slices.Clone(in[0].v)}
			for i := range out.v {
				out.v[i] += in[1].v[i]
			}
		case "ConstantOfShape":
			e := 1
			for _, d := range in[0].v {
				out.dims, e = append(out.dims, int(d)), e*int(d)
			}
			out.v = make([]float64, e)
		case "Reshape":
			out = tensor{nil, in[0].v}
			e := 1
			for _, d := range in[1].v {
				out.dims = append(out.dims, int(d))
				e *= max(1, int(d))
			}
			for i, d := range out.dims {
				if d == -1 {
					out.dims[i] = len(out.v) / e
				}
			}
		case "Transpose":
			out = transposed(in[0], list("perm"))
		case "Concat":
			out = concatenated(in, one("axis", 1))
		case "MaxPool", "Conv":
			d := in[0].dims
			pads, strides := list("pads", 0, 0, 0, 0), list("strides", 1, 1)
			if a := node.Attributes["auto_pad"]; a != nil && a.Text != "NOTSET" || len(d) != 4 {
				return node.Op + " of another form"
			}
			kernel := list("kernel_shape")
			w := tensor{[]int{d[1], 1, 0, 0}, nil}
			if node.Op == "Conv" {
				w = in[1]
				kernel = w.dims[2:]
			}
			var bias []float64
			if len(in) > 2 {
				bias = in[2].v
			}
			out = windowed(in[0], w, bias, kernel, strides, pads, one("group", 1), node.Op == "MaxPool")
		default:
			return node.Op
		}
		t[node.Outputs[0]] = rounded(out)
	}
	return ""
}

// rounded is a tensor in fp16, as every one between layers is.
func rounded(t tensor) tensor {
	for i, x := range t.v {
		if math.Abs(x) < 65504 { // a shape's numbers may be larger
			t.v[i] = float64(float16.Fromfloat32(float32(x)).Float32())
		}
	}
	return t
}

// multiplied is a times b, or times b with its axes transposed, and a row of addends.
func multiplied(a, b tensor, turned bool, bias []float64) tensor {
	m, k := a.dims[0], a.dims[1]
	n, row, column := b.dims[1], b.dims[1], 1
	if turned {
		n, row, column = b.dims[0], 1, k
	}
	out := tensor{[]int{m, n}, make([]float64, m*n)}
	for i := range m {
		for j := range n {
			sum := 0.0
			if bias != nil {
				sum = bias[j]
			}
			for q := range k {
				sum += float64(a.v[i*k+q] * b.v[q*row+j*column])
			}
			out.v[i*n+j] = sum
		}
	}
	return out
}

func transposed(x tensor, perm []int) tensor {
	steps := make([]int, len(x.dims))
	for i, s := len(x.dims)-1, 1; i >= 0; i-- {
		steps[i], s = s, s*x.dims[i]
	}
	out := tensor{make([]int, len(perm)), make([]float64, len(x.v))}
	for i, p := range perm {
		out.dims[i] = x.dims[p]
	}
	for i := range out.v {
		at, rest := 0, i
		for k := len(perm) - 1; k >= 0; k-- {
			at += rest % out.dims[k] * steps[perm[k]]
			rest /= out.dims[k]
		}
		out.v[i] = x.v[at]
	}
	return out
}

func concatenated(in []tensor, axis int) tensor {
	out := tensor{slices.Clone(in[0].dims), nil}
	before := 1
	for _, d := range out.dims[:axis] {
		before *= d
	}
	for _, x := range in[1:] {
		out.dims[axis] += x.dims[axis]
	}
	for b := range before {
		for _, x := range in {
			n := len(x.v) / before
			out.v = append(out.v, x.v[b*n:(b+1)*n]...)
		}
	}
	return out
}

// windowed is a convolution, or a maximum over windows of each channel.
func windowed(x, w tensor, bias []float64, kernel, strides, pads []int, groups int, largest bool) tensor {
	d := x.dims
	cout := w.dims[0]
	if largest {
		groups = d[1]
	}
	high, wide := (d[2]+pads[0]+pads[2]-kernel[0])/strides[0]+1, (d[3]+pads[1]+pads[3]-kernel[1])/strides[1]+1
	out := tensor{[]int{d[0], cout, high, wide}, make([]float64, d[0]*cout*high*wide)}
	each := d[1] / groups
	for at := range out.v {
		ox, oy, o, n := at%wide, at/wide%high, at/wide/high%cout, at/wide/high/cout
		sum := 0.0
		if largest {
			sum = math.Inf(-1)
		}
		if bias != nil {
			sum = bias[o]
		}
		for i := range each {
			c := o/(cout/groups)*each + i
			for ky := range kernel[0] {
				for kx := range kernel[1] {
					y, xx := oy*strides[0]+ky-pads[0], ox*strides[1]+kx-pads[1]
					if y < 0 || y >= d[2] || xx < 0 || xx >= d[3] {
						continue
					}
					v := x.v[((n*d[1]+c)*d[2]+y)*d[3]+xx]
					if largest {
						sum = max(sum, v)
					} else {
						sum += float64(v * w.v[((o*each+i)*kernel[0]+ky)*kernel[1]+kx])
					}
				}
			}
		}
		out.v[at] = sum
	}
	return out
}
