package command

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"anesim/internal/network/keys"
	ox "anesim/internal/network/onnxtest"
)

// Limits of a command that reads a small file, whatever shapes the file declares.
const (
	attackMemory = 2 << 10          // MB resident
	attackRoom   = 6 << 30          // bytes of address space, beyond which the process dies
	attackTime   = 60 * time.Second // of processors; other work on the machine may stretch it
)

// TestLargeShapes runs commands on small random files whose shapes and counts reach 2^40. Each
// command runs in a process of its own, whose memory and time must stay within attackMemory and
// attackTime. LONG=1 draws a thousand files for each reader; SEED and ATTACKS set the seed and the
// number of files.
func TestLargeShapes(t *testing.T) {
	if testing.Short() {
		t.Skip("a process for each of many files is too slow for a short run")
	}
	t.Parallel()
	draws, seed := 4, uint64(1)
	if os.Getenv("LONG") != "" {
		draws, seed = 1000, uint64(time.Now().UnixNano())
	}
	if v, err := strconv.Atoi(os.Getenv("ATTACKS")); err == nil {
		draws = v
	}
	if v, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = v
	}
	t.Logf("seed %d, %d files a reader", seed, draws)
	for _, a := range []struct {
		reader string
		draw   func(*attacker) ([]string, string, []byte)
	}{{"ONNX", (*attacker).onnx}, {"MIL", (*attacker).mil}, {"YAML", (*attacker).yaml}, {"layer", (*attacker).layer},
		{"Core ML", (*attacker).coreml}, {"scripts", (*attacker).script}, {"text", (*attacker).text}, {"programs", (*attacker).program},
	} {
		t.Run(a.reader, func(t *testing.T) {
			var memory int
			var longest time.Duration
			for i := range draws {
				r := &attacker{rand.New(rand.NewPCG(seed, uint64(i)))}
				args, ext, data := a.draw(r)
				mb, took := attacked(t, args, ext, data)
				memory, longest = max(memory, mb), max(longest, took)
			}
			t.Logf("at most %d MB and %v", memory, longest)
		})
	}
}

// attacked runs a command on a file with the given data, if any, and returns its peak of resident
// memory in MB and its processor time. The name of the file follows the first argument and replaces
// "FILE" in the others.
func attacked(t *testing.T, args []string, ext string, data []byte) (mb int, took time.Duration) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "x"+ext)
	if data != nil {
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
		args = append([]string{args[0], file}, args[1:]...)
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "FILE", file)
		}
	}
	c := process(t, args...)
	status := filepath.Join(dir, "status")
	c.Env = append(c.Env, statusFile+"="+status, roomVariable+"="+strconv.Itoa(attackRoom))
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	const stretch = 10
	stop := time.AfterFunc(stretch*attackTime, func() { c.Process.Signal(syscall.SIGKILL) })
	c.Wait() // a file may be refused
	stop.Stop()
	took = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	what := func() string { return fmt.Sprintf("%q of %.1000q", args, data) }
	b, err := os.ReadFile(status)
	if err != nil {
		t.Errorf("%s: %v after %v: %.300s", what(), c.ProcessState, took, errs.String())
		return 0, took
	}
	_, peak, _ := strings.Cut(string(b), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(peak)[0])
	if err != nil {
		t.Fatal(err)
	}
	if mb = kb >> 10; mb > attackMemory || bytes.Contains(errs.Bytes(), []byte("panic")) {
		t.Errorf("%s: %d MB: %.300s", what(), mb, errs.String())
	}
	if os.Getenv("VERBOSE") != "" && (mb > 700 || took > 5*time.Second) {
		t.Logf("%d MB, %v: %s", mb, took, what())
	}
	return mb, took
}

