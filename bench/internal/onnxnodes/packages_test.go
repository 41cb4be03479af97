package onnxnodes

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"anesim"
	"anesim/bench/internal/npm"
	"anesim/internal/report"
	"anesim/loader/network"
)

// TestPackages downloads the npm packages and times their networks, if ONNX_NPM is set. It logs
// a table of them.
func TestPackages(t *testing.T) {
	if os.Getenv("ONNX_NPM") == "" {
		t.Skip("ONNX_NPM is not set: the networks of npm packages are not fetched")
	}
	for _, p := range npm.Packages {
		networks, err := npm.Fetch(t.TempDir(), p.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(networks)) {
			line, err := timeNetwork(name, networks[name], p.DimsOf(name).Sizes)
			if err != nil {
				t.Errorf("%s: %s: %v", p.Name, name, err)
			}
			t.Log(line)
		}
	}
}

// timeNetwork times a network and returns its row of the table. It returns an error if less than
// 97% of the nodes or 99% of the multiply-accumulates run on the engine, or if they need several
// programs.
func timeNetwork(name string, data []byte, dims string) (string, error) {
	o := anesim.OpenOptions{}
	if dims != "" {
		var err error
		if o.Dims, err = network.ParseDims(dims); err != nil {
			return "", err
		}
	}
	n, err := network.ReadONNX(data, network.Options{Dims: o.Dims})
	if err != nil {
		return "", err
	}
	res, err := anesim.FromNetwork(n).Run(context.Background(), anesim.Options{})
	if err != nil {
		return "", err
	}
	d := report.NewNetwork(res)
	c := &d.Coverage
	line := fmt.Sprintf("%-45s %4d of %4d nodes, %11d of %11d multiply-accumulates, %d program, %v (%v to %v)", name, c.Done, c.Nodes, c.DoneMACs, c.MACs,
		len(d.Programs), d.Total.TimeNs, d.Total.TimeLowNs, d.Total.TimeHighNs)
	if float64(c.Done) < 0.97*float64(c.Nodes) || float64(c.DoneMACs) < 0.99*float64(c.MACs) || c.Unsized > 0 || len(d.Programs) != 1 {
		return line, fmt.Errorf("%+v, %d programs: %+v", *c, len(d.Programs), d.NotModelled)
	}
	return line, nil
}
