package task

import (
	"slices"

	"anesim/hw/regs"
	"anesim/loader"
)

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

// Finish2023 is finish in the form of the compiler of 2023: every descriptor has all words
// of the coefficients' block, planar ones all of them 0, and the first is not marked.
// spread says that the tasks pass tensors on through memory.
func (c Chain) Finish2023(spread bool) []*regs.Descriptor {
	for _, t := range c {
		k := &t.g.KernelDMASrc
		clear(k.CoeffTail[8:12])
		if t.Planar() {
			*k = regs.KernelDMASrc{}
			sides := t.g.NE.KernelCfg
			t.g.NE.MACCfg = 0
			t.g.NE.KernelCfg = regs.KernelCfg(0).WithPreviousPlanar(sides.PreviousPlanar()).WithNextPlanar(sides.NextPlanar())
			if t.g.Source1On() {
				t.g.TileDMASrc.Reserved16 = 0
			}
		}
	}
	link := c.Finish
	if spread {
		link = func() []*regs.Descriptor { return c.link(Chain.starts2023, Chain.route2023) }
	}
	out := link()
	for i, d := range out {
		k := c[i].g.KernelDMASrc.Words()
		first := d.Records[0].Addr
		d.Records = slices.DeleteFunc(d.Records, func(r regs.Record) bool {
			return r.Addr >= first && r.Addr < first+uint32(4*len(k))
		})
		d.Records = append([]regs.Record{{Addr: first, Values: k[:]}}, d.Records...)
		d.Words = regs.HeaderWords
		for _, r := range d.Records {
			d.Words += 1 + len(r.Values)
		}
	}
	out = loader.Sequence(out...)
	for i, d := range out {
		d.Header.Control = d.Header.Control.WithDisallowAbort(false)
		events := uint32(0x400)
		if i == len(out)-1 {
			events |= 0x22
		}
		d.Header.LogEvents = d.Header.LogEvents.WithLogEvents(events)
	}
	return out
}
