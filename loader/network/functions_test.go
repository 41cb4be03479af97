package network

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/coreml"
	"anesim/internal/network/mil"
	nt "anesim/internal/network/neuraltest"
	"anesim/loader/network/list"
)

const twoFunctions = `program(1.3)
{
    func infer<ios18>(tensor<fp16, [1, 64, 1, 1]> x) {
        tensor<fp16, [1, 64, 1, 1]> y = relu(x = x)[name = string("y")];
    } -> (y);
    func prefill<ios18>(tensor<fp16, [1, 64, 1, 32]> x) {
        tensor<fp16, [1, 64, 1, 32]> z = tanh(x = x)[name = string("z")];
    } -> (z);
}
`

// The user chooses one of several functions by name. Without a name, it is the one that the file
// suggests, one called main, or none.
func TestFunctions(t *testing.T) {
	main := strings.Replace(twoFunctions, "func infer", "func main", 1)
	for _, tc := range []struct {
		text, name, result string
		known              []string
	}{
		{twoFunctions, "infer", "y", nil},
		{twoFunctions, "prefill", "z", nil},
		{twoFunctions, "", "", []string{"infer", "prefill"}},
		{twoFunctions, "main", "", []string{"infer", "prefill"}},
		{main, "", "y", nil},
		{main, "prefill", "z", nil},
		{small, "", "y", nil},
		{small, "main", "y", nil},
		{small, "infer", "", []string{"main"}},
	} {
		n, err := ReadMIL([]byte(tc.text), Options{Function: tc.name})
		var unknown *FunctionError
		switch {
		case tc.result == "":
			if !errors.As(err, &unknown) || unknown.Name != tc.name || !slices.Equal(unknown.Known, tc.known) {
				t.Errorf("function %q: %v; want an error that lists %v", tc.name, err, tc.known)
			}
		case err != nil || n.Results[0].Name != tc.result:
			t.Errorf("function %q: %v; want result %s", tc.name, err, tc.result)
		case tc.text != small && !strings.Contains(n.Notes[0], "of 2: "):
			t.Errorf("function %q: no note of the other function: %q", tc.name, n.Notes)
		}
	}
	for _, name := range []string{"a.yaml", "a.onnx"} {
		if _, err := Read(name, nil, Options{Function: "f"}); err == nil || !strings.Contains(err.Error(), "only a program of Core ML has functions") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadCoreML(newLayersModel(), Options{Function: "f"}); err == nil || !strings.Contains(err.Error(), "only a program of Core ML has functions") {
		t.Errorf("layers: %v", err)
	}
}

// newFunctionsModel returns a model file with the functions of [twoFunctions]. Its description names
// prefill as the default.
func newFunctionsModel(t *testing.T) []byte {
	t.Helper()
	p, err := mil.Parse(twoFunctions)
	if err != nil {
		t.Fatal(err)
	}
	describe := func(name, in, out string) nt.Message {
		f := nt.Message{}.Text(1, name)
		for num, feature := range []string{in, out} {
			f = f.Bytes(protowire.Number(2+num), nt.Message{}.Text(1, feature).Bytes(3, nt.Message{}.Bytes(5, nt.Message{}.Int(2, 65568))))
		}
		return nt.Message{}.Bytes(20, f)
	}
	program := coreml.EncodeProgram(p)
	return nt.Message{}.Int(1, 9).Bytes(2, nt.Join(describe("infer", "x", "y"), describe("prefill", "x", "z"), nt.Message{}.Text(21, "prefill"))).Bytes(502, program)
}

func TestDefaultFunctionOfModel(t *testing.T) {
	data := newFunctionsModel(t)
	for name, want := range map[string]string{"": "z", "prefill": "z", "infer": "y"} {
		n, err := ReadCoreML(data, Options{Function: name})
		if err != nil || n.Results[0].Name != want || n.Inputs[0].Type != "float32" {
			t.Errorf("function %q: %v; want result %s of a float32 input", name, err, want)
		}
	}
}

// flexible is a program whose input has sizes that the user chooses, as compiled models state it.
const flexible = `program(1.0)
{
    func main<ios16>(tensor<fp16, [1, ?, 8]> x) [FlexibleShapeInformation = tuple<tuple<tensor<string, []>, dict<tensor<string, []>, tensor<int32, [?]>>>, tuple<tensor<string, []>, dict<tensor<string, []>, list<tensor<int32, [2]>, ?>>>>((("DefaultShapes", {{"x", [1, 16, 8]}}), SHAPES))] {
        tensor<fp16, [1, ?, 8]> y = relu(x = x)[name = tensor<string, []>("y")];
    } -> (y);
}
`

// An input has the shape that the file suggests unless the user chooses one that the file allows.
func TestShapesOfFile(t *testing.T) {
	ranges := strings.Replace(flexible, "SHAPES", `("RangeDims", {{"x", [[1, 1], [2, 128], [8, 8]]}})`, 1)
	open := strings.Replace(flexible, "SHAPES", `("RangeDims", {{"x", [[1, 1], [1, -1], [8, 8]]}})`, 1)
	listed := strings.Replace(flexible, "SHAPES", `("EnumeratedShapes", {{"a1", {{"x", [1, 16, 8]}}}, {"b2", {{"x", [1, 64, 8]}}}})`, 1)
	feature := func(flexibility nt.Message) nt.Message {
		return nt.Message{}.Bytes(1, nt.Message{}.Text(1, "x").Bytes(3, nt.Message{}.Bytes(5, append(nt.Packed(1, 1, 16, 8), flexibility...))))
	}
	layers := func(flexibility nt.Message) string {
		return string(nt.Model(nt.Join(feature(flexibility), nt.Output("y")), true, nt.Layer("l", 760, nil, []string{"x"}, []string{"y"})))
	}
	program := func(flexibility nt.Message) string {
		p, err := mil.Parse(strings.Replace(ranges, "RangeDims", "Unknown", 1))
		if err != nil {
			t.Fatal(err)
		}
		return string(nt.Message{}.Int(1, 7).Bytes(2, nt.Join(feature(flexibility), nt.Output("y"))).Bytes(502, coreml.EncodeProgram(p)))
	}
	size := func(least, largest int) nt.Message {
		return nt.Message{}.Bytes(1, nt.Message{}.Int(1, least).Int(2, largest))
	}
	sizes := nt.Message{}.Bytes(31, nt.Join(size(1, 1), size(2, 128), size(8, 8)))
	shapes := nt.Message{}.Bytes(21, nt.Message{}.Bytes(1, nt.Packed(1, 1, 16, 8)).Bytes(1, nt.Packed(1, 1, 64, 8)))
	for _, tc := range []struct {
		name, file string
		rows       int // 0 for the default
		want       string
	}{
		{"ranges", ranges, 0, ""}, {"ranges", ranges, 128, ""}, {"ranges", ranges, 129, "[1 2..128 8]"}, {"ranges", ranges, 1, "[1 2..128 8]"},
		{"no limit", open, 5000, ""},
		{"shapes", listed, 0, ""}, {"shapes", listed, 64, ""}, {"shapes", listed, 32, "[1 16 8] or [1 64 8]"},
		{"ranges of layers", layers(sizes), 0, ""}, {"ranges of layers", layers(sizes), 100, ""}, {"ranges of layers", layers(sizes), 200, "[1 2..128 8]"},
		{"shapes of layers", layers(shapes), 64, ""}, {"shapes of layers", layers(shapes), 65, "[1 16 8] or [1 64 8]"},
		{"ranges of a model", program(sizes), 0, ""}, {"ranges of a model", program(sizes), 100, ""}, {"ranges of a model", program(sizes), 200, "[1 2..128 8]"},
		{"shapes of a model", program(shapes), 64, ""}, {"shapes of a model", program(shapes), 65, "[1 16 8] or [1 64 8]"},
		{"one shape of a model", program(nil), 0, ""}, {"one shape of a model", program(nil), 17, "[1 16 8]"},
	} {
		o := Options{}
		want := 16
		if tc.rows > 0 {
			o.Dims, want = map[string]int{"x:1": tc.rows}, tc.rows
		}
		read := ReadCoreML
		if strings.HasPrefix(tc.file, "program") {
			read = ReadMIL
		}
		n, err := read([]byte(tc.file), o)
		var refused *ShapeError
		switch {
		case tc.want != "":
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s, %d rows: %v; want an error with %s", tc.name, tc.rows, err, tc.want)
			}
		case err != nil:
			t.Errorf("%s, %d rows: %v", tc.name, tc.rows, err)
		case !slices.Equal(n.Inputs[0].Dims, []int{1, want, 8}):
			t.Errorf("%s, %d rows: input has shape %v", tc.name, tc.rows, n.Inputs[0].Dims)
		}
	}
	for _, bad := range []string{`("RangeDims", {{"x", [[1, 1], [1`, `("RangeDims"`, strings.Repeat("(", 1000)} {
		_, err := ReadMIL([]byte(strings.Replace(flexible, "SHAPES", bad, 1)), Options{})
		var malformed *list.FormatError
		if !errors.As(err, &malformed) || malformed.Line == 0 {
			t.Errorf("%.20s: %v", bad, err)
		}
	}
}

