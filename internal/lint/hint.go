package lint

import "anesim/hw/regs"

// Values of fields of DstDMAConfig: the DMA that read the area that the result overwrites, and how far back.
const (
	overTileDMA   = 1
	overKernelDMA = 2
	farthest      = 15 // largest distance that fits
)

// Values of SourceCfg bits 2-3.
const (
	besideMAC    = 1 // runs tile by tile after a descriptor of the MAC engines
	besidePlanar = 2
)

// A hints holds the facts about a descriptor and the one before it that their dependency fields
// must agree with.
type hints struct {
	// About the current descriptor.
	before  bool  // it reads a result of the previous descriptor from L2
	writers []int // descriptors that wrote its kernel in scratch memory

	// About the previous descriptor.
	planar bool
	wrote  part // part of memory that its result covers
	ring   bool // its result is a ring

	closed int32 // the last descriptor that closed a run, or -1
	// closedTold is the last such descriptor that a finding names, or -1.
	closedTold int32
	readers    ground // of the scratch area, as twice the descriptor, plus 1 for a kernel DMA
}

// A part is the range of a buffer from the first to the last byte of a surface. The compiler
// compares such ranges, not single bytes.
type part struct {
	named  bool
	bar    uint32
	lo, hi int64
}

// overlaps reports whether p and o have bytes in common.
func (p part) overlaps(o part) bool {
	return p.named && o.named && p.bar == o.bar && p.lo < o.hi && o.lo < p.hi
}

// newBufferPart returns the part of the buffer bar that operand o covers. If named is false, the
// operand names no buffer, and newBufferPart returns the zero part.
func newBufferPart(o *regs.Operand, named bool, bar uint32) part {
	l := newMemoryLayout(o, uint64(o.Base))
	if !named || l.isEmpty() {
		return part{}
	}
	r := l.toRegion()
	return part{true, bar, r.base, r.endAddress()}
}

// beginTask starts the checks of a descriptor. If only this descriptor, or only the previous one,
// uses a ring in L2, it reports the ring.
func (s *state) beginTask(t *regs.Task) {
	s.before, s.writers, s.sources = false, s.writers[:0], s.sources[:0]
	if s.ring && t.Operands.Source1.L2 != regs.Circular {
		s.addFinding(int32(t.Index)-1, "L2.ResultCfg", Hint, byRings, "leaves a ring in L2 (type 3), which descriptor %d does not read", t.Index)
	}
	if !s.ring && t.Operands.Source1.L2 == regs.Circular {
		s.addFinding(int32(t.Index), "L2.SourceCfg", Hint, byRings, "reads a ring in L2 (type 3), which the previous descriptor does not leave")
	}
}

// recordPreviousResultUse records whether descriptor td reads a result that the previous descriptor
// left in L2. The list from has the numbers of the values that td reads.
func (s *state) recordPreviousResultUse(td int32, from []int32) {
	for _, by := range from {
		if v := &s.values[by]; v.l2 && v.kind == result && v.td == td-1 {
			s.before = true
		}
	}
}

// checkDependencyFields compares the register fields that declare dependencies with the accesses of
// the descriptor t.
func (s *state) checkDependencyFields(t *regs.Task) {
	s.checkElementTypes(t)
	s.checkSourceWaits(t)
	s.checkPreviousResultBit(t)
	s.checkScratchReadDistance(t)
	s.checkWeightWriter(t)
}

// checkElementTypes checks that the element types in the tile DMA's registers match those of the
// sources and the result.
func (s *state) checkElementTypes(t *regs.Task) {
	g, td := &t.Groups, int32(t.Index)
	if on := g.Source1On() || g.Source2On(); on != t.Header.Control.SrcLoc() {
		s.addFinding(td, "Header.Control", Hint, byLocation, "SrcLoc is %d, but the tile DMA reads %s", boolToInt(!on), map[bool]string{false: "no source", true: "a source"}[on])
	}
	switch kind := g.L2.SourceCfg.Type(); {
	case g.Source1On() && kind == 0:
		s.addFinding(td, "L2.SourceCfg", Hint, byTypes, "type 0 says that source 1 is in L2, but the tile DMA reads it from memory")
	case !g.Source1On() && (kind == 1 || kind == 2):
		s.addFinding(td, "L2.SourceCfg", Hint, byTypes, "type %d says that the tile DMA reads source 1, which is off", kind)
	}
	switch kind := g.L2.ResultCfg.Type(); {
	case g.DestinationOn() && kind == 0:
		s.addFinding(td, "L2.ResultCfg", Hint, byTypes, "type 0 says that the result stays in L2, but the tile DMA writes it to memory")
	case !g.DestinationOn() && (kind == 1 || kind == 2):
		s.addFinding(td, "L2.ResultCfg", Hint, byTypes, "type %d says that the tile DMA writes the result, which is off", kind)
	}
}

