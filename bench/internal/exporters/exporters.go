package exporters

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// A kind is what the axes of a tensor mean.
type kind int

const (
	rows      kind = iota // [N,C]
	sequence              // [N,T,C]
	image                 // [N,C,H,W]
	imageLast             // [N,H,W,C]
)

// isKind reports whether a tensor of shape dims can be of kind k, and an image has at least 4 rows and columns.
func isKind(dims []int, k kind) bool {
	if onnx.Elements(dims) > 4096 {
		return false
	}
	switch k {
	case rows:
		return len(dims) == 2
	case sequence:
		return len(dims) == 3
	case image:
		return len(dims) == 4 && min(dims[2], dims[3]) >= 4
	}
	return len(dims) == 4 && min(dims[1], dims[2]) >= 4
}

// A form is a group of nodes as an exporter writes it. Its function reads a tensor of the form's kind and
// returns its result, or "" if the form does not fit the tensor.
type form struct {
	name  string
	reads kind
	write func(w *writer, x string) string
}

// forms has all forms, in the order of the files.
var forms = slices.Concat(torchImageForms, torchSequenceForms, torchRowForms, tensorflowForms, paddleForms, sklearnForms, runtimeForms, quantizedForms, spelledForms)

// Names returns the names of all forms.
func Names() []string {
	var names []string
	for _, f := range forms {
		names = append(names, f.name)
	}
	return names
}

// New returns a random graph and the names of its forms. Its first form is that of the seed modulo
// their number, so that consecutive seeds have all of them. The error says that a form is not valid ONNX.
func New(seed uint64) (*onnxgraph.Graph, []string, error) {
	rng := rand.New(rand.NewPCG(seed, 51))
	first := forms[seed%uint64(len(forms))]
	for {
		w := newWriter(rng, pick(&writer{rng: rng}, 11, 12, 13, 13, 14, 15, 17, 17, 17, 18, 19, 20, 21, 22, 23, 24))
		w.graph.Seed = fmt.Sprint(seed)
		x := w.addGraphInput(first.reads)
		names := []string{first.name}
		x = first.write(w, x)
		if w.err != nil {
			return nil, nil, fmt.Errorf("%s: %w\n%s", first.name, w.err, w.graph)
		}
		if x == "" {
			continue
		}
		for range w.rng.IntN(3) {
			if w.magnitude(x) > 30 {
				break
			}
			f := pick(w, forms...)
			if !isKind(w.dims(x), f.reads) {
				continue
			}
			nodes, inputs := len(w.graph.Nodes), len(w.graph.Inputs)
			y := f.write(w, x)
			if w.err != nil {
				return nil, nil, fmt.Errorf("%s: %w\n%s", f.name, w.err, w.graph)
			}
			if y == "" {
				w.graph.Nodes, w.graph.Inputs = w.graph.Nodes[:nodes], w.graph.Inputs[:inputs]
				continue
			}
			x, names = y, append(names, f.name)
		}
		if w.largest > 4096 {
			continue // the engine's sums end at 32768; masks are large and negative
		}
		w.finish()
		return w.graph, names, nil
	}
}

// addGraphInput adds the input of a graph, of kind k.
func (w *writer) addGraphInput(k kind) string {
	batch := pick(w, 1, 1, 1, 2)
	channels, height, width := pick(w, 1, 2, 3, 4, 8, 12, 16), w.between(4, 14), w.between(4, 14)
	switch k {
	case rows:
		return w.input(w.between(1, 9), pick(w, 2, 4, 5, 8, 13, 16))
	case sequence:
		return w.input(batch, w.between(1, 12), pick(w, 4, 8, 12, 16, 24))
	case image:
		return w.input(batch, channels, height, width)
	}
	return w.input(batch, height, width, channels)
}

// finish makes every tensor that no node reads an output, and removes constants that no node reads.
func (w *writer) finish() {
	read := map[string]bool{}
	for _, n := range w.graph.Nodes {
		for _, name := range n.Inputs {
			read[name] = true
		}
	}
	for _, n := range w.graph.Nodes {
		for _, name := range n.Outputs {
			if name != "" && !read[name] {
				w.graph.Outputs = append(w.graph.Outputs, name)
			}
		}
	}
	w.graph.Prune()
}
