package agreement

import (
	"slices"
	"testing"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
	"anesim/loader/network"
)

// TestSharedNames computes operations that have constants and the same name.
func TestSharedNames(t *testing.T) {
	n, err := network.ReadMIL([]byte(`program(1.3)
{
    func main<ios18>(tensor<fp16, [2, 2]> x) {
        tensor<fp16, [2, 2]> m = mul(x = x, y = tensor<fp16, [2, 2]>([1, 2, 3, 4]))[name = string("same")];
        tensor<fp16, [2, 2]> y = mul(x = m, y = tensor<fp16, [2, 2]>([5, 6, 7, 8]))[name = string("same")];
        tensor<fp16, [2, 2]> s = select(cond = tensor<bool, [2, 2]>([true, false, true, false]), a = tensor<fp16, [2, 2]>([1, 2, 3, 4]), b = x)[name = string("same")];
        tensor<fp16, [2, 2]> z = select(cond = tensor<bool, [2, 2]>([true, false, true, false]), a = tensor<fp16, [2, 2]>([5, 6, 7, 8]), b = x)[name = string("same")];
        tensor<fp16, [2, 2]> b = band_part(x = x, lower = int32(0), upper = int32(0))[name = string("b")];
    } -> (y, s, z, b);
}
`), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	results, _, err := runNetwork(n, map[string]*tensor.Tensor{"x": {Type: onnx.Float16, Dims: []int{2, 2}, Data: []float64{1, 2, 3, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float64{"y": {5, 24, 63, 128}, "s": {1, 2, 3, 4}, "z": {5, 2, 7, 4}, "b": {1, 0, 0, 4}} {
		if got := results[name]; got == nil || !slices.Equal(got.Data, want) {
			t.Errorf("%s is %+v; want %v", name, got, want)
		}
	}
}
