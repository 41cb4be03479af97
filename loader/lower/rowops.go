package lower

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/task"
)

// emit appends the tasks of a group; out says that its result leaves the chain.
func (c *rowChain) emit(g *rowGroup, out bool) bool {
	v := &rowValue{name: g.output, rows: g.heads * g.rows, width: g.width}
	c.values[g.output] = v
	switch g.kind {
	case rowProduct:
		return c.product(g, v, out)
	case rowProduct2:
		return c.product2(g, v, out)
	case rowBinary:
		c.binary(g, v, out)
	case rowScalar:
		c.scalarOp(g, v, out)
	case rowActivation:
		c.activation(g, v, out)
	case rowNorm:
		c.norm(g, v, out)
	case rowSoftmax:
		c.softmax(g, v, out)
	}
	return true
}

// result streams a planar task's rows out, or holds them.
func (c *rowChain) result(t *task.Task, v *rowValue, out bool) {
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
func (c *rowChain) wantsColumns(name string, block bool) bool {
	for _, u := range c.uses[name] {
		g := u.group
		if !(g.kind == rowProduct && g.block == block || g.kind == rowProduct2 && u.input == 1 && g.turned && g.heads == 1 && !block) {
			return false
		}
	}
	return len(c.uses[name]) > 0
}

// source gives a task its first operand over the given view; what is in memory and read
// again stays.
func (c *rowChain) source(t *task.Task, v *rowValue, channels bool) {
	switch {
	case v.nat != nil && channels:
		c.from(t, v.nat, v.nat.channelsAt())
	case v.nat != nil:
		c.from(t, v.nat, v.nat.rowsAt(v))
	case channels:
		h := c.load(t, v.channelsOf(), task.Packed(v.channelShape()), c.again(v))
		if c.again(v) {
			v.nat = h
		}
	default:
		c.load(t, v.surfaceOf(), pieces(v.rowsShape()), false)
	}
}

// binary appends an operation on two tensors.
func (c *rowChain) binary(g *rowGroup, v *rowValue, out bool) {
	x, z := c.value(g.inputs[0]), c.value(g.inputs[1])
	if c.siblings(g) && (g.layer.Op == layer.Add || g.layer.Op == layer.Mul) {
		x, z = z, x
	}
	s := v.rowsShape()
	t := planarOp(&g.layer, regs.FormTwoSources, s)
	t.G.PE.Cfg = t.G.PE.Cfg.WithReluEn(g.activation == layer.ReLU)
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
func (c *rowChain) siblings(g *rowGroup) bool {
	from := ""
	n := 0
	for i := range c.groups {
		if p := &c.groups[i]; p.kind == rowProduct && (p.output == g.inputs[0] || p.output == g.inputs[1]) {
			if n++; n == 2 {
				return p.inputs[0] == from
			}
			from = p.inputs[0]
		}
	}
	return false
}

// scalarOp appends an operation with one constant.
func (c *rowChain) scalarOp(g *rowGroup, v *rowValue, out bool) {
	s := v.rowsShape()
	t := task.PlanarTask(regs.FormConstant, s, s)
	k := uint16(layer.ValueAt(g.weights.Second, 0))
	switch g.layer.Op {
	case layer.Mul:
		t.G.PE.BiasScale = t.G.PE.BiasScale.WithScale(k)
	case layer.Sub:
		t.G.PE.BiasScale = t.G.PE.BiasScale.WithBias(k ^ 0x8000)
	default:
		t.G.PE.BiasScale = t.G.PE.BiasScale.WithBias(k)
	}
	c.source(t, c.value(g.inputs[0]), false)
	c.result(t, v, out)
	c.add(t)
}

// activation appends a table or ReLU by itself.
func (c *rowChain) activation(g *rowGroup, v *rowValue, out bool) {
	s := v.rowsShape()
	t := activation(g.layer.Op, s, g.layer.Epsilon)
	c.source(t, c.value(g.inputs[0]), false)
	if g.layer.Op != layer.ReLU {
		c.table(t, g.weights.Table)
	}
	c.result(t, v, out)
	c.add(t)
}
