package list

import (
	"strings"
	"testing"
	"unicode"

	"github.com/x448/float16"
)

// Tensors keep a name of their own each, in characters that print, whatever the file calls them.
func TestRename(t *testing.T) {
	long := strings.Repeat("n", 2*maxName)
	names := []string{"y\x01z", `y\x01z`, "y\x00a", "y\x00b", "y\xff", "y\ufffd", "y\u200b", "é", "plain", long + "1", long + "2", "\x1b[31m"}
	n := &Network{Inputs: []Tensor{{Name: "x\x00", State: "y\x01z"}}, Constants: map[string][]float16.Float16{"k\x02": nil}, Cuts: map[string]*Cut{"y\x00a": {Inputs: []string{"y\x01z"}}}}
	from := "x\x00"
	for _, name := range names {
		n.Layers = append(n.Layers, Layer{Name: name, Inputs: []string{from, "k\x02"}, Output: name})
		n.Results = append(n.Results, Output{Name: name, Tensor: name})
		n.Outputs = append(n.Outputs, name)
		from = name
	}
	n.Rename()
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for i, r := range n.Results {
		if was, ok := seen[r.Name]; ok {
			t.Errorf("%q and %q are both %q", was, names[i], r.Name)
		}
		seen[r.Name] = names[i]
		if r.Tensor != r.Name || n.Layers[i].Output != r.Name || n.Outputs[i] != r.Name {
			t.Errorf("%q is %q, its tensor %q, the layer makes %q", names[i], r.Name, r.Tensor, n.Layers[i].Output)
		}
		for _, c := range r.Name {
			if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
				t.Errorf("%q is %q", names[i], r.Name)
			}
		}
		if len(r.Name) > maxName+maxName/8 {
			t.Errorf("a name of %d bytes", len(r.Name))
		}
	}
	for i, want := range map[int]string{0: `y\x01z~2`, 1: `y\x01z`, 7: "é", 8: "plain"} {
		if n.Results[i].Name != want {
			t.Errorf("%q is %q, want %q", names[i], n.Results[i].Name, want)
		}
	}
	if n.Inputs[0].State != n.Results[0].Name {
		t.Errorf("the next value of the input is %q; want the result %q", n.Inputs[0].State, n.Results[0].Name)
	}
	if c := n.Cuts[n.Results[2].Name]; c == nil || c.Inputs[0] != n.Results[0].Name {
		t.Errorf("the cut of %q is %+v", n.Results[2].Name, c)
	}
}
