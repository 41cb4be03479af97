package agreement

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"anesim"
	"anesim/internal/material"
	"anesim/loader/network"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

// examples are the networks among the command's examples.
var examples = []string{
	"classifier.mlpackage", "decode.yaml", "decoder-step.onnx", "mobilenetv2.yaml", "observed.yaml", "picture.mil", "resnet50.yaml", "transformer.yaml",
}

var large = flag.Bool("large", false, "also compute networks of more than 2e8 multiply-accumulates in TestInMemory")

// TestInMemory computes the examples and the networks of the reference material with tensors
// in L2 and with all tensors in memory. The outputs must have the same bits.
func TestInMemory(t *testing.T) {
	var files []string
	for _, name := range examples {
		files = append(files, filepath.Join("..", "..", "..", "tools", "anesim", "examples", name))
	}
	files = append(files, material.More(t, "networks/*.yaml", "networks/*.mil", "networks/*.mlmodel", "networks/*.mlpackage", "graphs/*/net.onnx")...)
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			n, err := network.Open(file, network.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if c := partition.CoverageOf(n, nil); !*large && c.MACs > 2e8 {
				t.Skipf("%d multiply-accumulates; -large computes them", c.MACs)
			}
			switch what, err := diffInMemory(n); {
			case errors.As(err, new(*anesim.MissingWeightsError)):
				t.Skip(err) // a file of the reference material that came without its weights
			case err != nil:
				t.Error(err)
			case what != "":
				t.Error(what)
			}
		})
	}
}

// diffInMemory computes n with tensors in L2 and with all tensors in memory, on pseudo-random
// inputs. It returns what differs in the bits of an output, or "" if nothing does.
func diffInMemory(n *list.Network) (string, error) {
	var bits [2][]anesim.Output
	for i := range bits {
		n.InMemory = i == 1
		res, err := anesim.FromNetwork(n).Run(context.Background(), anesim.Options{Values: true, Seed: 1})
		if err != nil {
			return "", err
		}
		bits[i] = res.Outputs
	}
	if len(bits[0]) != len(bits[1]) || len(bits[0]) == 0 {
		return fmt.Sprintf("%d outputs, and %d with all tensors in memory", len(bits[0]), len(bits[1])), nil
	}
	for i, a := range bits[0] {
		b := bits[1][i]
		if !slices.Equal(a.Data, b.Data) {
			return fmt.Sprintf("%s begins %v, and %v with all tensors in memory", a.Port.Name, a.Data[:min(4, len(a.Data))], b.Data[:min(4, len(b.Data))]), nil
		}
		if !slices.EqualFunc(a.Numbers, b.Numbers, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }) {
			return fmt.Sprintf("the numbers of %s differ", a.Port.Name), nil
		}
	}
	return "", nil
}
