package command

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	ox "anesim/internal/network/onnxtest"
)

// A sizedInput is what a command of TestGrowth reads. "FILE" in an argument is the name of the file.
type sizedInput struct {
	args []string
	data []byte // of a file that follows the first argument, or nil
	work int    // units that docs/limits.md counts
}

// networkInput returns an ONNX file, made of parts, for the command model. The argument work is its
// size.
func networkInput(work int, parts ...ox.Message) sizedInput {
	return sizedInput{[]string{"model"}, ox.Model(parts...), work}
}

// packedIntegers returns a constant of n integers, in one byte each.
func packedIntegers(name string, n int) ox.Message {
	m := ox.Message{}.Int(1, n).Int(2, 7).Text(8, name)
	return ox.Message{}.Bytes(5, m.Bytes(7, bytes.Repeat([]byte{1}, n)))
}

// rawFloats returns a constant of the given shape with n numbers in fp32.
func rawFloats(name string, n int, dims ...int) ox.Message {
	var m ox.Message
	for _, d := range dims {
		m = m.Int(1, d)
	}
	return ox.Message{}.Bytes(5, m.Int(2, 1).Text(8, name).Bytes(9, bytes.Repeat([]byte{0, 0, 0, 0x3f}, n)))
}

// batchedProducts returns a network of six matmuls with n products each, every one of which is a
// descriptor. The results of all products stay in L2 until the next matmul reads them.
func batchedProducts(n int) sizedInput {
	parts := []ox.Message{ox.Input("x", n, 6, 6), ox.Input("z", n, 6, 6), ox.Output("y")}
	from := "x"
	for _, to := range []string{"a", "b", "c", "d", "e", "y"} {
		parts = append(parts, ox.Node("MatMul", to, []string{from, "z"}))
		from = to
	}
	return networkInput(6*n, parts...)
}

// hostInput returns a network with a single node, which the host computes from an input x of n
// elements. The command computes values if n is at most 2^22.
func hostInput(n int, node ox.Message) sizedInput {
	n = min(n, 1<<22)
	in := networkInput(n, ox.Input("x", n>>5, 32), ox.Output("y"), node)
	in.args = []string{"model", "--values"}
	return in
}

// unit returns the number of layers or descriptors that a size of 1 stands for: long in the long
// test, and short otherwise.
func unit(short, long int) int {
	if os.Getenv("LONG") != "" {
		return long
	}
	return short
}

