package rows

import (
	"anesim/loader/internal/lower/task"
)

// isPlainCopy reports whether t moves its source without a table.
func isPlainCopy(t *task.Task) bool { return t.IsPassThrough() && t.Table == nil }

// markPlanarRuns records in the registers of tasks that they belong to a run of planar tasks. Copies
// between two planar tasks count, those before the first and after the last do not (seen in 50 of 50
// tasks).
func (c *pixelChain) markPlanarRuns() {
	for _, t := range c.tasks {
		t.Pixels = true
	}
	for i := 0; i < len(c.tasks); i++ {
		if !c.tasks[i].Planar() {
			continue
		}
		first, last := i, i
		for ; i < len(c.tasks) && (c.tasks[i].Planar() || isPlainCopy(c.tasks[i])); i++ {
			if c.tasks[i].Planar() {
				last = i
			}
		}
		for k := first; k <= last; k++ {
			c.tasks[k].MarkPlanarNeighbours(k > first && c.tasks[k].Planar(), k < last)
		}
	}
}

// holdLinkedSources keeps the sources of each task in L2 for the next one too, if that one can read the
// result while it is computed (seen in 2 of 2 tensors that it decides about). Sources that a DMA loads are
// not kept: a task that writes over one waits.
func (c *pixelChain) holdLinkedSources() {
	next := map[*task.Task]int{}
	for i, t := range c.tasks {
		if task.IsLinked(c.tasks, i+1) {
			next[t] = i + 1
		}
	}
	for _, f := range c.fixups {
		if i, ok := next[f.task]; ok && f.which != task.OperandResult && !f.extent.Streams {
			f.extent.Last = max(f.extent.Last, i)
		}
	}
}

// fixLinkedPatches gives tasks that pass a tile from engine to engine while it is computed patches that
// suit each other. It comes after the tiles have their places, which decide what is linked.
func (c *pixelChain) fixLinkedPatches() {
	for i, t := range c.tasks {
		if !task.IsLinked(c.tasks, i) {
			continue
		}
		before := c.tasks[i-1]
		switch sh := task.LinkedPatchLog2(t.InShape()); {
		case t.Planar() && !before.Planar() && t.InShape().Height > 1:
			t.SetPatch(task.LinkedPatch(before.PatchLog2()))
		case !t.Planar() && before.Planar() && t.IsPassThrough():
			t.SetPatch(task.FixedPatch(sh))
		}
	}
	for i, t := range c.tasks {
		if t.Planar() && task.IsLinked(c.tasks, i+1) && !c.tasks[i+1].Planar() && (t.InShape().Height == 1 || !c.tasks[i+1].IsPassThrough()) {
			t.SetPatch(task.LinkedPatch(c.tasks[i+1].PatchLog2()))
		}
	}
}

// describeLoneBlocks describes in the scratch buffer each tensor in blocks that is all that L2 holds
// between its transpose and the convolution: another program may get the engine there.
func (c *pixelChain) describeLoneBlocks() {
	for i, x := range c.prepared {
		alone := true
		for _, e := range c.extents {
			alone = alone && (e == c.regrouped[x.name].extent || e.First > i || e.Last <= i)
		}
		if alone && i+1 < len(c.tasks) && c.tasks[i+1].First == c.tasks[i].Result {
			m := x.scratchSurface(true)
			c.tasks[i].MarkResultDescribed(m)
			c.tasks[i+1].MarkSourceDescribed(m)
			c.described = max(c.described, m.Depth)
		}
	}
}
