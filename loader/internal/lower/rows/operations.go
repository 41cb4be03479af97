package rows

import (
	"anesim/loader/internal/lower/pass"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// emitGroup appends the tasks of group g, one operation of the chain. out says whether the result
// of g is the output of the chain. emitGroup reports false if it cannot lower the group.
func (c *chain) emitGroup(g *Group, out bool) bool {
	v := &value{name: g.Output, rows: g.Heads * g.Rows, width: g.Width}
	c.values[g.Output] = v
	switch g.Kind {
	case Product:
		return c.emitProduct(g, v, out)
	case PairProduct:
		return c.emitPairProduct(g, v, out)
	case Binary:
		c.emitBinary(g, v, out)
	case Scalar:
		c.emitScalar(g, v, out)
	case Activation:
		c.emitActivation(g, v, out)
	case Norm:
		c.emitNorm(g, v, out)
	case Softmax:
		c.emitSoftmax(g, v, out)
	}
	return true
}

// writeOrKeepRows makes task t write the rows of v to the output of the chain if out is set.
// Otherwise the rows stay in L2 for later tasks.
func (c *chain) writeOrKeepRows(t *task.Task, v *value, out bool) {
	if out {
		m := c.output
		m.Plane = m.Row * v.rows
		m.Depth, m.Group = m.Plane, m.Plane
		c.streamResultToMemory(t, m)
		return
	}
	v.rowTile = c.keepRowsInL2(t, v)
}

// wantsColumns reports whether every use of a tensor is a matmul that reads its columns, in blocks
// of eight if block is set and without blocks otherwise. It reports false for a tensor that nothing
// uses.
func wantsColumns(uses []use, block bool) bool {
	for _, u := range uses {
		g := u.group
		if !(g.Kind == Product && g.Block == block || g.Kind == PairProduct && u.input == 1 && g.Transposed && g.Heads == 1 && !block) {
			return false
		}
	}
	return len(uses) > 0
}

// readFirstSource makes t read v as its first source: as channels if channels is set, and as rows
// of one channel otherwise. If v has to be loaded from memory as channels and other groups read it
// too, its tile stays in L2.
func (c *chain) readFirstSource(t *task.Task, v *value, channels bool) {
	switch {
	case v.rowTile != nil && channels:
		c.readFirstFromTile(t, v.rowTile, v.rowTile.channelsLayout())
	case v.rowTile != nil:
		c.readFirstFromTile(t, v.rowTile, v.rowTile.rowsLayout(v))
	case channels:
		h := c.loadFirstSource(t, v.channelsSurface(), place.Packed(v.channelShape()), c.hasSeveralReaders(v))
		if c.hasSeveralReaders(v) {
			v.rowTile = h
		}
	default:
		c.loadFirstSource(t, v.rowsSurface(), pieceLayout(v.rowsShape()), false)
	}
}

// emitBinary appends the task that computes v, an elementwise operation on two tensors. out says
// whether v is the output of the chain.
func (c *chain) emitBinary(g *Group, v *value, out bool) {
	x, z := c.values[g.Inputs[0]], c.values[g.Inputs[1]]
	if c.haveSiblingInputs(g) && (g.Layer.Op == layer.Add || g.Layer.Op == layer.Mul) {
		x, z = z, x
	}
	s := v.rowsShape()
	op := pass.Elementwise(&g.Layer, s)
	op.ReLU = g.Activation == layer.ReLU
	t := op.Task()
	if x.rowTile != nil {
		c.readFirstFromTile(t, x.rowTile, x.rowTile.rowsLayout(x))
	} else {
		c.loadFirstSource(t, x.rowsSurface(), planarRowLayout(s), false)
	}
	if z.rowTile != nil {
		c.readSecondFromTile(t, z.rowTile, z.rowTile.rowsLayout(z))
	} else {
		c.loadSecondSource(t, z.rowsSurface(), planarRowLayout(s))
	}
	t.SetSourceFlags()
	c.writeOrKeepRows(t, v, out)
	c.appendTask(t)
}

// haveSiblingInputs reports whether both inputs of g are results of matmuls with constants that
// read the same tensor. The task of g then reads the later one first (seen in 1 of 1 chains).
func (c *chain) haveSiblingInputs(g *Group) bool {
	p, q := c.makers[g.Inputs[0]], c.makers[g.Inputs[1]]
	return p != nil && q != nil && p != q && p.Kind == Product && q.Kind == Product && p.Inputs[0] == q.Inputs[0]
}

// emitScalar appends the task that computes v, an elementwise operation on a tensor and a number.
// out says whether v is the output of the chain.
func (c *chain) emitScalar(g *Group, v *value, out bool) {
	s := v.rowsShape()
	op := pass.Scalar(&g.Layer, s, uint16(layer.ValueAt(g.Weights.Second, 0)))
	op.ReLU = g.Activation == layer.ReLU
	t := op.Task()
	c.readFirstSource(t, c.values[g.Inputs[0]], false)
	c.writeOrKeepRows(t, v, out)
	c.appendTask(t)
}

// emitActivation appends the task that computes v by a ReLU or a table lookup, for an activation
// that is a group of its own. out says whether v is the output of the chain.
func (c *chain) emitActivation(g *Group, v *value, out bool) {
	s := v.rowsShape()
	t := pass.Activation(g.Layer.Op, s, g.Layer.Epsilon).Task()
	c.readFirstSource(t, c.values[g.Inputs[0]], false)
	if g.Layer.Op != layer.ReLU {
		c.setActivationTable(t, g.Weights.Table)
	}
	c.writeOrKeepRows(t, v, out)
	c.appendTask(t)
}