// growthRows has the rows of docs/limits.md, each with an input for a size from 1.
var growthRows = []struct {
	name, ext string
	input     func(size int) sizedInput
	memory    float64       // bytes for a unit of work: a byte, a part or a descriptor
	extra     int           // bytes that do not depend on the work
	time      time.Duration // of the processor for a unit of work
}{
	{"constants of an ONNX file", ".onnx", func(n int) sizedInput {
		n <<= unit(20, 22) // bytes
		return networkInput(n, ox.Input("x", 1, n>>12, 1, 1), rawFloats("w", n>>2, 1<<10, n>>12, 1, 1), ox.Output("y"), ox.Node("Conv", "y", []string{"x", "w"}))
	}, 2, 0, 10 * time.Nanosecond},
	{"constants of a MIL text", ".mil", func(n int) sizedInput {
		n <<= unit(15, 17) // numbers
		const number = "0x1p+0, "
		text := "program(1.0)\n{\n    func main<ios16>(tensor<fp16, [1, " + strconv.Itoa(n) + "]> x) {\n        tensor<fp16, [1, " + strconv.Itoa(n) +
			"]> w = const()[val = tensor<fp16, [1, " + strconv.Itoa(n) + "]>([[" + strings.Repeat(number, n-1) + "0x1p+0]])];\n" +
			"        tensor<fp16, [1, " + strconv.Itoa(n) + "]> y = add(x = x, y = w);\n    } -> (y);\n}\n"
		return sizedInput{[]string{"model"}, []byte(text), len(text)}
	}, 16, 16 << 20, 200 * time.Nanosecond},
	{"computed constants", ".onnx", func(n int) sizedInput {
		n <<= unit(18, 20) // bytes
		return networkInput(n, ox.Input("x", 1, 1, 1, 1), rawFloats("w", n>>2, n>>2), ox.Output("y"), ox.Node("Sin", "a", []string{"w"}),
			ox.Node("Mul", "b", []string{"a", "w"}), ox.Node("Add", "c", []string{"b", "a"}), ox.Node("ReduceSum", "d", []string{"c"}), ox.Node("Add", "y", []string{"x", "d"}))
	}, 16, 16 << 20, 200 * time.Nanosecond},
	{"computed constants that repeat", ".onnx", func(n int) sizedInput {
		n *= 256 << 10 // bytes; a product of two such constants has the square of their numbers
		return networkInput(n, ox.Input("x", 1, 1, 1, 1), rawFloats("w", n>>3, n>>3, 1), rawFloats("v", n>>3, 1, n>>3), ox.Output("y"),
			ox.Node("Mul", "b", []string{"v", "w"}), ox.Node("ReduceSum", "d", []string{"b"}), ox.Node("Add", "y", []string{"x", "d"}))
	}, 16, 16 << 20, 200 * time.Nanosecond},
	{"places of a Gather", ".onnx", func(n int) sizedInput {
		n <<= 20
		return networkInput(n, ox.Input("x", 1, 4, 4, 4), packedIntegers("i", n), ox.Output("y"), ox.Node("Gather", "y", []string{"x", "i"}, ox.Int("axis", 1)))
	}, 24, 0, 200 * time.Nanosecond},
	{"a shape of many numbers", ".onnx", func(n int) sizedInput {
		n *= 256 << 10
		return networkInput(n, ox.Input("x", 1, 4, 4, 4), packedIntegers("i", n), ox.Output("y"), ox.Node("Reshape", "y", []string{"x", "i"}))
	}, 32, 0, 200 * time.Nanosecond},
	{"a constant without values", ".onnx", func(n int) sizedInput {
		n *= 4 << 20 // elements
		return networkInput(n, ox.Input("x", 1, n>>10, 1, 1), ox.Constant("w", []int{1 << 10, n >> 10, 1, 1}), ox.Output("y"), ox.Node("Conv", "y", []string{"x", "w"}))
	}, 2, 0, 10 * time.Nanosecond},
	{"layers of YAML", ".yaml", func(n int) sizedInput {
		n *= unit(100, 1000)
		return sizedInput{[]string{"model"}, reluLayers(n), n}
	}, 64 << 10, 0, 500 * time.Microsecond},
	{"products of a batch", ".onnx", func(n int) sizedInput { return batchedProducts(unit(40, 400) * n) }, 64 << 10, 0, 150 * time.Microsecond},
	{"products of a batch, checked", ".onnx", func(n int) sizedInput {
		in := batchedProducts(unit(25, 100) * n)
		in.args = []string{"check", "--update", "--baseline", "FILE.json"}
		return in
	}, 64 << 10, 0, 150 * time.Microsecond},
	{"products of a batch, compared", ".onnx", func(n int) sizedInput {
		in := batchedProducts(unit(25, 100) * n)
		in.args = []string{"diff", "FILE"}
		in.work *= 2
		return in
	}, 64 << 10, 0, 150 * time.Microsecond},
	{"products of a batch, explained", ".onnx", func(n int) sizedInput {
		in := batchedProducts(unit(25, 100) * n)
		in.args = []string{"explain"}
		in.work *= explainedChanges
		return in
	}, 16 << 10, 0, 50 * time.Microsecond},
	{"branches of a sum", ".onnx", func(n int) sizedInput {
		n *= unit(500, 250)
		parts := []ox.Message{ox.Input("x", 1, 8, 8, 8), ox.Output("y")}
		var names []string
		for i := range n {
			names = append(names, "a"+strconv.Itoa(i))
			parts = append(parts, ox.Node("Relu", names[i], []string{"x"}))
		}
		return networkInput(2*n, append(parts, ox.Node("Sum", "y", names))...)
	}, 64 << 10, 0, 150 * time.Microsecond},
	{"matmuls of two tensors, added at the end", ".onnx", func(n int) sizedInput {
		n *= unit(500, 130)
		parts := []ox.Message{ox.Input("x", 16, 16), ox.Input("z", 16, 16), ox.Output("y")}
		var names []string
		for i := range n {
			names = append(names, "a"+strconv.Itoa(i))
			parts = append(parts, ox.Node("MatMul", names[i], []string{"x", "z"}))
		}
		return networkInput(2*n, append(parts, ox.Node("Sum", "y", names))...) // layers
	}, 64 << 10, 0, 500 * time.Microsecond},
	{"parts of a split, joined in reverse", ".onnx", func(n int) sizedInput {
		n *= unit(1000, 130)
		var names []string
		for i := range n {
			names = append(names, "a"+strconv.Itoa(i))
		}
		split := ox.Several("Split", names, []string{"x"}, ox.Int("axis", 1))
		reversed := slices.Clone(names)
		slices.Reverse(reversed)
		return networkInput(2*n, ox.Input("x", 1, n, 8, 8), ox.Output("y"), split, ox.Node("Concat", "y", reversed, ox.Int("axis", 1)))
	}, 64 << 10, 0, 150 * time.Microsecond},
	{"steps of an LSTM", ".onnx", func(n int) sizedInput {
		n = min(512, unit(3, 16)*n)
		return networkInput(26*n, ox.Input("x", n, 1, 16), ox.Constant("w", []int{1, 64, 16}), ox.Constant("r", []int{1, 64, 16}), ox.Output("y"),
			ox.Node("LSTM", "y", []string{"x", "w", "r"}, ox.Int("hidden_size", 16)))
	}, 96 << 10, 0, time.Millisecond},
	{"an input that the host reads", ".onnx", func(n int) sizedInput {
		return hostInput(n<<unit(18, 20), ox.Node("ReduceMax", "y", []string{"x"}, ox.Int("keepdims", 0)))
	}, 10, 0, 100 * time.Nanosecond},
	{"results of the host", ".onnx", func(n int) sizedInput {
		return hostInput(n<<unit(16, 18), ox.Node("NonZero", "y", []string{"x"}))
	}, 40, 0, 100 * time.Nanosecond},
	{"elements that the host sorts", ".onnx", func(n int) sizedInput {
		return hostInput(n<<unit(15, 17), ox.Node("Unique", "y", []string{"x"}))
	}, 72, 0, time.Microsecond},
	{"tensors of a layer", "", func(n int) sizedInput {
		n <<= 20 // elements
		return sizedInput{[]string{"layer", "relu", "c=16", "h=256", "w=" + strconv.Itoa(n>>12)}, nil, 4 * n}
	}, 2, 0, 10 * time.Nanosecond},
	{"tensors of 8-bit elements", ".yaml", func(n int) sizedInput {
		n *= 64 // of a batch
		data := "inputs: {x: {n: " + strconv.Itoa(n) + ", c: 64, w: 256}}\nlayers:\n- {op: logical_not}\n"
		return sizedInput{[]string{"model", "--values"}, []byte(data), 2 * n * 64 * 256}
	}, 4, 16 << 20, 40 * time.Nanosecond},
	{"tensors in float32", ".yaml", func(n int) sizedInput {
		n <<= 20 // elements
		data := "inputs: {x: {c: 16, h: 256, w: " + strconv.Itoa(n>>12) + "}}\nlayers:\n- {op: gelu}\n"
		return sizedInput{[]string{"model", "--compare", "fp32"}, []byte(data), 4 * n}
	}, 5, 0, 40 * time.Nanosecond},
	{"sampled sums", "", func(n int) sizedInput {
		n <<= 20 // elements
		return sizedInput{[]string{"layer", "conv", "cin=16", "cout=16", "h=256", "w=" + strconv.Itoa(n>>12), "--precision"}, nil, 4 * n}
	}, 2, 64 << 20, 20 * time.Nanosecond},
	{"parts of a concat", ".yaml", func(n int) sizedInput {
		n *= 4000
		return sizedInput{[]string{"model"}, []byte("inputs:\n  x: {c: 32, h: 14, w: 14}\nlayers:\n  - {op: concat, from: [x" + strings.Repeat(", x", n) + "]}\n"), n}
	}, 2 << 10, 0, 20 * time.Microsecond},
	{"parts of a concat in words", "", func(n int) sizedInput {
		n *= 4000
		return sizedInput{[]string{"layer", "concat", "h=4", "w=4", "parts=1" + strings.Repeat("+1", n)}, nil, n}
	}, 2 << 10, 0, 20 * time.Microsecond},
}

