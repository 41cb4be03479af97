package graph

// A Model is a network as its file describes it, before any shape is inferred.
type Model struct {
	Graph
	Name    string
	Inputs  []Port // without the constants; Graph.Inputs is nil
	Results []Port
	Values  map[string]*Value // all tensors by name
}

// A Port describes an input or an output of a network, as its file states it.
type Port struct {
	Name string
	Type Type
	Dims []Dim // nil if the file states no shape
	// State is, for an input that keeps its value from call to call, the result that replaces it
	// after a call, or its own name if no call changes it. It is "" for other inputs.
	State string
}

// A Dim is one dimension of a [Port]. It has a size, a name for a size that the user chooses, or
// neither.
type Dim struct {
	Size int64
	Name string
}

// Sizes returns the shape and element type of the port. It returns nil if the file states no shape,
// or one with a dimension whose size is missing or not from 1 to [MaxExtent].
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
