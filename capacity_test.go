package anesim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A network whose weights are larger than the engine's address space says so, with the layer that
// passes it and the cuts that would help, though equal layers share their pseudo-random weights here.
func TestNetworkThatDoesNotFit(t *testing.T) {
	for _, tc := range []struct {
		layers int
		layer  string
		cuts   []string
	}{
		{5, "", nil},                      // 5 of 512 MiB: 2.5 of 2.75 GiB
		{6, "a5", []string{"a5"}},         // 3 GiB
		{10, "a5", []string{"a5"}},        // 5 GiB
		{11, "a5", []string{"a5", "a10"}}, // 5.5 GiB
	} {
		var b strings.Builder
		b.WriteString("inputs: {x: {c: 16384, h: 1, w: 1}}\nlayers:\n")
		for i := range tc.layers {
			fmt.Fprintf(&b, "- {name: a%d, op: conv, cout: 16384, k: 1}\n", i)
		}
		m, err := Read("m.yaml", strings.NewReader(b.String()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Run(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		list := res.TooLarge()
		if tc.layer == "" {
			if len(list) > 0 {
				t.Errorf("%d layers: %+v", tc.layers, list)
			}
			continue
		}
		if len(list) != 1 {
			t.Fatalf("%d layers: %+v", tc.layers, list)
		}
		o := list[0]
		if least := uint64(tc.layers) * 16384 * 16384 * 2; o.Bytes < least || o.Bytes > least+1<<23 || o.Limit != 0xe0000000-0x30000000 {
			t.Errorf("%d layers: %d bytes of %d", tc.layers, o.Bytes, o.Limit)
		}
		if o.Layer != tc.layer || !slices.Equal(o.Cuts, tc.cuts) {
			t.Errorf("%d layers: %s passes the limit, cuts %q; want %s, %q", tc.layers, o.Layer, o.Cuts, tc.layer, tc.cuts)
		}
	}
}

// What just fits, and one page more; and sizes for which no cut between layers helps.
func TestCutsAtTheLimit(t *testing.T) {
	const all, page = programSpace, loader.PageSize
	layers := []list.Layer{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	for _, tc := range []struct {
		weights []uint64
		others  uint64
		want    string
	}{
		{[]uint64{all - page, 0, 0}, page, "fits"},
		{[]uint64{all, 0, 0}, page, "a, cuts []"},
		{[]uint64{0, 0, 0}, all, "fits"},
		{[]uint64{0, 0, 0}, all + page, "a, cuts []"},
		{[]uint64{all / 2, all / 2, 0}, 0, "fits"},
		{[]uint64{all / 2, all / 2, page}, 0, "c, cuts [c]"},
		{[]uint64{all / 2, all/2 - page, page}, page, "c, cuts [c]"},
		{[]uint64{all, all, all}, 0, "b, cuts [b c]"},
		{[]uint64{all, all + page, all}, 0, "b, cuts []"},
	} {
		got := "fits"
		if o := findCuts(layers, tc.weights, tc.others); o != nil {
			got = fmt.Sprintf("%s, cuts %v", o.Layer, o.Cuts)
		}
		if got != tc.want {
			t.Errorf("%x and %#x: %s; want %s", tc.weights, tc.others, got, tc.want)
		}
	}
	// Weights of the file share the packed bytes that made-up ones leave.
	made, file := list.Layer{Name: "made"}, list.Layer{Name: "file"}
	for _, l := range []*list.Layer{&made, &file} {
		l.Lower.Op, l.Lower.Cout, l.Lower.In.C = layer.Convolution, 64, 32
		l.Lower.Window = layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1}
	}
	file.Weights.Filter = make([]float16.Float16, 1)
	one := 2 * uint64(list.Needs(&made.Lower).Filter)
	if one == 0 {
		t.Fatal("the layers have no weights")
	}
	if got, want := countWeightBytes([]list.Layer{made, file, made}, one+one/4), []uint64{one, one / 4, one}; !slices.Equal(got, want) {
		t.Errorf("%d bytes; want %d", got, want)
	}
}

// A section of weights holds at most 128 MiB, and a tensor is not divided: one that just fits, and one
// element more.
func TestConstantLongerThanASection(t *testing.T) {
	values := make([]float16.Float16, loader.MaxKernelSection/2+1)
	layers := []list.Layer{{Name: "a", Inputs: []string{"x", "y"}}, {Name: "b", Inputs: []string{"a", "c"}}}
	for more, want := range []string{"fits", "b: 134217730 of 134217728, cuts []"} {
		got := "fits"
		if o := findLongConstant(layers, map[string][]float16.Float16{"y": values[:8], "c": values[:len(values)-1+more]}); o != nil {
			got = fmt.Sprintf("%s: %d of %d, cuts %v", o.Layer, o.Bytes, o.Limit, o.Cuts)
		}
		if got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}
