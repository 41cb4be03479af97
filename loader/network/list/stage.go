package list

// A Stage is an operator that the host computes between two engine programs because the engine
// lacks it, such as sorting or a table lookup with computed indices. The Reason of its layer says
// the missing features of the engine.
//
// The sizes of some results depend on the values of the inputs. Elements, Bytes, Inputs and Outputs
// then hold the largest sizes, and Run returns arrays of the actual sizes.
type Stage struct {
	Elements uint64  // elements read and written
	Bytes    uint64  // their size in the file's types
	Inputs   [][]int // shapes of the layer's inputs
	Outputs  []Tensor
	// Run computes the stage for the inputs of its layer. The results are in the order of
	// Outputs, each with its actual shape for these inputs. Errors name the node.
	Run func(in []Array) ([]Array, error)
}

// A Cut describes a tensor whose actual size is known only when the network runs. The engine
// computes the tensor at its largest size, padded with zeros. The padding is removed from results.
type Cut struct {
	Dims    []int    // the largest shape
	Inputs  []string // tensors that the actual shape depends on
	Largest [][]int  // the largest shapes of Inputs
	// Shape returns the actual shape for inputs of the actual shapes dims.
	Shape func(dims [][]int) ([]int, error)
}
