package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"slices"
	"testing"

	"anesim/loader/network"
)

func TestNetworksIn(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for _, name := range []string{"package/package.json", "package/models/a.onnx", "package/b.onnx", "package/b.onnx.meta"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(name))}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(name))
	}
	w.Close()
	z.Close()
	networks, err := readNetworks(packed.Bytes())
	if err != nil || !slices.Equal(slices.Sorted(maps.Keys(networks)), []string{"a.onnx", "b.onnx"}) || string(networks["a.onnx"]) != "package/models/a.onnx" {
		t.Errorf("the networks are %q, %v", networks, err)
	}
	if networks, err := readNetworks(packed.Bytes()[:packed.Len()/2]); err == nil {
		t.Errorf("half a package has the networks %q", networks)
	}
}

// TestSizes reads the sizes of every package, and finds those of each file by its own prefix.
func TestSizes(t *testing.T) {
	for _, p := range Packages {
		for _, d := range p.Dims {
			for _, sizes := range []string{d.Sizes, d.Few} {
				if _, err := network.ParseDims(sizes); sizes != "" && err != nil {
					t.Errorf("%s: %s: %v", p.Name, d.Prefix, err)
				}
			}
			if got := p.DimsOf(d.Prefix + ".onnx"); got != d {
				t.Errorf("%s: %s takes the sizes of %s", p.Name, d.Prefix, got.Prefix)
			}
		}
	}
}
