package settle

import (
	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// A tensor without elements, such as the cache of a decoder before its first token, is a constant
// whatever it is computed from. The engine has no tensors without elements; a Concat leaves them out.

// settleEmptyResults makes the results of n without elements constants, and reports whether all results
// are such. A product over an axis without elements is a constant of zeros.
func (s *settler) settleEmptyResults(n *Node) bool {
	if ops.Of(n.Op).Infer == nil || ops.IsDynamic(n.Node) {
		return false
	}
	results, err := ops.Infer(n.Node)
	if err != nil || len(results) < len(n.Out) {
		return false
	}
	all := true
	for i, out := range n.Out {
		r := results[i]
		size := graph.Elements(r.Dims)
		switch {
		case size == 0:
			out.Set(&graph.Const{Dims: r.Dims, Type: r.Type, Numbers: []float64{}})
		case n.Op == "MatMul" && graph.Elements(n.In[0].Dims) == 0 && s.budget.Spend(graph.NumberBytes, size) == nil:
			out.Set(&graph.Const{Dims: r.Dims, Type: r.Type, Numbers: make([]float64, size)})
		default:
			all = false
		}
	}
	return all
}
