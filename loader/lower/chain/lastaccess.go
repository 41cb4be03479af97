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

// lastAccesses holds the last DMA that accessed each byte, by buffer.
type lastAccesses map[uint32]*segments

// newLastAccesses returns an empty record of last accesses. The byte ranges in moves divide each
// buffer into the pieces of the record. It returns nil for a single task, which cannot share bytes
// with another.
func newLastAccesses(moves []access) lastAccesses {
	if len(moves) < 2 {
		return nil
	}
	b := lastAccesses{}
	for i := range moves {
		m := &moves[i]
		for _, s := range [...]byteRange{m.source[0], m.source[1], m.kernel, m.result} {
			if b[s.bar] == nil {
				b[s.bar] = new(segments)
			}
			b[s.bar].bounds = append(b[s.bar].bounds, s.from, s.to)
		}
	}
	for _, g := range b {
		slices.Sort(g.bounds)
		g.bounds = slices.Compact(g.bounds)
		g.last, g.uniform = make([]dmaID, 4*len(g.bounds)), make([]bool, 4*len(g.bounds))
		for i := range g.last {
			g.last[i] = noDMA
		}
	}
	return b
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
	if g := b[s.bar]; g != nil && s.from < s.to {
		from, to := g.findPieces(s)
		g.assignDMA(1, 0, len(g.bounds)-1, from, to, r)
	}
}

// latestDMA returns the latest DMA that accessed any byte of s, or noDMA.
func (b lastAccesses) latestDMA(s byteRange) dmaID {
	g := b[s.bar]
	if g == nil || s.from >= s.to {
		return noDMA
	}
	from, to := g.findPieces(s)
	return g.latestDMA(1, 0, len(g.bounds)-1, from, to)
}

// segments divides a buffer into pieces such that every byte range of the chain consists of whole
// pieces. They form a tree: the children of node n are 2n and 2n+1.
type segments struct {
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
