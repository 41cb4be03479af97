package lower

import (
	"slices"

	"anesim/hw/regs"
)

// settle makes the tasks of a step, which are placed in memory, work on what is resident,
// and moves their other tiles.
func (j *joiner) settle(step int, tasks chain, kept map[access]*resident, shift int) {
	plan := j.steps[step].part.plan.tasks
	moved, gone := map[*tile]bool{}, map[*tile]bool{}
	for k, t := range tasks {
		l := &t.g.L2
		if kept[access{step, k, operand1}] != nil && plan[k].first != nil {
			gone[plan[k].first] = true
		}
		if shift != 0 {
			for which, w := range [...]*regs.L2Word{&l.Src1Base, &l.Src2Base, &l.ResultBase} {
				none := which == int(operand2) && t.second == nil && !t.g.Source2On()
				if !none && kept[access{step, k, operand(which)}] == nil && !gone[plan[k].source(operand(which))] {
					t.l2(w, int(w.Bytes())+shift)
				}
			}
			for _, tl := range [...]*tile{t.first, t.second, t.result} {
				if tl != nil && tl.owner != nil && !moved[tl] {
					moved[tl] = true
					tl.at.base += shift
				}
			}
		}
		for _, which := range [...]operand{operand1, operand2, operandResult} {
			a := access{step, k, which}
			r := kept[a]
			if r == nil {
				continue
			}
			at, _ := r.view(plan[k], which)
			at.base += r.extent.base
			if r.tile == nil {
				r.tile = &tile{at: r.at.moved(r.extent.base), bytes: r.extent.bytes, result: true}
			}
			if which == operand1 {
				j.followers(a, func(old *task, _ *layout) bool {
					later := tasks[slices.Index(plan, old)]
					if old.first == plan[k].first {
						later.takes1(at, r.tile)
					} else {
						later.takes2(at, r.tile)
					}
					return true
				})
			}
			switch {
			case r.kept != nil && *r.kept == a:
				r.tile.owner, r.tile.result = t, false
				t.keeps(at, r.tile)
				next := r.accesses[1]
				if t.g.NE.MACCfg.OpMode() == regs.PassThrough && !t.planar() && j.steps[next.step].part.plan.tasks[next.task].planar() {
					t.keptPatch(t.g.InShape())
				}
			case which == operand1:
				t.takes1(at, r.tile)
			case which == operand2:
				t.takes2(at, r.tile)
			default:
				r.tile.owner = t
				t.stays(at, r.tile)
			}
		}
	}
	for k, t := range tasks {
		if _, rest := kept[access{step, k, operand1}]; rest && !t.inMemory() && !t.g.Source2On() {
			t.tileRows(int(t.g.Common.OutDim.Hout()))
		}
	}
}

// keeps leaves a source from memory in the L2.
func (t *task) keeps(at layout, to *tile) {
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithType(1)
	t.place(at, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	if at.group == 0 {
		t.l2(&l.Src1GroupStride, at.depth)
	}
	t.first = to
}

// takes1 makes the first source a tile in the L2.
func (t *task) takes1(at layout, from *tile) {
	blank := blankRegisters().TileDMASrc
	d := &t.g.TileDMASrc
	d.Src1DMAConfig, d.Src1Fmt = blank.Src1DMAConfig, blank.Src1Fmt
	d.Src1Base, d.Src1RowStride, d.Src1PlaneStride, d.Src1DepthStride, d.Src1GroupStride = 0, 0, 0, 0, 0
	t.h.Bases = t.h.Bases.WithRBase0(0).WithRBE0(false)
	t.h.Control = t.h.Control.WithSrcLoc(t.g.Source2On())
	l := &t.g.L2
	l.SourceCfg = l.SourceCfg.WithType(0).WithDMAFmt(0)
	t.place(at, &l.Src1Base, &l.Src1ChannelStride, &l.Src1RowStride, &l.Src1DepthStride, &l.Src1GroupStride)
	t.first = from
	t.inL2()
}

// takes2 makes the second source a tile in the L2.
func (t *task) takes2(at layout, from *tile) {
	blank := blankRegisters().TileDMASrc
	d := &t.g.TileDMASrc
	d.Src2DMAConfig, d.Src2Fmt = blank.Src2DMAConfig, blank.Src2Fmt
	d.Src2Base, d.Src2RowStride, d.Src2PlaneStride, d.Src2DepthStride, d.Src2GroupStride = 0, 0, 0, 0, 0
	t.h.Bases = t.h.Bases.WithRBase1(0).WithRBE1(false)
	t.h.Control = t.h.Control.WithSrcLoc(t.inMemory())
	l := &t.g.L2
	l.SourceCfg &^= twoSourceBit
	t.place(at, &l.Src2Base, &l.Src2ChannelStride, &l.Src2RowStride, &l.Src2DepthStride, &l.Src2GroupStride)
	t.second = from
	t.inL2()
}

// inL2 writes which sources of a planar task come from memory: 0x33 both, 0x32 the
// second, 0x31 the first or none.
func (t *task) inL2() {
	if !t.planar() || t.g.Common.ChCfg&twoSourceChCfg == 0 {
		return
	}
	c := &t.g.Common.Cfg
	*c &^= bothInMemory | 1
	switch {
	case !t.g.Source2On():
		*c |= 1
		if !t.inMemory() {
			blank := blankRegisters().TileDMASrc
			t.g.TileDMASrc.Src1DMAConfig, t.g.TileDMASrc.Src1Fmt = blank.Src1DMAConfig, blank.Src1Fmt
		}
	case t.inMemory():
		*c |= bothInMemory | 1
	default:
		*c |= bothInMemory
		d := &t.g.TileDMASrc
		d.Src1DMAConfig, d.Src1Fmt = d.Src1DMAConfig.WithEn(true), d.Src1Fmt.WithFmtMode(1) // any source (346/346)
	}
}

// stays leaves a result in the L2 that went to memory.
func (t *task) stays(at layout, to *tile) {
	blank := blankRegisters().TileDMADst
	t.g.TileDMADst = blank
	t.h.Bases = t.h.Bases.WithWBase(0).WithWBE(false)
	t.h.Control = t.h.Control.WithDstLoc(false)
	l := &t.g.L2
	l.ResultCfg = regs.L2Route(0).WithDMAFmt(1).WithDMAIntl(1)
	t.place(at, &l.ResultBase, &l.ResultChannelStride, &l.ResultRowStride, &l.ResultDepthStride, nil)
	t.l2(&l.ResultGroupStride, at.group)
	t.result = to
}