// explainedChanges is a number of changes that explain times at least for a network of matmuls,
// each over all descriptors.
const explainedChanges = 8

// TestGrowth runs commands on inputs of three sizes for each row of docs/limits.md. It compares
// the memory and the time of a unit of work, over what the program takes without any, with that
// row: what grows faster than the work exceeds it at the largest size.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("inputs of megabytes, each in a process of its own, are too slow for a short run")
	}
	t.Parallel() // with TestPeakMemory: both wait for other processes
	sizes := [...]int{1, 2, 4}
	if os.Getenv("LONG") != "" {
		sizes = [...]int{10, 20, 60}
	}
	for _, row := range growthRows {
		t.Run(row.name, func(t *testing.T) {
			for _, n := range sizes {
				in := row.input(n)
				growth{row.memory, row.extra, row.time, in.work}.check(t, in.args, row.ext, in.data)
			}
		})
	}
}

// A growth is what a command may take of an input, over what it takes without one.
type growth struct {
	memory float64       // bytes for a unit of work
	extra  int           // bytes that do not depend on the work
	time   time.Duration // of the processor for a unit of work
	work   int           // units of the input
}

// check runs a command and compares its memory and time with the limits of g. Other work on the
// machine makes a command slower, so a run that takes too long is repeated, and its time is
// compared with the limit times the slowdown of the machine in that moment.
func (g growth) check(t *testing.T, args []string, ext string, data []byte) {
	t.Helper()
	const attempts = 4
	for i := 1; ; i++ {
		mb, took := attacked(t, args, ext, data)
		memory := float64(max(0, mb<<20-basisMemory<<20-g.extra)) / float64(g.work)
		perUnit := max(0, took-basisTime) / time.Duration(g.work)
		t.Logf("%d units: %d MB, %.0f bytes a unit; %v, %v a unit", g.work, mb, memory, took, perUnit)
		if memory > g.memory {
			t.Errorf("%d units: %d MB, %.0f bytes a unit, want at most %.0f", g.work, mb, memory, g.memory)
			return
		}
		if perUnit <= g.time {
			return
		}
		slow := slowdown(t)
		if float64(perUnit) <= slow*float64(g.time) {
			t.Logf("the machine is %.1f times slower than the one of docs/limits.md", slow)
			return
		}
		if i == attempts {
			t.Errorf("%d units: %v, %v a unit on a machine that is %.1f times slower than the one of docs/limits.md, want at most %v times that", g.work, took, perUnit, slow, g.time)
			return
		}
	}
}

