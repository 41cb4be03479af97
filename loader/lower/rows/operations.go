package rows

import (
	"anesim/loader/layer"
	"anesim/loader/lower/pass"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// emit appends the tasks of a group; out says that its result leaves the chain.
func (c *chain) emit(g *Group, out bool) bool {
	v := &value{name: g.Output, rows: g.Heads * g.Rows, width: g.Width}
	c.values[g.Output] = v
	switch g.Kind {
	case Product:
		return c.product(g, v, out)
	case PairProduct:
		return c.product2(g, v, out)
	case Binary:
		c.binary(g, v, out)
	case Scalar:
		c.scalarOp(g, v, out)
	case Activation:
		c.activation(g, v, out)
	case Norm:
		c.norm(g, v, out)
	case Softmax:
		c.softmax(g, v, out)
	}
	return true
}

// result streams a planar task's rows out, or holds them.
func (c *chain) result(t *task.Task, v *value, out bool) {
	if out {
		m := c.output
		m.Plane = m.Row * v.rows
		m.Depth, m.Group = m.Plane, m.Plane
		c.write(t, m)
		return
	}
	v.nat = c.rows(t, v)
}

// wantsColumns reports whether all that read a tensor are products of its columns, of
// blocks or not as block says.
func (c *chain) wantsColumns(name string, block bool) bool {
	for _, u := range c.uses[name] {
		g := u.group
		if !(g.Kind == Product && g.Block == block || g.Kind == PairProduct && u.input == 1 && g.Turned && g.Heads == 1 && !block) {
			return false
		}
	}
	return len(c.uses[name]) > 0
}

// source gives a task its first operand over the given view; what is in memory and read
// again stays.
func (c *chain) source(t *task.Task, v *value, channels bool) {
	switch {
	case v.nat != nil && channels:
		c.from(t, v.nat, v.nat.channelsAt())
	case v.nat != nil:
		c.from(t, v.nat, v.nat.rowsAt(v))
	case channels:
		h := c.load(t, v.channelsOf(), place.Packed(v.channelShape()), c.again(v))
		if c.again(v) {
			v.nat = h
		}
	default:
		c.load(t, v.surfaceOf(), pieces(v.rowsShape()), false)
	}
}

// binary appends an operation on two tensors.
func (c *chain) binary(g *Group, v *value, out bool) {
	x, z := c.value(g.Inputs[0]), c.value(g.Inputs[1])
	if c.siblings(g) && (g.Layer.Op == layer.Add || g.Layer.Op == layer.Mul) {
		x, z = z, x
	}
	s := v.rowsShape()
	op := pass.Elementwise(&g.Layer, s)
	op.ReLU = g.Activation == layer.ReLU
	t := op.Task()
	if x.nat != nil {
		c.from(t, x.nat, x.nat.rowsAt(x))
	} else {
		c.load(t, x.surfaceOf(), planarRows(s), false)
	}
	if z.nat != nil {
		c.with(t, z.nat, z.nat.rowsAt(z))
	} else {
		c.load2(t, z.surfaceOf(), planarRows(s))
	}
	t.InL2()
	c.result(t, v, out)
	c.add(t)
}

// siblings reports whether both operands are products of one tensor: the later one comes
// first then (1/1).
func (c *chain) siblings(g *Group) bool {
	from := ""
	n := 0
	for i := range c.groups {
		if p := &c.groups[i]; p.Kind == Product && (p.Output == g.Inputs[0] || p.Output == g.Inputs[1]) {
			if n++; n == 2 {
				return p.Inputs[0] == from
			}
			from = p.Inputs[0]
		}
	}
	return false
}

// scalarOp appends an operation with one constant.
func (c *chain) scalarOp(g *Group, v *value, out bool) {
	s := v.rowsShape()
	op := pass.Scalar(&g.Layer, s, uint16(layer.ValueAt(g.Weights.Second, 0)))
	op.ReLU = g.Activation == layer.ReLU
	t := op.Task()
	c.source(t, c.value(g.Inputs[0]), false)
	c.result(t, v, out)
	c.add(t)
}

// activation appends a table or ReLU by itself.
func (c *chain) activation(g *Group, v *value, out bool) {
	s := v.rowsShape()
	t := pass.Activation(g.Layer.Op, s, g.Layer.Epsilon).Task()
	c.source(t, c.value(g.Inputs[0]), false)
	if g.Layer.Op != layer.ReLU {
		c.table(t, g.Weights.Table)
	}
	c.result(t, v, out)
	c.add(t)
}
