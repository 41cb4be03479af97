package network

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A classifier of Core ML ends with an operation that names the probabilities. They are the result of the
// network, whichever of its results the program returns, and the label is none.
func TestClassify(t *testing.T) {
	for _, tc := range []struct{ call, results, refused string }{
		{"string label, dict<string, fp32> all = classify(classes = k, probabilities = p)", "label, all", ""},
		{"string label, dict<string, fp32> all = classify(classes = k, probabilities = p)", "label", ""},
		{"string label, dict<string, fp32> all = classify(classes = k, probabilities = p)", "all", ""},
		{"string label, dict<string, fp32> all = classify(classes = k, probabilities = p, made_up = k)", "all", `argument "made_up"`},
		{"dict<string, fp32> all = classify(classes = k, probabilities = p)", "all", "1 results; want a label and a dictionary"},
	} {
		text := fmt.Sprintf(`program(1.0)
{
    func main<ios15>(tensor<fp16, [1, 3]> x) {
        tensor<fp16, [1, 3]> p = softmax(axis = int32(-1), x = x)[name = string("s")];
        tensor<string, [3]> k = const()[name = string("k"), val = tensor<string, [3]>(["a", "b", "c"])];
        %s[name = string("cls")];
    } -> (%s);
}
`, tc.call, tc.results)
		n, err := ReadMIL([]byte(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		refused := findRefusal(n)
		if tc.refused != "" {
			if !strings.Contains(refused, tc.refused) {
				t.Errorf("%s: refused %q; want %q", tc.call, refused, tc.refused)
			}
			continue
		}
		if refused != "" || len(n.Results) != 1 || n.Results[0].Name != "all" || !slices.Equal(n.Results[0].Dims, []int{1, 3}) || n.Results[0].Type != "float16" {
			t.Errorf("results %s: %+v, refused %q; want one of shape [1 3] named all", tc.results, n.Results, refused)
		}
	}
}