// TestStatedShapes runs commands on files of a few bytes with large shapes. An earlier version ran
// out of memory or took a minute for each of them.
func TestStatedShapes(t *testing.T) {
	if testing.Short() {
		t.Skip("a process for each of many files is too slow for a short run")
	}
	t.Parallel()
	in := func(names ...string) []string { return names }
	sum := func(op string) []byte {
		return ox.Model(ox.Input("x", 1, 4, 1, 10000), ox.Input("z", 1, 1, 10000, 1), ox.Output("y"), ox.Node(op, "y", in("x", "z")))
	}
	for _, c := range []struct {
		name string
		args []string
		ext  string
		data []byte
		most int // MB
		took time.Duration
	}{
		{"Add of two that repeat", []string{"model"}, ".onnx", sum("Add"), 40, 5 * time.Second},
		{"Max of two that repeat", []string{"model"}, ".onnx", sum("Max"), 40, 5 * time.Second},
		{"Pow of two that repeat", []string{"model"}, ".onnx", sum("Pow"), 40, 5 * time.Second},
		{"Where of two that repeat", []string{"model"}, ".onnx", ox.Model(
			ox.Input("x", 1, 4, 1, 10000), ox.Input("z", 1, 1, 10000, 1), ox.Output("y"), ox.Node("Greater", "c", in("x", "z")), ox.Node("Where", "y", in("c", "x", "z"))), 40, 5 * time.Second},
		{"Expand", []string{"model"}, ".onnx", ox.Model(
			ox.Input("x", 1, 4, 1, 1), ox.Ints("s", 1, 4, 1<<14, 1<<13), ox.Output("y"), ox.Node("Expand", "y", in("x", "s"))), 40, 5 * time.Second},
		{"a border of many numbers", []string{"model"}, ".onnx", ox.Model(
			ox.Input("x", 1, 4, 16, 16), ox.Ints("p", 0, 0, 1<<22, 0, 0, 0, 0, 0), ox.Constant("v", nil, 1), ox.Output("y"), ox.Node("Pad", "y", in("x", "p", "v"))), 40, 5 * time.Second},
		{"taps far apart", []string{"model"}, ".onnx", ox.Model(
			ox.Input("x", 1, 1, 1<<14, 1<<14), ox.Constant("w", []int{1, 1, 2, 2}, 1, 2, 3, 4), ox.Output("y"),
			ox.Node("Conv", "y", in("x", "w"), ox.List("dilations", 1<<14-2, 1<<14-2))), 40, 5 * time.Second},
		{"a constant without values", []string{"model"}, ".onnx", ox.Model(
			ox.Input("x", 1, 1, 1, 1), ox.Constant("w", []int{1, 1 << 14, 1 << 15, 1}), ox.Output("y"), ox.Node("Add", "y", in("x", "w"))), 40, 5 * time.Second},
		{"an input that the host reads", []string{"model", "--values"}, ".onnx", ox.Model(
			ox.Input("x", 1<<20, 1<<20), ox.Output("y"), ox.Node("ReduceMax", "y", in("x"), ox.Int("keepdims", 0))), 40, 5 * time.Second},
		{"a sum that became 65,533 layers", []string{"model"}, ".mil", []byte("program(1.0)\n{\n    func main<ios16>(tensor<fp16, [16384, 2, 8192]> x) {\n" +
			"        tensor<fp16, [1, 1]> y = reduce_sum(x = x, axes = int32(34359738369), axis = int32(0));\n    } -> (y);\n}\n"), 40, 5 * time.Second},
		{"lengths for one axis", []string{"model", "--values"}, ".onnx", ox.Model(
			ox.Input("x", 1<<18), ox.Input("z", 1<<18), ox.Output("y"), ox.Node("ReverseSequence", "y", in("x", "z"))), 60, 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			if mb, took := attacked(t, c.args, c.ext, c.data); mb > c.most || took > c.took {
				t.Errorf("%d MB and %v, want at most %d MB and %v", mb, took, c.most, c.took)
			}
		})
	}
}

// TestMemoryLimit checks that a command collects garbage before it takes 2 GB. The layer has 53,248
// descriptors, whose values take too long for a normal run.
func TestMemoryLimit(t *testing.T) {
	if os.Getenv("GOMEMLIMIT") == "" {
		invoke("version")
		if n := debug.SetMemoryLimit(-1); n != softMemory {
			t.Errorf("a command runs with a memory limit of %d bytes, want %d", n, softMemory)
		}
	}
	if os.Getenv("LONG") == "" {
		return
	}
	layer := strings.Fields("layer deconv n=4096 cin=30 w=1 cout=25 kh=25 kw=14 sx=11 pad=1")
	if mb, took := attacked(t, layer, "", nil); mb > attackMemory {
		t.Errorf("%d MB and %v, want at most %d MB", mb, took, attackMemory)
	}
}

