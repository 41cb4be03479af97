package network

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim/internal/network/coreml"
	"anesim/internal/network/mil"
	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
)

// newExternalConstant returns a float32 constant whose values are stored in another file, at an
// offset that " length N" may follow.
func newExternalConstant(name, location, offset string, dims ...int) ox.Message {
	t := ox.Message{}.Int(2, 1).Text(8, name).Int(14, 1)
	for _, d := range dims {
		t = t.Int(1, d)
	}
	entries := map[string]string{"location": location}
	entries["offset"], entries["length"], _ = strings.Cut(offset, " length ")
	if entries["length"] == "" {
		delete(entries, "length")
	}
	for key, v := range entries {
		t = t.Bytes(13, ox.Message{}.Text(1, key).Text(2, v))
	}
	return ox.Message{}.Bytes(5, t)
}

// Values in other files are read from the model's directory and from nowhere else.
func TestExternalData(t *testing.T) {
	dir := t.TempDir()
	data := make([]byte, 8)
	for i := range 4 {
		data = onnx.Float.Append(data, float64(i))
	}
	if err := os.MkdirAll(filepath.Join(dir, "model", "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model/sub/w.bin", "secret.bin"} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret.bin"), filepath.Join(dir, "model", "link.bin")); err != nil {
		t.Skip("symbolic links cannot be made here: ", err)
	}
	for _, tc := range []struct{ location, offset, want string }{
		{"sub/w.bin", "8", ""},
		{"sub/w.bin", "9", "16 bytes at offset 9 exceed the file size of 24 bytes"},
		{"sub/w.bin", "-1", "external data"},
		{"sub/w.bin", "8 length -1", `external data: length is "-1"; want a nonnegative integer`},
		{"../secret.bin", "8", "escapes"},
		{filepath.Join(dir, "secret.bin"), "8", "escapes"},
		{"link.bin", "8", "escapes"},
		{"sub", "0", "not a regular file"},
		{"absent.bin", "8", ""},
	} {
		file := ox.Model(ox.Input("x", 1, 2), newExternalConstant("w", tc.location, tc.offset, 2, 2), ox.Node("MatMul", "y", names("x", "w")), ox.Output("y"))
		n, err := ReadONNX(file, Options{Dir: filepath.Join(dir, "model")})
		switch {
		case tc.want != "":
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s from %s: %v, want %q", tc.location, tc.offset, err, tc.want)
			}
		case err != nil:
			t.Errorf("%s: %v", tc.location, err)
		case tc.location == "absent.bin":
			if n.Layers[0].Weights.Filter != nil || len(n.Notes) != 1 || !slices.Equal(n.Absent, []string{"absent.bin"}) || n.Files != nil {
				t.Errorf("%+v, notes %q, absent %q, read %q", n.Layers[0].Weights, n.Notes, n.Absent, n.Files)
			}
		case n.Layers[0].Weights.Filter[3].Float32() != 3:
			t.Errorf("%v", n.Layers[0].Weights.Filter)
		}
	}
}

// A network names every file that it was read from, and the files of weights that it lacks.
func TestFilesOfANetwork(t *testing.T) {
	dir := t.TempDir()
	p := newLinearProgram(t)
	var w coreml.Weights
	w.Add("fp16", make([]byte, 12))
	for _, name := range []string{"a.mlpackage", "b.mlpackage"} {
		writePackage(t, filepath.Join(dir, name), p, w)
	}
	weights := filepath.Join("Data", "com.apple.CoreML", "weights", "weight.bin")
	if err := os.Remove(filepath.Join(dir, "b.mlpackage", weights)); err != nil {
		t.Fatal(err)
	}
	external := ox.Model(ox.Input("x", 1, 2), newExternalConstant("w", "w.bin", "0", 2, 2), newExternalConstant("v", "no.bin", "0", 2, 2),
		ox.Node("MatMul", "y", names("x", "w")), ox.Node("MatMul", "z", names("y", "v")), ox.Output("z"))
	for name, data := range map[string][]byte{
		"c.onnx": external, "w.bin": make([]byte, 16), "d.yaml": []byte("inputs: {x: {c: 4}}\nlayers: [{op: relu}]\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]struct{ files, absent []string }{
		"a.mlpackage": {[]string{"Manifest.json", "Data/com.apple.CoreML/model.mlmodel", "Data/com.apple.CoreML/weights/weight.bin"}, nil},
		"b.mlpackage": {[]string{"Manifest.json", "Data/com.apple.CoreML/model.mlmodel"}, []string{"@model_path/weights/weight.bin"}},
		"c.onnx":      {[]string{"c.onnx", "w.bin"}, []string{"no.bin"}},
		"d.yaml":      {[]string{"d.yaml"}, nil},
	} {
		n, err := Open(filepath.Join(dir, name), Options{})
		if err != nil {
			t.Fatal(err)
		}
		in := dir
		if strings.HasSuffix(name, "package") {
			in = filepath.Join(dir, name)
		}
		for i, file := range want.files {
			want.files[i] = filepath.Join(in, filepath.FromSlash(file))
		}
		slices.Sort(n.Files)
		slices.Sort(want.files)
		if !slices.Equal(n.Files, want.files) || !slices.Equal(n.Absent, want.absent) {
			t.Errorf("%s: read %q, absent %q; want %q and %q", name, n.Files, n.Absent, want.files, want.absent)
		}
	}
	n, err := Read("c.onnx", external, Options{})
	if err != nil || n.Files != nil || !slices.Equal(n.Absent, []string{"no.bin", "w.bin"}) {
		t.Errorf("from memory: %v, read %q, absent %q", err, n.Files, n.Absent)
	}
}

// newLinearProgram returns a program with a linear layer whose weights are the first in a file.
func newLinearProgram(t *testing.T) *mil.Program {
	t.Helper()
	p, err := mil.Parse(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 3]> x) {
        tensor<fp16, [2, 3]> w = const()[name = string("w"), val = tensor<fp16, [2, 3]>(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64(64)))];
        tensor<fp16, [1, 2]> y = linear(x = x, weight = w)[name = string("head")];
    } -> (y);
}
`)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
