package chain

import (
	"anesim/hw/regs"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// The tile DMA is told who else touches the bytes that it moves: how long a cache is to keep
// a source, whether the task before wrote it, and, where a result goes over something in the
// scratch buffer, how far back that was read last.
//
//	task      0             1               2                 3
//	x         read again                    last of several
//	scratch   a written     a read last,    b written over    b read last,
//	                        from before     a, 1 back         from before
//
// All of it follows from the addresses. reuse looks at bytes, not at tensors, so it is the
// same for a layer, for a network and for a program that someone else wrote.

// Hints of a source, bits 4-15 of its DMA configuration.
const (
	hintMask        = 0xfff0
	hintOnce        = 0x3880
	hintAgain       = 0xbb80 // it is read again later
	hintLast        = 0x3b00 // this is the last of several reads
	hintScratchLast = 0x3900 // the same in the scratch buffer, or the only one there
)

// Bits 16-17 of a source that is on: one that nothing reads any more ends in the scratch
// buffer.
const (
	sourceStays = 3
	sourceEnds  = 1
)

// Further bits of a source's and of a destination's DMA configuration.
const (
	scratchHint   = 0x300   // a destination in the scratch buffer
	overTileDMA   = 1 << 18 // a destination over what a tile DMA read
	overKernelDMA = 2 << 18 // a destination over what a kernel DMA read
	overDistance  = 22      // how many tasks back the last of these readers is, less 1
	overFarthest  = 15      // the most that fits: who read before is through by then (assumed)
	overMask      = 0xf<<overDistance | 3<<18
)

// reuse writes what depends on the operands of other tasks into the DMA configurations of
// every task. With nothing but addresses it gives those of all 239 tasks of the real texts
// at hand; TestReuse counts:
//
//	source                               hint               ends    tasks
//	of one task, not in scratch          hintOnce           no      163
//	read again by a later task           hintAgain          no      7, 1 of them in scratch
//	read last of several, not in scratch hintLast           no      6
//	read last, in scratch                hintScratchLast    yes     9
//	both sources of a task, in scratch   hintOnce, hintLast no      1
//
// 24 sources are from the task before. 11 destinations are in the scratch buffer, 2 of them
// over what a tile DMA read. That the kind is 2 over what a kernel DMA read is from a text
// kept apart (residency.md: 3/3).
//
// reuse returns the last task that wrote the coefficients of each, 0 where none did.
func (p *program) setReuse() []uint32 {
	moves := make([]access, len(p.steps))
	for i := range p.steps {
		moves[i] = p.steps[i].memoryAccess()
	}
	again := findRereads(moves)
	read, written := newLastAccesses(moves), newLastAccesses(moves)
	writers := make([]uint32, len(p.steps))
	for i := range p.steps {
		t, m := &p.steps[i], &moves[i]
		if by := written.last(m.kernel); by != noDMA {
			writers[i] = uint32(by.task())
		}
		if m.writes {
			written.record(m.result, tileDMA(i))
		}
		if m.writes && m.result.bar == place.BarScratch {
			t.markOverwrite(i, read.last(m.result))
			read.record(m.result, noDMA)
		}
		t.setHints(m, again[i], read)
		if i > 0 && (m.source[0].overlaps(moves[i-1].result) || m.source[1].overlaps(moves[i-1].result)) {
			t.g.TileDMASrc.Src1DMAConfig |= task.FromPrevious // of either source
		}
		read.recordReads(m, i)
	}
	return writers
}

// overwrites marks a destination in the scratch buffer, over what a reader read last.
func (t *step) markOverwrite(i int, by dmaID) {
	w := &t.g.TileDMADst.DstDMAConfig
	*w |= scratchHint
	if by == noDMA {
		return
	}
	kind := regs.DstDMAConfig(overTileDMA)
	if by.isKernel() {
		kind = overKernelDMA
	}
	*w |= kind | regs.DstDMAConfig(min(i-by.task()-1, overFarthest))<<overDistance
}

// hints writes how long a cache is to keep the sources that the tile DMA reads.
func (t *step) setHints(m *access, again [2]bool, read lastAccesses) {
	sameBytes := m.on[0] && m.on[1] && m.source[0].overlaps(m.source[1])
	d := &t.g.TileDMASrc
	for k, config := range [...]*regs.SrcDMAConfig{&d.Src1DMAConfig, &d.Src2DMAConfig} {
		s := m.source[k]
		hint, ends := regs.SrcDMAConfig(hintOnce), uint32(sourceStays)
		switch {
		case !m.on[k]:
			continue
		case again[k]:
			hint = hintAgain
		case s.bar == place.BarScratch && sameBytes:
			if k > 0 {
				hint = hintLast
			}
		case s.bar == place.BarScratch:
			hint, ends = hintScratchLast, sourceEnds
		case read.last(s) != noDMA:
			hint = hintLast
		}
		*config = (*config&^hintMask | hint).WithDepMode(ends)
	}
}

// readAgain says of every task's sources whether a later task reads any of their bytes, in
// the tile DMA or from the scratch buffer as coefficients, before they are overwritten.
func findRereads(moves []access) [][2]bool {
	again := make([][2]bool, len(moves))
	later := newLastAccesses(moves)
	for i := len(moves) - 1; i >= 0; i-- {
		m := &moves[i]
		if m.writes && m.result.dense {
			later.record(m.result, noDMA)
		}
		for k, s := range m.source {
			again[i][k] = m.on[k] && later.last(s) != noDMA
		}
		later.recordReads(m, i)
	}
	return again
}

// A move is the operands of a task in memory, by its registers: those that it only
// describes have a place too.
type access struct {
	source         [2]byteRange
	on             [2]bool   // read by the tile DMA
	result, kernel byteRange // coefficients in the scratch buffer alone
	writes         bool
}

func (t *step) memoryAccess() access {
	o, b, k := t.g.Operands(), t.h.Bases, t.h.KernelBases
	m := access{on: [2]bool{t.g.Source1On(), t.g.Source2On()}, writes: t.g.DestinationOn()}
	if b.RBE0() {
		m.source[0] = operandRange(&o.Source1, b.RBase0())
	}
	if b.RBE1() {
		m.source[1] = operandRange(&o.Source2, b.RBase1())
	}
	if b.WBE() {
		m.result = operandRange(&o.Result, b.WBase())
	}
	if o.Kernel.On && k.KBE0() && k.KBase0() == place.BarScratch {
		m.kernel = byteRange{bar: place.BarScratch, from: int64(o.Kernel.Low), to: int64(o.Kernel.End)}
	}
	return m
}

// A stretch is lines of 64 bytes of a buffer.
type byteRange struct {
	bar      uint32
	from, to int64
	dense    bool // every line is the surface's
}

func (s byteRange) overlaps(o byteRange) bool {
	return s.bar == o.bar && s.from < o.to && o.from < s.to
}

// stretchOf is where an operand stands in a buffer.
func operandRange(o *regs.Operand, bar uint32) byteRange {
	const line = 64
	low, high := o.Extent()
	s := byteRange{bar: bar, from: int64(o.Base) + low, to: int64(o.Base) + (high+line-1)&^(line-1)}
	row, elements := o.Width, o.Elements()
	switch {
	case elements == 0:
		return s
	case o.Transposed:
		row = o.Channels
	case o.Interleave > 1:
		row *= o.Interleave
	}
	rows := int64(elements / row)
	s.dense = rows*((int64(row*o.Element)+line-1)&^(line-1)) >= s.to-s.from
	return s
}