// An attacker draws random files with large shapes.
type attacker struct{ *rand.Rand }

// size returns a random size: from 1 to 8, or near a power of two of at most 2^40.
func (r *attacker) size() int {
	if r.IntN(3) == 0 {
		return 1 + r.IntN(8)
	}
	return r.near(40)
}

// near returns a random number that differs by at most 1 from a power of two of at most 2^most.
func (r *attacker) near(most int) int { return max(1, 1<<r.IntN(most+1)+r.IntN(3)-1) }

// shape returns a random shape with rank axes. In three of four cases the number of elements is
// small enough for a reader to accept the shape.
func (r *attacker) shape(rank int) []int {
	dims, left := make([]int, rank), 12+r.IntN(28)
	if r.IntN(4) == 0 {
		for i := range dims {
			dims[i] = r.size()
		}
		return dims
	}
	for range 2 * rank {
		i := r.IntN(rank)
		n := r.IntN(left + 1)
		if n > 24 {
			n = 24
		}
		dims[i], left = max(dims[i], 1)<<n, left-n
	}
	for i := range dims {
		dims[i] = min(max(1, dims[i]), 1<<40)
	}
	return dims
}

// partner returns a random shape that often, but not always, broadcasts to dims.
func (r *attacker) partner(dims []int) []int {
	out := append([]int{}, dims...)
	for i := range out {
		switch r.IntN(6) {
		case 0, 1:
			out[i] = 1
		case 2:
			if dims[i] == 1 {
				out[i] = r.near(24)
			}
		}
	}
	if r.IntN(4) == 0 {
		out = out[r.IntN(len(out)):]
	}
	return out
}

var attackOperators = strings.Fields(`Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast Clip Compress Concat
	ConstantOfShape Conv ConvTranspose CumSum DepthToSpace DequantizeLinear Div Dropout Einsum Equal Erf Exp Expand
	EyeLike Flatten GRU Gather GatherElements GatherND Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater
	GridSample GroupNormalization Hardmax InstanceNormalization LRN LSTM LayerNormalization LogSoftmax LpNormalization
	LpPool MatMul Max MaxPool Mean MeanVarianceNormalization Min Mod Mul NonMaxSuppression NonZero OneHot PRelu Pad Pow
	QuantizeLinear RMSNormalization RNN RandomNormalLike RandomUniformLike Range ReduceLogSumExp ReduceMax ReduceMean
	ReduceMin ReduceProd ReduceSum Relu Reshape Resize ReverseSequence RoiAlign ScatterElements ScatterND Shape Sigmoid
	Slice Softmax SpaceToDepth Split Squeeze Sub Sum Tile TopK Transpose Trilu Unique Unsqueeze Upsample Where STFT DFT
	MatMulInteger ConvInteger DynamicQuantizeLinear`)