// referenceTime is the processor time that a network of referenceLayers takes on the machine of
// docs/limits.md without other work.
const (
	referenceLayers = 500
	referenceTime   = 100 * time.Millisecond
)

// slowdown times a network of referenceLayers and returns how many times slower it is than on the
// machine of docs/limits.md, but at least 1.
func slowdown(t *testing.T) float64 {
	t.Helper()
	_, took := attacked(t, []string{"model"}, ".yaml", reluLayers(referenceLayers))
	return max(1, float64(took)/float64(referenceTime))
}

// reluLayers returns a network of n layers in YAML.
func reluLayers(n int) []byte {
	return []byte("inputs:\n  x: {c: 32, h: 14, w: 14}\nlayers:\n" + strings.Repeat("  - {op: relu}\n", n))
}

// TestSlowdown checks that slowdown is not so large that TestGrowth would accept any time.
func TestSlowdown(t *testing.T) {
	if testing.Short() {
		t.Skip("a process of its own is too slow for a short run")
	}
	if s := slowdown(t); s > 20 {
		t.Errorf("the reference network takes %.1f times as long as on the machine of docs/limits.md, want at most 20", s)
	} else {
		t.Logf("slowdown of %.2f", s)
	}
}

// What a command takes without an input, and without what a test's own program adds.
const (
	basisMemory = 40 // MB
	basisTime   = 100 * time.Millisecond
)
