package network

import (
	"slices"
	"testing"

	"anesim/loader/network/onnx"
)

// TestUnknownDims gives sizes to dimensions that are all named "?", which stands for no name.
func TestUnknownDims(t *testing.T) {
	v := onnx.Value{Name: "x", Type: onnx.Float, Dims: []onnx.Dim{{Name: "?"}, {Size: 3}, {Name: "?"}, {Name: "?"}}}
	b := newBinder(map[string]int{"x:2": 48, "x:3": 320}, v)
	if got := b.bind(v); !slices.Equal(got, []int{1, 3, 48, 320}) || b.err() != nil {
		t.Errorf("the sizes are %v, %v; want [1 3 48 320]", got, b.err())
	}
	b = newBinder(nil, v)
	b.bind(v)
	want := `dimensions without a size: "x:2" of input "x", "x:3" of input "x"; give them as in --dim x:2=224,x:3=224`
	if err := b.err(); err == nil || err.Error() != want {
		t.Errorf("without sizes: %v; want %s", err, want)
	}
}
