package task

import "anesim/hw/regs"

// Patches of the compiler of 2023 for tensors larger than L2: 2 rows of 64 columns on the MAC
// engines, 32 rows of 512 columns on the planar engine.
const (
	narrowColumns = 64
	narrowPatch   = 1
	streamedLog2W = 9
	streamedLog2H = 5
)

// NarrowPatch gives MAC task t patches of 2 rows of 64 columns. Apple's compiler of 2023 uses
// them for tasks that stream their source from memory.
func NarrowPatch(t *Task) {
	c := &t.g.Common
	c.Cfg = c.Cfg.WithAccDoubleBufEn(true)
	t.SetPatch(FixedPatch(narrowPatch))
	t.columns = narrowColumns
}

// StreamedPatch returns the patch of a planar task that streams sources of shape s from memory, as
// in programs of Apple's compiler of 2023. The patch has up to 32 rows of 512 columns, and
// each tile of the result is one patch high.
func StreamedPatch(s regs.Shape) Patch {
	return func(t *Task) {
		w, h := min(max(Log2Ceil(s.Width), 4), streamedLog2W), min(Log2Ceil(s.Height), streamedLog2H)
		t.SetPatch(PlanarPatch(w, h))
		t.SetTileHeight(min(s.Height, 1<<h))
	}
}
