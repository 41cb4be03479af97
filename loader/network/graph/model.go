package graph

// A Model is the network that a file describes.
type Model struct {
	Graph
	Name    string
	Inputs  []Port // without the constants
	Results []Port
	Values  map[string]*Value // all tensors by name
}

// A Port is the file's description of an input or an output of the network.
type Port struct {
	Name string
	Type Type
	Dims []Dim // nil if the file states no shape
}

// A Dim is one dimension of a port: a size, a name, or neither.
type Dim struct {
	Size int64
	Name string
}

// Sizes returns the shape and type of the port. It returns nil if a dimension has no size or
// one outside 1 to MaxExtent.
func (p *Port) Sizes() *Result {
	if p.Dims == nil {
		return nil
	}
	dims := []int{}
	for _, d := range p.Dims {
		if d.Size < 1 || d.Size > MaxExtent {
			return nil
		}
		dims = append(dims, int(d.Size))
	}
	return &Result{Dims: dims, Type: p.Type}
}
