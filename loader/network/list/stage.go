package list

import "slices"

// A Stage is a node that the host works out between two programs, as the vendor's framework
// has the CPU do what the engine has no form for: rows of a table by computed places, sorting,
// arithmetic on whole numbers. Its layer's Reason says why the engine does not do it.
//
// The sizes of some results depend on values: Elements, Bytes, Inputs and Outputs are
// those of the largest, and Run gives the actual ones.
type Stage struct {
	Elements uint64  // that it reads and makes
	Bytes    uint64  // of them in the file's types
	Inputs   [][]int // shapes of the layer's inputs
	Outputs  []Tensor
	// Run computes the stage on its layer's inputs, in order. The results are in the order of
	// Outputs, each in the shape that it has for these inputs. Errors have the node's name.
	Run func(in []Array) ([]Array, error)
}

// A Cut is a tensor that the engine makes of one whose size depends on values: as it has its
// largest shape there, what is of zeros beyond the actual rows is to be left out.
type Cut struct {
	Dims    []int    // the largest shape
	Inputs  []string // tensors that the actual shape depends on
	Largest [][]int  // the largest shapes of Inputs
	// Shape returns the actual shape for inputs of the actual shapes dims.
	Shape func(dims [][]int) ([]int, error)
}

// stages orders layers so that the host's stages do not cut a program where they need not:
// those that rest on nothing the engine makes go ahead of all, those on whose results no
// layer of the engine rests behind all. All else keeps its order.
func (b *Builder) stages() {
	n := &b.Net
	if !slices.ContainsFunc(n.Layers, func(l Layer) bool { return l.Host != nil }) {
		return
	}
	const ahead, between, behind = 0, 1, 2
	place := make([]int, len(n.Layers))
	engine := map[string]bool{} // tensors that rest on the engine
	for i := range n.Layers {
		l := &n.Layers[i]
		place[i] = between
		if l.Host != nil && !slices.ContainsFunc(l.Inputs, func(in string) bool { return engine[in] }) {
			place[i] = ahead
			continue
		}
		for _, out := range append([]string{l.Output}, l.Others...) {
			engine[out] = true
		}
	}
	read := map[string]bool{} // tensors that a layer between reads
	for i := len(n.Layers) - 1; i >= 0; i-- {
		l := &n.Layers[i]
		if place[i] == between && l.Host != nil && !slices.ContainsFunc(append([]string{l.Output}, l.Others...), func(out string) bool { return read[out] }) {
			place[i] = behind
			continue
		}
		for _, in := range l.Inputs {
			read[in] = true
		}
	}
	var sorted []Layer
	for _, p := range [...]int{ahead, between, behind} {
		for i := range n.Layers {
			if place[i] == p {
				sorted = append(sorted, n.Layers[i])
			}
		}
	}
	n.Layers = sorted
}
