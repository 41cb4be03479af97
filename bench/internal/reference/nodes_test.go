package reference

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

var update = flag.Bool("update", false, "write testdata/unsupported.txt")

// TestNodes runs ONNX's own tests of each operator, except those in
// testdata/unsupported.txt. ONNX_TESTDATA names their directory: Debian's libonnx-testdata
// 1.12.0 puts them into /usr/share/libonnx-testdata/data/node.
func TestNodes(t *testing.T) {
	data := os.Getenv("ONNX_TESTDATA")
	if data == "" {
		t.Skip("ONNX_TESTDATA names no directory of ONNX backend node tests (Debian: libonnx-testdata)")
	}
	dirs, err := filepath.Glob(filepath.Join(data, "test_*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no tests in %s", data)
	}
	var got []string
	for _, dir := range dirs {
		name := strings.TrimPrefix(filepath.Base(dir), "test_")
		if name == "adam_multiple" { // its results have an epsilon of 1e-2, which its node lacks
			continue
		}
		err := runTest(dir)
		var u *UnsupportedError
		var other *elementsError
		switch {
		case errors.As(err, &u):
			got = append(got, fmt.Sprintf("%s: %v", name, u))
		case errors.As(err, &other):
			got = append(got, fmt.Sprintf("%s: %v", name, other))
		case err != nil:
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d tests, %d unsupported", len(dirs), len(got))
	const file = "testdata/unsupported.txt"
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := readLines(t, file)
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("unsupported, but not in %s: %s", file, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("in %s, but not unsupported: %s", file, line)
		}
	}
}

func readLines(t *testing.T, file string) (lines []string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

// An elementsError is a test whose tensors are not numbers.
type elementsError struct{ what string }

func (e *elementsError) Error() string { return e.what }

// runTest runs the model in dir on the inputs there, and returns an error if the results differ
// from the outputs there.
func runTest(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "model.onnx"))
	if err != nil {
		return err
	}
	m, err := onnx.Read(data)
	if err != nil {
		return err
	}
	sets, err := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
	if err != nil || len(sets) == 0 {
		return fmt.Errorf("no data sets: %v", err)
	}
	for _, set := range sets {
		if err := runSet(m, set); err != nil {
			return err
		}
	}
	return nil
}

func runSet(m *onnx.Model, set string) error {
	inputs := map[string]*tensor.Tensor{}
	for i, v := range m.Inputs {
		t, err := readProto(filepath.Join(set, fmt.Sprintf("input_%d.pb", i)), v)
		if err != nil {
			return err
		}
		inputs[v.Name] = t
	}
	results, err := Run(m, inputs, Options{})
	if err != nil {
		return err
	}
	for i, v := range m.Outputs {
		want, err := readProto(filepath.Join(set, fmt.Sprintf("output_%d.pb", i)), v)
		if err != nil {
			return err
		}
		if err := compare(results[v.Name], want, toleranceOf(set)); err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return nil
}

// toleranceOf returns the relative tolerance for a data set. Some outputs need the tolerance of
// ONNX's own tests.
func toleranceOf(set string) float64 {
	switch name := strings.TrimPrefix(filepath.Base(filepath.Dir(set)), "test_"); {
	case strings.HasPrefix(name, "roialign"), strings.HasPrefix(name, "gridsample"): // four digits
		return 1e-3
	case strings.Contains(name, "window"): // pi is 3.1415
		return 1e-3
	case strings.HasPrefix(name, "dynamicquantizelinear"):
		// -2.5/(5/255) and 0.5/(5/255) are halfway between integers, so the result
		// depends on the rounding of float32: 26 may be 25.
		return 0.04
	}
	return 1e-4
}

// readProto reads a tensor of a test from a file and checks it against the declaration v.
func readProto(file string, v onnx.Value) (*tensor.Tensor, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if v.Type == 0 {
		return nil, &elementsError{fmt.Sprintf("%q is a sequence or an optional", v.Name)}
	}
	c, err := onnx.ReadTensor(data)
	if err != nil {
		return nil, err
	}
	if c.Type == onnx.String {
		return nil, &elementsError{fmt.Sprintf("%q has strings", v.Name)}
	}
	if c.Type != v.Type {
		return nil, &elementsError{fmt.Sprintf("%q is stated as %v and stored as %v", v.Name, v.Type, c.Type)}
	}
	return convertConstant(c)
}

// compare returns an error if got and want differ in type, shape or values. A value may differ by
// the fraction relative of itself plus a hundredth of that; an fp16 value may differ by one
// rounding.
func compare(got, want *tensor.Tensor, relative float64) error {
	if got.Type != want.Type || !slices.Equal(got.Dims, want.Dims) {
		return fmt.Errorf("%v %v; want %v %v", got.Type, got.Dims, want.Type, want.Dims)
	}
	if want.Type == onnx.Float16 {
		relative = max(relative, 1e-3)
	}
	for i, w := range want.Data {
		g := got.Data[i]
		if g == w || g != g && w != w {
			continue
		}
		if !(math.Abs(g-w) <= relative*(math.Abs(w)+1e-2)) {
			return fmt.Errorf("element %d is %v; want %v", i, g, w)
		}
	}
	return nil
}
