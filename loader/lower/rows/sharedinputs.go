package rows

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
		if column && isReadAsColumns(c.uses[name]) || g.Kind == Norm || g.Kind == PairProduct && k == 0 || g.Kind == PairProduct && g.Inputs[0] == name {
			continue
		}
		c.copyToL2(v)
	}
	return true
}

// isReadAsColumns reports whether every use of a tensor is a matmul that reads its columns.
func isReadAsColumns(uses []use) bool {
	for _, u := range uses {
		if g := u.group; g.Kind != Product && !(g.Kind == PairProduct && u.input == 1 && g.Transposed && g.Heads == 1) {
			return false
		}
	}
	return true
}
