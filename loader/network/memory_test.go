package network

import (
	"bytes"
	"os"
	"runtime"
	"testing"

	ox "anesim/internal/network/onnxtest"
)

// TestMemoryOfReading checks that reading a file allocates memory in proportion to its size, even if
// it states large shapes.
func TestMemoryOfReading(t *testing.T) {
	onnx := func(b []byte) func() error {
		return func() error { _, err := ReadONNX(b, Options{}); return err }
	}
	node := ox.Message{}.Bytes(1, ox.Message{}.Text(4, "A"))
	mb := 4 // of integers and of YAML
	if os.Getenv("LONG") != "" {
		mb = 16
	}
	ones := ox.Message{}.Int(2, 7).Text(8, "w").Int(1, mb<<20).Bytes(7, bytes.Repeat([]byte{1}, mb<<20))
	for _, tc := range []struct {
		name string
		read func() error
		most uint64 // bytes allocated in all
	}{
		{"5 MB of nodes", onnx(ox.Model(bytes.Repeat(node, 5<<20/len(node)))), 64 << 20},
		{"5 MB of names", onnx(ox.Model(ox.Message{}.Bytes(1, append(bytes.Repeat(ox.Message{}.Text(1, ""), 5<<19), ox.Message{}.Text(4, "A")...)))), 64 << 20},
		{"integers that nodes compute with", onnx(ox.Model(ox.Input("x", 1, 4), ox.Message{}.Bytes(5, ones),
			ox.Node("Neg", "z", names("w")), ox.Node("MatMul", "y", names("x", "w")))), uint64(mb) << 25},
		{"zeros out of nothing", onnx(ox.Model(ox.Input("x", 1, 4), ox.Ints("n", 1<<30),
			ox.Node("ConstantOfShape", "z", names("n")), ox.Node("Add", "y", names("x", "z")))), 16 << 20},
		{"a long list in YAML", func() error {
			_, err := ReadYAML(append([]byte("a: ["), bytes.Repeat([]byte("a,"), mb<<19-8)...))
			return err
		}, uint64(mb) << 22},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := tc.read()
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > tc.most {
			t.Errorf("%s: %d MB, want at most %d (%v)", tc.name, got>>20, tc.most>>20, err)
		}
	}
}