// checkSourceWaits compares the register fields that make a source in L2 wait with the descriptor
// that wrote the source.
func (s *state) checkSourceWaits(t *regs.Task) {
	c, td := t.Groups.L2.SourceCfg, int32(t.Index)
	beside := c.Dep_or_BfrMode()
	if t.Operands.Source1.L2 == regs.Circular {
		return
	}
	if s.before {
		waits, name := c.AConvRslt() || beside == besideMAC, "the MAC engines (AConvRslt, or bits 2-3 = 1)"
		if s.hints.planar {
			waits, name = c.APlnrRslt() || beside == besidePlanar, "the planar engine (APlnrRslt, or bits 2-3 = 2)"
		}
		if !waits && c.Src2Waits() == 0 {
			s.addFinding(td, "L2.SourceCfg", Hint, byWaits, "reads the result of descriptor %d from L2, but does not wait for %s", td-1, name)
		}
	}
	switch {
	case beside != besideMAC && beside != besidePlanar:
	case !s.before:
		s.addFinding(td, "L2.SourceCfg", Hint, byTiles, "bits 2-3 are %d: runs tile by tile after the previous descriptor, which left none of its sources in L2", beside)
	case s.hints.planar != (beside == besidePlanar):
		s.addFinding(td, "L2.SourceCfg", Hint, byTiles, "bits 2-3 are %d, but the previous descriptor runs on the other engine", beside)
	}
}

// checkPreviousResultBit checks the bit that declares a source to be the result of the previous
// descriptor. It compares the addresses of the two.
func (s *state) checkPreviousResultBit(t *regs.Task) {
	o, b := t.Operands, t.Header.Bases
	first, second := newBufferPart(&o.Source1, b.RBE0(), b.RBase0()), newBufferPart(&o.Source2, b.RBE1(), b.RBase1())
	is := first.overlaps(s.wrote) || second.overlaps(s.wrote)
	if says := t.Groups.TileDMASrc.Src1DMAConfig.FromPrevious(); says != is {
		what := "bit 18 is clear, but the previous descriptor writes or describes a source"
		if says {
			what = "bit 18 says that the previous descriptor writes or describes a source, but no source overlaps its result"
		}
		s.addFinding(int32(t.Index), "TileDMASrc.Src1DMAConfig", Hint, byPrevious, "%s", what)
	}
}

// checkScratchReadDistance compares the register field for the last read of a scratch area with the
// recorded reads.
func (s *state) checkScratchReadDistance(t *regs.Task) {
	o, td := t.Operands, int32(t.Index)
	if !t.Groups.DestinationOn() || !containsAddress(s.scratch, int64(t.Bases.Destination)) {
		return
	}
	l := newMemoryLayout(&o.Result, t.Bases.Destination)
	if l.isEmpty() {
		return
	}
	r := l.toRegion()
	last := int32(-1)
	s.readers.visitSpans(r.base, r.endAddress(), func(x span) { last = max(last, x.by) })
	w := t.Groups.TileDMADst.DstDMAConfig
	gotKind, got := w.OverKind(), int32(w.OverDistance())
	const register = "TileDMADst.DstDMAConfig"
	switch back := td - last/2 - 1; {
	case last < 0 && gotKind != 0:
		s.addFinding(td, register, Hint, byDistance, "bits 18-25 say that descriptor %d read the area of the result; no descriptor did", td-got-1)
	case last < 0:
	case gotKind == 0:
		s.addFinding(td, register, Hint, byDistance, "result overwrites an area of scratch that descriptor %d read; bits 18-25 do not say so", last/2)
	case got != min(back, farthest):
		s.addFinding(td, register, Hint, byDistance, "bits 22-25 say that descriptor %d was the last to read the area of the result; it was descriptor %d", td-got-1, last/2)
	case gotKind == overTileDMA && last%2 != 0, gotKind == overKernelDMA && last%2 == 0:
		s.addFinding(td, register, Hint, byDistance, "bits 18-19 are %d, but descriptor %d read the area by the other DMA", gotKind, last/2)
	}
	s.readers.setOrigin(r.base, r.endAddress(), -1)
}

// rememberTask stores the properties of a descriptor that are needed to check the next one.
func (s *state) rememberTask(t *regs.Task) {
	o, b, td := t.Operands, t.Header.Bases, int32(t.Index)
	s.hints.planar = t.Groups.Planar()
	s.wrote = newBufferPart(&o.Result, b.WBE(), b.WBase())
	s.ring = o.Result.L2 == regs.Circular
	if c := t.Header.Control; c.TSR() && c.TSE() && !c.DPC() && !c.DisallowAbort() {
		s.closed = td
	}
	for i, x := range [...]*regs.Operand{&o.Source1, &o.Source2} {
		if addr := [...]uint64{t.Bases.Source1, t.Bases.Source2}[i]; x.DRAM && containsAddress(s.scratch, int64(addr)) {
			if l := newMemoryLayout(x, addr); !l.isEmpty() {
				r := l.toRegion()
				s.readers.setOrigin(r.base, r.endAddress(), 2*td)
			}
		}
	}
	if k := &o.Kernel; k.On && containsAddress(s.scratch, int64(t.Bases.Kernel+k.Low)) {
		s.readers.setOrigin(int64(t.Bases.Kernel+k.Low), int64(t.Bases.Kernel+k.End), 2*td+1)
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