func (r *attacker) onnx() (args []string, ext string, data []byte) {
	dims := r.shape(1 + r.IntN(5))
	parts := []ox.Message{ox.Input("x", dims...), ox.Output("y")}
	last := "x"
	for k := range 1 + r.IntN(3) {
		name := fmt.Sprintf("n%d", k)
		inputs := []string{last}
		for i := range r.IntN(4) {
			in := fmt.Sprintf("%s_%d", name, i)
			switch r.IntN(5) {
			case 0:
				parts = append(parts, ox.Input(in, r.partner(dims)...))
			case 1:
				parts = append(parts, ox.Constant(in, r.partner(dims))) // in a file that is not there
			case 2:
				parts = append(parts, ox.Constant(in, nil, float32(r.size())))
			case 3:
				list := make([]int, 1+r.IntN(len(dims)+1))
				for i := range list {
					list[i] = r.size() - 1
				}
				parts = append(parts, ox.Ints(in, list...))
			default:
				in = last
			}
			inputs = append(inputs, in)
		}
		if r.IntN(4) == 0 {
			r.Shuffle(len(inputs), func(i, k int) { inputs[i], inputs[k] = inputs[k], inputs[i] })
		}
		var attributes []ox.Message
		for _, a := range [...]string{"axis", "group", "blocksize", "depth", "hidden_size", "K", "N", "keepdims", "ceil_mode", "count_include_pad", "to", "size", "num_outputs"} {
			if r.IntN(8) == 0 {
				attributes = append(attributes, ox.Int(a, []int{r.IntN(5), r.size()}[r.IntN(2)]))
			}
		}
		for _, a := range [...]string{"axes", "pads", "kernel_shape", "strides", "dilations", "perm", "output_padding", "output_shape", "split"} {
			if r.IntN(5) != 0 {
				continue
			}
			n := max(1, len(dims)-2)
			if a == "pads" {
				n *= 1 + r.IntN(2)
			}
			list := make([]int, n)
			for i := range list {
				list[i] = []int{r.IntN(4), 1, r.near(24)}[r.IntN(3)]
			}
			attributes = append(attributes, ox.List(a, list...))
		}
		if r.IntN(6) == 0 {
			attributes = append(attributes, ox.Text("mode", []string{"edge", "reflect", "wrap", "linear", "cubic"}[r.IntN(5)]))
		}
		if k == 2 || r.IntN(2) == 0 {
			parts = append(parts, ox.Node(attackOperators[r.IntN(len(attackOperators))], name, inputs, attributes...))
			last = name
		}
	}
	parts = append(parts, ox.Node("Relu", "y", []string{last}))
	return r.command(), ".onnx", ox.Model(parts...)
}

// command returns the arguments of a random command that reads a network.
func (r *attacker) command() []string {
	return [][]string{{"model"}, {"model", "--values"}, {"explain"}, {"model", "--json"}}[r.IntN(4)]
}

var attackMIL = strings.Fields(`add sub mul real_div maximum minimum pow matmul linear conv conv_transpose avg_pool max_pool
	concat reshape expand_dims squeeze transpose tile pad slice_by_index slice_by_size gather gather_nd gather_along_axis
	reduce_sum reduce_max softmax layer_norm instance_norm l2_norm cumsum band_part fill range_1d one_hot topk split stack
	resize_bilinear upsample_nearest_neighbor upsample_bilinear crop reverse pixel_shuffle depth_to_space space_to_depth
	batch_norm prelu constexpr_affine_dequantize constexpr_lut_to_dense constexpr_sparse_to_dense non_zero where select
	einsum lstm gru rnn local_response_norm sliding_windows scatter crop_resize`)

func (r *attacker) mil() (args []string, ext string, data []byte) {
	text := func(dims []int) string { return strings.ReplaceAll(fmt.Sprint(dims), " ", ", ") }
	whole := func() string {
		list := make([]int, 1+r.IntN(4))
		for i := range list {
			list[i] = []int{r.IntN(4), r.size()}[r.IntN(2)] - r.IntN(2)
		}
		return fmt.Sprintf("tensor<int32, [%d]>(%s)", len(list), text(list))
	}
	dims := r.shape(1 + r.IntN(5))
	var b strings.Builder
	fmt.Fprintf(&b, "program(1.0)\n{\n    func main<ios16>(tensor<fp16, %s> x, tensor<fp16, %s> z) {\n", text(dims), text(r.partner(dims)))
	last := "x"
	for k := range 1 + r.IntN(2) {
		name := fmt.Sprintf("n%d", k)
		fmt.Fprintf(&b, "        tensor<fp16, %s> %s = %s(x = %s", text(r.partner(dims)), name, attackMIL[r.IntN(len(attackMIL))], last)
		for _, a := range [...]string{"y", "shape", "reps", "pad", "begin", "end", "size", "strides", "dilations", "kernel_sizes", "indices", "axes", "perm", "weight", "filter", "num_splits", "one_hot_vector_size", "upscale_factor", "block_size", "scale_factor_height_upper"} {
			switch r.IntN(8) {
			case 0:
				fmt.Fprintf(&b, ", %s = %s", a, whole())
			case 1:
				fmt.Fprintf(&b, ", %s = z", a)
			case 2:
				fmt.Fprintf(&b, ", %s = int32(%d)", a, r.size())
			}
		}
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, ", axis = int32(%d)", r.IntN(5)-1)
		}
		b.WriteString(");\n")
		last = name
	}
	fmt.Fprintf(&b, "    } -> (%s);\n}\n", last)
	return r.command(), ".mil", []byte(b.String())
}

