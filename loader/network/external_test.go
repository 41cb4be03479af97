package network

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/loader/network/onnx"
	ox "anesim/loader/network/onnx/onnxtest"
)

// newExternalConstant returns a float32 constant whose values are stored in another file.
func newExternalConstant(name, location, offset string, dims ...int) ox.Message {
	t := ox.Message{}.Int(2, 1).Text(8, name).Int(14, 1)
	for _, d := range dims {
		t = t.Int(1, d)
	}
	for key, v := range map[string]string{"location": location, "offset": offset} {
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
			if n.Layers[0].Weights.Filter != nil || len(n.Notes) != 1 {
				t.Errorf("%+v, notes %q", n.Layers[0].Weights, n.Notes)
			}
		case n.Layers[0].Weights.Filter[3].Float32() != 3:
			t.Errorf("%v", n.Layers[0].Weights.Filter)
		}
	}
}
