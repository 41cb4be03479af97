package bundle_test

import (
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/loader"
	"anesim/loader/network"
	"anesim/loader/network/bundle"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

const bundled = `
inputs: {x: {c: 16, h: 6, w: 6}}
layers:
  - {name: a, op: conv, cout: 16, k: 3, pad: 1, act: relu, from: x}
  - {name: b, op: conv, cout: 24, k: 1, from: a}
  - {name: c, op: softmax, axis: c, from: b}
  - {name: d, op: add, from: [a, a]}
outputs: [c, d]
`

func bundledNetwork(t testing.TB, text string) *list.Network {
	t.Helper()
	n, err := network.Read("net.yaml", []byte(text), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What is bundled comes back as it was, of programs that run and of those that are only
// timed, and the layers know the same of what was folded into them.
func TestBundle(t *testing.T) {
	for _, sizes := range []bool{false, true} {
		n := bundledNetwork(t, bundled)
		programs, reasons, err := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1, SizesOnly: sizes})
		if err != nil {
			t.Fatal(err)
		}
		data, err := bundle.Encode(n, programs, reasons)
		if err != nil {
			t.Fatal(err)
		}
		other := bundledNetwork(t, bundled)
		got, gotReasons, err := bundle.Decode(other, data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(reasons, gotReasons); diff != "" {
			t.Error(diff)
		}
		private := cmp.Exporter(func(reflect.Type) bool { return true })
		if sizes {
			if diff := cmp.Diff(programs, got, private); diff != "" {
				t.Errorf("sizes: %s", diff)
			}
		} else {
			for i := range programs {
				a, b := &programs[i], &got[i]
				if string(a.Bytes()) != string(b.Bytes()) || a.Name != b.Name {
					t.Errorf("container %d differs", i)
				}
				if diff := cmp.Diff(a.Ports, b.Ports); diff != "" {
					t.Error(diff)
				}
				x, y := *a, *b
				x.Program, y.Program = nil, nil
				if diff := cmp.Diff(x, y, private); diff != "" {
					t.Error(diff)
				}
			}
		}
		for i := range n.Layers {
			if diff := cmp.Diff(n.Layers[i].Folded, other.Layers[i].Folded); diff != "" {
				t.Errorf("layer %d: %s", i, diff)
			}
		}
		again, err := bundle.Encode(other, got, gotReasons)
		if err != nil || string(again) != string(data) {
			t.Errorf("encoded again it differs: %v", err)
		}
	}
}

// A network's structure and weights are hashed apart, and each tells every change.
func TestStructureAndWeights(t *testing.T) {
	write := func(text string) (structure, weights string) {
		var s, w strings.Builder
		n := bundledNetwork(t, text)
		if err := bundle.WriteStructure(n, &s); err != nil {
			t.Fatal(err)
		}
		if err := bundle.WriteWeights(n, &w); err != nil {
			t.Fatal(err)
		}
		return s.String(), w.String()
	}
	s, w := write(bundled)
	if again, _ := write(bundled); again != s {
		t.Error("the same network differs")
	}
	if commented, _ := write("# a comment\n" + bundled); commented != s {
		t.Error("a comment changes the structure")
	}
	for old, changed := range map[string]string{
		"c: 16, h": "c: 32, h", "cout: 24": "cout: 25", "k: 3": "k: 5", "act: relu": "act: gelu", "op: add": "op: mul", "pad: 1": "pad: 0", "axis: c": "axis: w",
		"name: a,": "name: aa,", "outputs: [c, d]": "outputs: [d]", "inputs: {x:": "first: output\ninputs: {x:",
	} {
		text := strings.Replace(bundled, old, changed, 1)
		if old == "name: a," {
			text = strings.NewReplacer("name: a,", "name: aa,", "from: a}", "from: aa}", "[a, a]", "[aa, aa]").Replace(bundled)
		}
		if other, _ := write(text); other == s {
			t.Errorf("%s for %s: the same structure", changed, old)
		}
	}
	// What lowering notes in layers does not change the key of the next.
	n := bundledNetwork(t, bundled)
	partition.Lower(t.Context(), n, partition.Lowering{Seed: 1})
	var after strings.Builder
	if err := bundle.WriteStructure(n, &after); err != nil || after.String() != s {
		t.Error("lowering changes the structure")
	}
	n.Layers[0].Weights.Filter = append(n.Layers[0].Weights.Filter, 1, 2)
	var weights strings.Builder
	if err := bundle.WriteWeights(n, &weights); err != nil || weights.String() == w {
		t.Error("weights do not tell")
	}
}

func TestBrokenBundles(t *testing.T) {
	n := bundledNetwork(t, bundled)
	programs, reasons, err := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	data, err := bundle.Encode(n, programs, reasons)
	if err != nil {
		t.Fatal(err)
	}
	size := int(binary.LittleEndian.Uint64(data))
	with := func(old, changed string) []byte {
		table := strings.Replace(string(data[8:8+size]), old, changed, 1)
		if table == string(data[8:8+size]) {
			t.Fatalf("no %s in %s", old, table)
		}
		b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(table))), table...)
		return append(b, data[8+size:]...)
	}
	for what, b := range map[string][]byte{
		"nothing": nil, "a short head": data[:7], "a table cut short": data[:20], "a container cut short": data[:len(data)-1],
		"bytes behind": append(append([]byte(nil), data...), 0), "a long table": append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, data[8:]...),
		"no JSON": with("{", "["), "reasons of other layers": with(`"Reasons":["",`, `"Reasons":[`), "a layer before the first": with(`"First":0`, `"First":-1`),
		"a program of no layers": with(`"Runs":[`, `"Runz":[`), "a negative container": with(`"Container":`, `"Container":-`), "a container of nothing": with(`"Container":`, `"Containe":`),
		"descriptors it does not have": with(`"Tasks":`, `"Tasks":9`), "an L2 of other descriptors": with(`"L2":[`, `"L2":[1,`),
	} {
		var e *bundle.Error
		if _, _, err := bundle.Decode(bundledNetwork(t, bundled), b); !errors.As(err, &e) {
			t.Errorf("%s: %v", what, err)
		}
	}
	broken := append([]byte(nil), data...)
	broken[8+size] ^= 0xff
	var f *loader.FormatError
	if _, _, err := bundle.Decode(n, broken); err == nil || !errors.As(err, &f) && !strings.Contains(err.Error(), "program 0") {
		t.Errorf("a container that is none: %v", err)
	}
}

const small = "inputs: {x: {c: 4, h: 1, w: 2}}\nlayers:\n  - {name: a, op: relu, from: x}\n"

// Whatever a bundle holds, reading it ends in programs that can be linked or in an error.
func FuzzBundle(f *testing.F) {
	n := bundledNetwork(f, small)
	for _, sizes := range []bool{false, true} {
		programs, reasons, err := partition.Lower(f.Context(), n, partition.Lowering{Seed: 1, SizesOnly: sizes})
		if err != nil {
			f.Fatal(err)
		}
		data, err := bundle.Encode(n, programs, reasons)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		other := bundledNetwork(t, small)
		programs, reasons, err := bundle.Decode(other, data)
		if err != nil {
			var e *bundle.Error
			if !errors.As(err, &e) {
				t.Fatalf("%v", err)
			}
			return
		}
		if len(reasons) != len(other.Layers) {
			t.Errorf("%d reasons", len(reasons))
		}
		for i := range programs {
			if _, err := programs[i].Link(); err != nil {
				t.Error(err)
			}
		}
	})
}