// words returns some of the keys in list with random values, most of which are valid.
func (r *attacker) words(list []keys.Key) (words [][2]string) {
	for _, k := range list {
		if r.IntN(5) == 0 {
			continue
		}
		v := strconv.Itoa([]int{1 + r.IntN(4), r.near(14), r.near(24), 1 + r.IntN(40)}[r.IntN(4)])
		if r.IntN(20) == 0 {
			v = strconv.Itoa(r.size())
		}
		if w := attackWords[k.Name]; w != "" {
			if r.IntN(2) == 0 {
				continue
			}
			all := strings.Fields(w)
			v = all[r.IntN(len(all))]
		}
		if k.Name == "parts" {
			v = strings.Repeat(v+"+", r.IntN(40)) + v
		}
		words = append(words, [2]string{k.Name, v})
	}
	return words
}

// attackWords has values of keys whose values are words or lists, separated by spaces.
var attackWords = map[string]string{
	"release": "newest 2023", "first": "input output", "second": "runtime constant scalar itself", "act": "relu sigmoid tanh gelu",
	"axis": "c h w hw chw", "axes": "c h w hw chw", "broadcast": "c h w hw chw", "bias": "true false", "tx": "true false", "ty": "true false",
	"pad": "same valid 1 16 1,2,3,4 1000000,1,1,1", "perm": "nchw nhwc ncwh nwhc cnhw", "groups": "1 2 cin 65536", "stride": "1 2 3 16777216",
	"dilation": "1 2 16777216", "reps": "1,1,2,2 1,16777216,1,1 65536,65536,1,1", "begin": "0,0,0,0 0,1,1,1", "size": "1,1,1,1 1,16777216,1,1",
	"alpha": "0.5", "eps": "1e-5", "value": "1 2",
}

func (r *attacker) yaml() (args []string, ext string, data []byte) {
	list := keys.Operations()
	var b strings.Builder
	s := r.shape(4)
	for i := range s {
		if s[i] > 1<<24 && r.IntN(10) > 0 {
			s[i] = 1 << r.IntN(24)
		}
	}
	fmt.Fprintf(&b, "inputs:\n  x: {n: %d, c: %d, h: %d, w: %d}\n", s[0], s[1], s[2], s[3])
	s = r.partner(s)
	for len(s) < 4 {
		s = append([]int{1}, s...)
	}
	fmt.Fprintf(&b, "  z: {n: %d, c: %d, h: %d, w: %d}\nlayers:\n", s[0], s[1], s[2], s[3])
	for k := range 1 + r.IntN(4) {
		o := &list[r.IntN(len(list))]
		fmt.Fprintf(&b, "  - {op: %s, name: l%d", o.Name, k)
		if r.IntN(3) == 0 {
			b.WriteString(", from: [x, z]")
		}
		for _, w := range r.words(o.Keys) {
			fmt.Fprintf(&b, ", %s: %q", w[0], w[1])
		}
		b.WriteString("}\n")
	}
	return r.command(), ".yaml", []byte(b.String())
}

func (r *attacker) layer() (args []string, ext string, data []byte) {
	list := keys.Operations()
	o := &list[r.IntN(len(list))]
	args = []string{"layer", o.Name}
	for _, w := range r.words(o.AllKeys()) {
		args = append(args, w[0]+"="+w[1])
	}
	if r.IntN(3) == 0 {
		args = []string{"explain", "--layer", strings.Join(args[1:], " ")}
	}
	return args, "", nil
}
