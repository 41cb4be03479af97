package chain

import "slices"

// A dmaID identifies a DMA of a task: twice the number of the task, plus one for its kernel DMA.
// A later access has a larger number.
type dmaID int

// noDMA is the ID for bytes that no DMA has accessed.
const noDMA dmaID = -1 // read it

// tileDMAID returns the ID of the tile DMA of a task.
func tileDMAID(task int) dmaID { return dmaID(2 * task) }

// kernelDMAID returns the ID of the kernel DMA of a task.
func kernelDMAID(task int) dmaID { return dmaID(2*task + 1) }

// taskIndex returns the number of the task that the DMA belongs to.
func (r dmaID) taskIndex() int { return int(r) / 2 }

// isKernel reports whether the DMA is a kernel DMA.
func (r dmaID) isKernel() bool { return r&1 != 0 }

// lastAccesses holds the last DMA that accessed each byte, by buffer. A program has few buffers.
type lastAccesses []segments

// newLastAccesses returns an empty record of last accesses. The byte ranges in moves divide each
// buffer into the pieces of the record. It returns nil for a single task, which cannot share bytes
// with another.
func newLastAccesses(moves []access) lastAccesses {
	if len(moves) < 2 {
		return nil
	}
	b := make(lastAccesses, 0, 4)
	count := 0 // of bounds
	for i := range moves {
		for _, s := range moves[i].ranges() {
			g := b.buffer(s.bar)
			if g == nil {
				b = append(b, segments{bar: s.bar})
				g = &b[len(b)-1]
			}
			g.count += 2
			count += 2
		}
	}
	bounds := make([]int64, count) // of all buffers, in one allocation: sweeps lower many programs
	for i := range b {
		n := b[i].count
		b[i].bounds, bounds = bounds[:0:n], bounds[n:]
	}
	for i := range moves {
		for _, s := range moves[i].ranges() {
			g := b.buffer(s.bar)
			g.bounds = append(g.bounds, s.from, s.to)
		}
	}
	for i := range b {
		slices.Sort(b[i].bounds)
		b[i].bounds = slices.Compact(b[i].bounds)
	}
	b.clear()
	return b
}

// another returns an empty record with the same pieces as b.
func (b lastAccesses) another() lastAccesses {
	c := slices.Clone(b)
	c.clear()
	return c
}

// clear gives each buffer of b a tree without accesses.
func (b lastAccesses) clear() {
	count := 0
	for i := range b {
		count += 4 * len(b[i].bounds)
	}
	last, uniform := make([]dmaID, count), make([]bool, count)
	for i := range last {
		last[i] = noDMA
	}
	for i := range b {
		n := 4 * len(b[i].bounds)
		b[i].last, b[i].uniform, last, uniform = last[:n:n], uniform[:n:n], last[n:], uniform[n:]
	}
}

// buffer returns the pieces of a buffer, or nil if no byte range is in it.
func (b lastAccesses) buffer(bar uint32) *segments {
	for i := range b {
		if b[i].bar == bar {
			return &b[i]
		}
	}
	return nil
}

// recordReads records the two DMAs of the task with the given index as the last accesses to the
// bytes of m that they read.
func (b lastAccesses) recordReads(m *access, task int) {
	for k, s := range m.source {
		if m.on[k] {
			b.recordAccess(s, tileDMAID(task))
		}
	}
	b.recordAccess(m.kernel, kernelDMAID(task))
}

// recordAccess makes DMA r the last DMA of every byte in s.
func (b lastAccesses) recordAccess(s byteRange, r dmaID) {
	if g := b.buffer(s.bar); g != nil && s.from < s.to {
		from, to := g.findPieces(s)
		g.assignDMA(1, 0, len(g.bounds)-1, from, to, r)
	}
}

// latestDMA returns the latest DMA that accessed any byte of s, or noDMA.
func (b lastAccesses) latestDMA(s byteRange) dmaID {
	g := b.buffer(s.bar)
	if g == nil || s.from >= s.to {
		return noDMA
	}
	from, to := g.findPieces(s)
	return g.latestDMA(1, 0, len(g.bounds)-1, from, to)
}

// segments divides a buffer into pieces such that every byte range of the chain consists of whole
// pieces. They form a tree: the children of node n are 2n and 2n+1.
type segments struct {
	bar     uint32  // the buffer
	count   int     // number of bounds before equal ones are merged
	bounds  []int64 // first bytes of the pieces, and the end of the last
	last    []dmaID // latest DMA of any piece below a node
	uniform []bool  // all pieces below the node have this DMA; the children are out of date
}

// findPieces returns the index of the first piece that lies in the byte range s, and the index of
// the first piece after it.
func (g *segments) findPieces(s byteRange) (from, to int) {
	from, _ = slices.BinarySearch(g.bounds, s.from)
	to, _ = slices.BinarySearch(g.bounds, s.to)
	return from, to
}

// assignDMA sets the last DMA of the pieces in [from, to). node is the root of a subtree with the
// pieces in [low, high).
func (g *segments) assignDMA(node, low, high, from, to int, r dmaID) {
	if from <= low && high <= to {
		g.last[node], g.uniform[node] = r, true
		return
	}
	left, right := 2*node, 2*node+1
	if g.uniform[node] {
		g.last[left], g.uniform[left] = g.last[node], true
		g.last[right], g.uniform[right] = g.last[node], true
		g.uniform[node] = false
	}
	middle := (low + high) / 2
	if from < middle {
		g.assignDMA(left, low, middle, from, to, r)
	}
	if to > middle {
		g.assignDMA(right, middle, high, from, to, r)
	}
	g.last[node] = max(g.last[left], g.last[right])
}

// latestDMA returns the latest DMA of the pieces in [from, to), or noDMA. node is the root of a
// subtree with the pieces in [low, high).
func (g *segments) latestDMA(node, low, high, from, to int) dmaID {
	if g.uniform[node] || from <= low && high <= to {
		return g.last[node]
	}
	middle, r := (low+high)/2, noDMA
	if from < middle {
		r = g.latestDMA(2*node, low, middle, from, to)
	}
	if to > middle {
		r = max(r, g.latestDMA(2*node+1, middle, high, from, to))
	}
	return r
}
