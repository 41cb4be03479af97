package rows

import "slices"

// loadSharedInputs appends tasks that load inputs of g into L2 if several groups read them and the
// first of these cannot leave them there. It reports false if an input does not exist.
func (c *chain) loadSharedInputs(g *Group) bool {
	for k, name := range g.Inputs {
		v := c.values[name]
		if v == nil {
			return false
		}
		if v.mem == nil || v.rowTile != nil || c.reads[name] < 2 {
			continue
		}
		column := g.Kind == Product || g.Kind == PairProduct && k == 1 && g.Transposed
		if column && c.isReadAsColumns(name) || g.Kind == Norm || g.Kind == PairProduct && k == 0 || g.Kind == PairProduct && g.Inputs[0] == name {
			continue
		}
		c.copyToL2(v)
	}
	return true
}

// isReadAsColumns reports whether every use of a tensor is a matmul that reads its columns.
func (c *chain) isReadAsColumns(name string) bool {
	byRows, ok := c.byRows[name]
	if !ok {
		byRows = slices.ContainsFunc(c.uses[name], func(u use) bool {
			g := u.group
			return g.Kind != Product && !(g.Kind == PairProduct && u.input == 1 && g.Transposed && g.Heads == 1)
		})
		c.byRows[name] = byRows
	}
	return !byRows
}
