package task

import "anesim/hw/regs"

// IsLinked reports whether task i of a program reads its first source tile by tile while task i-1
// still computes it. The source must have the extents, channels and strides of the result of task
// i-1, and the two tasks must not share a source (seen in 17 of 18 pairs). IsLinked reports false
// if i is 0 or out of range.
func IsLinked(tasks []*Task, i int) bool {
	if i == 0 || i >= len(tasks) {
		return false
	}
	t, before := tasks[i], tasks[i-1]
	if t.First == nil || !t.First.Result || t.First.Owner != before || t.Second != nil && t.Second.Owner == before && !t.Second.Result {
		return false
	}
	if t.Pixels && t.overwritesSourceOf(before) {
		return false
	}
	a, b := &before.g, &t.g
	if b.NE.MACCfg.OpMode() == regs.MultiplyAccumulate && b.Common.Cfg.SmallSourceMode() && !t.Planar() {
		return false // matmuls over blocks wait for the whole tile (seen in 2 of 2 tasks)
	}
	return fits(a, b) &&
		a.GroupCount() == b.GroupCount() && a.ResultTransposed() == hasTransposedSource(b) && !t.DescribesSource && !b.Source2On() &&
		a.L2.ResultBase == b.L2.Src1Base && a.L2.ResultChannelStride == b.L2.Src1ChannelStride &&
		a.L2.ResultRowStride == b.L2.Src1RowStride && a.L2.ResultDepthStride == b.L2.Src1DepthStride
}

// fits reports whether the source of b has the rows, columns and channels of the result of a.
func fits(a, b *regs.Groups) bool {
	out, in := a.Common.OutDim, b.Common.InDim
	return out.Wout() == in.Win() && out.Hout() == in.Hin() && a.Common.Cout.Cout() == b.Common.Cin.Cin()
}

// SharesSecondPatch reports whether planar task i reads as its second source the result that task i-1, on
// the same engine, computes in the same patches.
func SharesSecondPatch(tasks []*Task, i int) bool {
	if i == 0 {
		return false
	}
	t, before := tasks[i], tasks[i-1]
	return t.Planar() && before.Planar() && t.Second != nil && t.Second == before.Result && t.InShape() == before.InShape() &&
		t.g.Common.PlanarPatch == before.g.Common.PlanarPatch
}

// overwritesSourceOf reports whether t writes over a tile that the task before it reads, other than
// element by element in its place: it then waits for the whole task (seen in 2 of 2 tasks).
func (t *Task) overwritesSourceOf(before *Task) bool {
	r := t.Result
	if r == nil || r.Bytes == 0 {
		return false
	}
	for _, s := range [...]*Tile{before.First, before.Second} {
		if s != nil && s.Bytes > 0 && r.Overlaps(s) && r.At != s.At {
			return true
		}
	}
	return false
}

// hasTransposedSource reports whether a planar task reads its first source with channels and
// columns exchanged.
func hasTransposedSource(g *regs.Groups) bool {
	return g.Planar() && g.Common.PlanarOperands.Src1Transpose()
}
