// Graphs writes random ONNX graphs. Each has its own directory with the graph, its inputs as .npy
// files, and a readable form:
//
//	go run ./tools/graphs -n 1000 -seed 1 DIR
//
// The name of a directory is the seed of its graph. A seed gives the same files on every machine.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"anesim/bench/randomgraph"
)

func main() {
	n := flag.Uint64("n", 100, "number of graphs")
	seed := flag.Uint64("seed", 1, "seed of the first graph; the others follow")
	nodes := flag.Int("nodes", 0, "largest number of choices in a graph, 0 for the generator's default")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: graphs [-n N] [-seed S] [-nodes K] DIR")
		os.Exit(2)
	}
	if err := writeGraphs(flag.Arg(0), *seed, *n, randomgraph.Options{MaxNodes: *nodes}); err != nil {
		fmt.Fprintln(os.Stderr, "graphs:", err)
		os.Exit(1)
	}
}

// writeGraphs writes n random graphs to subdirectories of dir. It generates them from n consecutive
// seeds, of which seed is the first.
func writeGraphs(dir string, seed, n uint64, o randomgraph.Options) error {
	for i := range n {
		g := randomgraph.New(seed+i, o)
		if err := g.Save(filepath.Join(dir, fmt.Sprint(seed+i))); err != nil {
			return err
		}
	}
	return nil
}