// An operation with an argument that no rule asks for is refused: it would have no effect.
func TestUnknownArgumentsOfMIL(t *testing.T) {
	for call, want := range map[string]string{
		"relu(x = x, beta = fp16(2))":                                                                               `argument "beta" of operation relu is not modelled`,
		"softmax(x = x, axis = int32(1), temperature = fp16(2))":                                                    `argument "temperature" of operation softmax is not modelled`,
		"quantize(input = x, scale = fp16(2), output_dtype = string(\"int32\"))":                                    `output_dtype is "int32"`,
		"gelu(x = x, mode = string(\"ROUGH\"))":                                                                     `unknown mode "ROUGH"`,
		"crop_resize(x = x, boxes = x)":                                                                             "the CPU computes it",
		"crop_resize(x = x, boxes = tensor<fp16, [1, 4]>([0, 0, 3, 3]))":                                            `sampling_mode "DEFAULT" within a box are not known`,
		"crop_resize(x = x, boxes = tensor<fp16, [1, 4]>([0, 0, 3, 4]), sampling_mode = string(\"ALIGN_CORNERS\"))": "box 0 reaches beyond the image of 4 x 4 pixels",
		"crop_resize(x = fp16(1), boxes = tensor<fp16, [1, 4]>([0, 0, 3, 3]))":                                      "input has 0 axes; want 4",
		"crop_resize(x = x, boxes = tensor<fp16, [1, 4]>([0, 0, 3, 3]), target_height = int32(-1))":                 "target_height and target_width are -1 and 1; want at least 1",
		"non_maximum_suppression(boxes = x, scores = x, max_boxes = int32(4))":                                      "number of boxes depends on values; the CPU computes it",
		"softmax(x = x, axis = int32(1))":                                                                           "",
		"max_pool(x = x, kernel_sizes = tensor<int32, [2]>([2, 2]), strides = tensor<int32, [2]>([2, 2]), pad_type = string(\"valid\"), pad = tensor<int32, [4]>([0, 0, 0, 0]), ceil_mode = bool(false))": "",
	} {
		n, err := ReadMIL([]byte("program(1.3) { func main<ios18>(tensor<fp16, [1, 8, 4, 4]> x) { tensor<fp16, [1, 8, 4, 4]> y = "+call+"[name = string(\"y\")]; } -> (y); }"), Options{})
		if err != nil {
			t.Errorf("%s: %v", call, err)
			continue
		}
		if got := n.Layers[0].Reason; !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: reason %q; want %q", call, got, want)
		}
	}
}
