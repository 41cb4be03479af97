// Package settle finds out what each tensor of a graph is, before anything asks what the engine
// does for a node.
//
// A file states operators and leaves most shapes to be told from them. Nodes are settled in an
// order in which they can run, so that a rule of an operator (package ops) knows what it reads:
//
//	constants   a node whose inputs are constants becomes one: shapes that a file computes,
//	            weights that it keeps as whole numbers with a scale
//	in others   an operator that a runtime has fused, or that works on quantised tensors, is
//	            stated in nodes that the engine has forms for (the Body of a [Node])
//	shapes      every result gets the shape and the type that the rule gives, or else those
//	            that the file states, whether the engine does the node or not: one missing
//	            layer does not hide those behind it
//	sizes       a result whose size depends on values gets its largest shape and what bounds
//	            there are; the host computes it, or the engine with its inputs at their largest
//	branches    an If by a constant is the nodes of one side, by anything else both sides
//
// Nothing here knows layers. Where it depends on the engine which of two ways is taken, a node
// has both: a Body and its own results, an operator and the Pieces that a file has it in, the
// host and Largest. Whoever makes layers visits each node once and takes the first way that
// goes, so that a way that does not leaves nothing to be undone. The exception is a pattern
// whose result is a constant: its pieces are constants, and the operator in their place would be
// a layer.
//
// attention.go, norms.go, products.go, quantised.go and spectra.go have the operators that
// others make up, by family; the table of them is in expand.go.
package settle
