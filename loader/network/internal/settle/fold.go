package settle

import (
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// applyFold calls foldNode, and refuses a node of which something was not read.
func (s *settler) applyFold(n *Node) (done bool, err error) {
	n.BeginReading()
	if done, err = s.foldNode(n); done {
		if err = n.Unread(); err != nil {
			for _, out := range n.Out {
				out.Forget()
			}
			n.Kind = Open
			return false, err
		}
	}
	return done, err
}

// foldNode makes the results of n constants if its inputs are constants, or if it depends only on a
// known shape. It reports whether it did.
func (s *settler) foldNode(n *Node) (bool, error) {
	switch n.Op {
	case "Constant":
		c, err := ops.Literal(n.Node)
		if err != nil {
			return false, err
		}
		return true, setConstantResults(n, c)
	// They need the shape alone, and none that may still become smaller.
	case "Shape", "Size":
		if d, err := n.Dims(0); err != nil || d == nil || n.In[0].Least != nil {
			return false, nil
		}
		c, err := ops.Of(n.Op).Fold(n.Node, nil)
		if err != nil {
			return false, err
		}
		return true, setConstantResults(n, c...)
	}
	if v, ok := ops.EvalComparison(n.Node); ok {
		dims, err := graph.Broadcast(n.Input(0).Dims, n.Const(1).Dims)
		if err != nil {
			return false, err
		}
		return true, setConstantResults(n, &graph.Const{Dims: dims, Type: graph.Bool, Numbers: slices.Repeat([]float64{graph.Truth(v)}, graph.Elements(dims))})
	}
	op := ops.Of(n.Op)
	if op.Fold == nil {
		return false, nil
	}
	for i, v := range n.In {
		// Values that were not read stop the fold, but not of operators that only move elements or compute
		// them later.
		if c := v.Const; v.Given() && (c == nil || c.Absent() && !op.Has(ops.Keeps) && (i > 0 || !ops.FoldsLater(n.Node))) {
			return false, nil
		}
	}
	if len(n.In) == 0 || n.Const(0) == nil {
		return false, nil
	}
	if err := inferResults(n); err != nil {
		return false, err
	}
	// The budget comes before the work: constants can fold to sizes far beyond the file's.
	for _, out := range n.Results {
		if err := s.budget.Spend(ops.FoldBytes(n.Node) * graph.Elements(out.Dims)); err != nil {
			return false, err
		}
	}
	if err := s.budget.Spend(ops.SortBytes(n.Node), graph.Elements(n.In[0].Dims)); err != nil {
		return false, err
	}
	c, err := op.Fold(n.Node, n.Results)
	if err != nil || c == nil {
		return false, err
	}
	return true, setConstantResults(n, c...)
}

// setConstantResults makes the results of n the constants c. It leaves results beyond len(c) as
// they are.
func setConstantResults(n *Node, c ...*graph.Const) error {
	for i, out := range n.Out {
		if i < len(c) {
			out.Set(c[i])
		} else if out.Given() && out.Dims == nil {
			out.Why = n.explainLackOf(i)
		}
	}
	n.Kind = Constant
	return nil
}
