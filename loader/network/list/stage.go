package list

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
