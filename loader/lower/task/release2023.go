package task

import "anesim/hw/regs"

// Patches of the compiler of 2023 for tensors beyond the L2: two rows of 64 columns on the
// MAC engines, 32 rows of 512 columns on the planar engine.
const (
	narrowColumns = 64
	narrowPatch   = 1
	streamedLog2W = 9
	streamedLog2H = 5
)

// Narrow is the patch of a task on the MAC engines whose source streams.
func (t *Task) Narrow() {
	c := &t.g.Common
	c.Cfg = c.Cfg.WithAccDoubleBufEn(true)
	t.FixPatch(narrowPatch)
	t.columns = narrowColumns
}

// Streamed is the patch of a planar task whose sources stream.
func (t *Task) Streamed(s regs.Shape) (rows int) {
	c := &t.g.Common
	w, h := min(max(Log2Ceil(s.Width), 4), streamedLog2W), min(Log2Ceil(s.Height), streamedLog2H)
	c.PlanarPatch = c.PlanarPatch.WithLog2W(w).WithLog2H(h)
	rows = min(s.Height, 1<<h)
	t.TileRows(rows)
	return rows
}
