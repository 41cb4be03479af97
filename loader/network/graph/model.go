package graph

// A Model is a network as a file has it.
type Model struct {
	Graph
	Name    string
	Inputs  []Port // without the constants
	Results []Port
	Values  map[string]*Value // every tensor by its name
}

// A Port is what a file states of a tensor that goes into a network or comes out of it.
type Port struct {
	Name string
	Type Type
	Dims []Dim // nil if the file states no shape
}

// A Dim is one dimension of a port: a size, or a name, or neither.
type Dim struct {
	Size int64
	Name string
}

// Sizes is the shape and type of a port all of whose dimensions have sizes that the engine may
// have, nil for any other.
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
