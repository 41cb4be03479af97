package list

// A Stage is a node that the host computes between two programs, as the vendor's framework uses
// the CPU for operations that the engine lacks: selecting table rows by computed index,
// sorting, integer arithmetic. The Reason of its layer says why the engine cannot run it.
//
// The sizes of some results depend on values. Elements, Bytes, Inputs and Outputs then hold the
// largest sizes, and Run returns the actual ones.
type Stage struct {
	Elements uint64  // elements read and written
	Bytes    uint64  // their size in the file's types
	Inputs   [][]int // shapes of the layer's inputs
	Outputs  []Tensor
	// Run computes the stage for the inputs of its layer. The results are in the order of
	// Outputs, each with its actual shape for these inputs. Errors name the node.
	Run func(in []Array) ([]Array, error)
}

// A Cut describes a tensor that the engine computes from one whose size depends on values. The
// engine computes it in its largest shape, padded with zeros, so the excess has to be removed.
type Cut struct {
	Dims    []int    // the largest shape
	Inputs  []string // tensors that the actual shape depends on
	Largest [][]int  // the largest shapes of Inputs
	// Shape returns the actual shape for inputs of the actual shapes dims.
	Shape func(dims [][]int) ([]int, error)
}
