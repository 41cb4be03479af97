package task

import "anesim/hw/regs"

// Linked reports whether task i takes its first source tile by tile as the task before
// makes it: extents, channels and strides are that task's own, and no operand is that
// task's source (17/18 have them equal).
func IsLinked(tasks []*Task, i int) bool {
	if i == 0 || i >= len(tasks) {
		return false
	}
	t, before := tasks[i], tasks[i-1]
	if t.First == nil || !t.First.Result || t.First.Owner != before || t.Second != nil && t.Second.Owner == before && !t.Second.Result {
		return false
	}
	a, b := &before.g, &t.g
	if b.NE.MACCfg.OpMode() == regs.MultiplyAccumulate && b.Common.Cfg.SmallSourceMode() && !t.Planar() {
		return false // products of blocks wait for the whole tile (2/2)
	}
	return uint32(a.Common.OutDim) == uint32(b.Common.InDim) && uint32(a.Common.Cout) == uint32(b.Common.Cin) &&
		a.GroupCount() == b.GroupCount() && a.ResultTransposed() == readsTransposed(b) && !t.DescribesSource && !b.Source2On() &&
		a.L2.ResultBase == b.L2.Src1Base && a.L2.ResultChannelStride == b.L2.Src1ChannelStride &&
		a.L2.ResultRowStride == b.L2.Src1RowStride && a.L2.ResultDepthStride == b.L2.Src1DepthStride
}

// sourceTransposed reports whether a planar task reads its first source with channel and x
// transposed, as the task before wrote it.
func readsTransposed(g *regs.Groups) bool {
	return g.Planar() && g.Common.PlanarOperands.Src1Transpose()
}
