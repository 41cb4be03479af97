package chain

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
)

// The DMA configuration of a task depends on the other tasks that access the same bytes. For a
// source it says how long a cache should keep it, and whether the previous task wrote it. For a
// result that overwrites bytes in the scratch buffer it says how many tasks ago they were last
// read.
//
//	task      0             1               2                 3
//	x         read again                    last of several
//	scratch   a written     a read last,    b written over    b read last,
//	                        from before     a, 1 back         from before
//
// All of it follows from the addresses. setReuseFields compares bytes and not tensors, so it gives
// the same configuration for a layer, for a network and for a program of another origin.

// A cacheHint holds the three fields in the DMA configuration of a source that say how long a cache
// should keep it: CacheHint, CHReuse and CHNoReuse.
type cacheHint struct{ cache, reuse, noReuse uint32 }

// Cache hints of a source.
var (
	hintOnce        = cacheHint{0x8, 0x8, 0x3} // the source is read once
	hintAgain       = cacheHint{0x8, 0xb, 0xb} // a later task reads it again
	hintLast        = cacheHint{0x0, 0xb, 0x3} // this is the last of several reads
	hintScratchLast = cacheHint{0x0, 0x9, 0x3} // the last or only read of bytes in the scratch buffer
)

// Values of DepMode of an enabled source. A source in the scratch buffer ends if no later task
// reads it.
const (
	sourceStays = 3
	sourceEnds  = 1
)

// Values of fields in the DMA configuration of a result.
const (
	scratchHint   = 3  // the result is in the scratch buffer
	overTileDMA   = 1  // the result overwrites bytes that a tile DMA read
	overKernelDMA = 2  // the result overwrites bytes that a kernel DMA read
	overFarthest  = 15 // largest distance that fits; older reads are assumed to be finished
)

// setReuseFields sets the fields in the DMA configurations that depend on the operands of other
// tasks. From the addresses alone it reproduces these fields for all 239 tasks of the compiler's
// texts, as counted by TestReuse:
//
//	source                               hint               ends    tasks
//	of one task, not in scratch          hintOnce           no      163
//	read again by a later task           hintAgain          no      7, 1 of them in scratch
//	read last of several, not in scratch hintLast           no      6
//	read last, in scratch                hintScratchLast    yes     9
//	both sources of a task, in scratch   hintOnce, hintLast no      1
//
// The previous task wrote 24 of the sources. 11 results are in the scratch buffer, and 2 of them
// overwrite bytes that a tile DMA read. The kind for bytes that a kernel DMA read was seen in a
// separate text (3 of 3 tasks).
//
// setReuseFields returns, for each task, the last task that wrote its weights, or 0 if none did.
func (p *program) setReuseFields() []uint32 {
	moves := make([]access, len(p.steps))
	for i := range p.steps {
		moves[i] = p.steps[i].memoryRanges()
	}
	read := newLastAccesses(moves)
	written, again := read.another(), findRereads(moves, read.another())
	writers := make([]uint32, len(p.steps))
	for i := range p.steps {
		t, m := &p.steps[i], &moves[i]
		if by := written.latestDMA(m.kernel); by != noDMA {
			writers[i] = uint32(by.taskIndex())
		}
		if m.writes {
			written.recordAccess(m.result, tileDMAID(i))
		}
		if m.writes && m.result.bar == place.BarScratch {
			t.recordScratchResult(i, read.latestDMA(m.result))
			read.recordAccess(m.result, noDMA)
		}
		t.setCacheHints(m, again[i], read)
		if i > 0 && (m.source[0].overlaps(moves[i-1].result) || m.source[1].overlaps(moves[i-1].result)) {
			t.g.TileDMASrc.Src1DMAConfig = t.g.TileDMASrc.Src1DMAConfig.WithFromPrevious(true) // set if either source comes from the previous task
		}
		read.recordReads(m, i)
	}
	return writers
}

// recordScratchResult records in the registers of task i that its result is in the scratch buffer.
// last is the DMA that last accessed the bytes that the result overwrites, or noDMA.
func (t *step) recordScratchResult(i int, last dmaID) {
	w := &t.g.TileDMADst.DstDMAConfig
	*w = w.WithScratchHint(scratchHint)
	if last == noDMA {
		return
	}
	kind := uint32(overTileDMA)
	if last.isKernel() {
		kind = overKernelDMA
	}
	*w = w.WithOverKind(kind).WithOverDistance(uint32(min(i-last.taskIndex()-1, overFarthest)))
}

// setCacheHints sets the cache hints for the sources of the task: whether their bytes will be read
// again. again[i] says whether a later task reads source i, and read holds the reads by earlier
// tasks.
func (t *step) setCacheHints(m *access, again [2]bool, read lastAccesses) {
	sameBytes := m.on[0] && m.on[1] && m.source[0].overlaps(m.source[1])
	d := &t.g.TileDMASrc
	for k, config := range [...]*regs.SrcDMAConfig{&d.Src1DMAConfig, &d.Src2DMAConfig} {
		s := m.source[k]
		hint, ends := hintOnce, uint32(sourceStays)
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
		case read.latestDMA(s) != noDMA:
			hint = hintLast
		}
		*config = config.WithCacheHint(hint.cache).WithCHReuse(hint.reuse).WithCHNoReuse(hint.noReuse).WithDepMode(ends)
	}
}

// findRereads returns two bools for each task, which say for each of its two sources whether a
// later task reads any of its bytes before they are overwritten. Later reads count if a tile DMA
// makes them, or if they load weights from the scratch buffer. later must be an empty record.
func findRereads(moves []access, later lastAccesses) [][2]bool {
	again := make([][2]bool, len(moves))
	for i := len(moves) - 1; i >= 0; i-- {
		m := &moves[i]
		if m.writes && m.result.dense {
			later.recordAccess(m.result, noDMA)
		}
		for k, s := range m.source {
			again[i][k] = m.on[k] && later.latestDMA(s) != noDMA
		}
		later.recordReads(m, i)
	}
	return again
}

// An access holds the byte ranges of a task's operands in memory. An operand that is only
// described has a range too.
type access struct {
	source         [2]byteRange
	on             [2]bool   // read by the tile DMA
	result, kernel byteRange // kernel is the range of weights in the scratch buffer
	writes         bool      // the tile DMA writes the result
}

// ranges returns all byte ranges of the task.
func (m *access) ranges() [4]byteRange {
	return [...]byteRange{m.source[0], m.source[1], m.kernel, m.result}
}

// memoryRanges returns the byte ranges that the step's task reads and writes in memory, computed
// from its registers.
func (t *step) memoryRanges() access {
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

// A byteRange is a range of whole 64-byte lines in a buffer.
type byteRange struct {
	bar      uint32
	from, to int64
	dense    bool // the surface covers every line
}

// overlaps reports whether two ranges share bytes.
func (s byteRange) overlaps(o byteRange) bool {
	return s.bar == o.bar && s.from < o.to && o.from < s.to
}

// operandRange returns the byte range of operand o in the buffer with index bar.
func operandRange(o *regs.Operand, bar uint32) byteRange {
	const line = 64
	low, high := o.Extent()
	s := byteRange{bar: bar, from: int64(o.Base) + low, to: int64(o.Base) + (high+line-1)&^(line-1)}
	row, elements := o.Width, o.Elements()
	if elements == 0 {
		return s
	}
	if o.Transposed {
		row = o.Channels
	}
	if o.Interleave > 1 {
		row *= o.Interleave
	}
	rows := int64(elements / row)
	s.dense = rows*((int64(row*o.Element)+line-1)&^(line-1)) >= s.to-s.from
	return s
}
