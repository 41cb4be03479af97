// Package settle determines the type, the shape and, if it is constant, the value of each tensor of a
// network, before any package decides how the engine runs a node.
//
// A file states operators and leaves most shapes to be inferred. Nodes are settled in an order
// in which they can run, so that the rule of an operator (package ops) knows its inputs:
//
//	constants   a node whose inputs are constants becomes one: shapes that a file computes,
//	            weights that it stores as integers with a scale
//	expansions  an operator that a runtime has fused, or that works on quantized tensors, is
//	            rewritten as simpler nodes (the Body of a [Node])
//	shapes      every result gets the shape and the type that the rule infers, or else those
//	            that the file states, whether or not the engine can run the node: one
//	            unsupported layer does not hide the layers after it
//	sizes       a result whose size depends on values gets its largest shape and its bounds;
//	            the host computes it, or the engine with its inputs at their largest
//	branches    an If by a constant becomes the nodes of one branch, any other If has both
//
// The package knows nothing about layers. If the engine decides which of two ways is taken, a
// node has both: a Body and its own results, an operator and the Pieces that the file has, the
// host and Largest. The package that makes layers visits each node once and takes the first way
// that works, so a way that fails leaves nothing to undo. The exception is a pattern whose
// result is a constant: its pieces are constants, and the operator in their place would be a
// layer.
//
// attention.go, norms.go, matmul.go, quantized.go and spectra.go hold the expansions, by
// family. Their table is in expand.go.
package settle
