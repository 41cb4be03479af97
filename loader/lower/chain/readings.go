package chain

import "slices"

// A reading is of a task's DMA: twice the task's number, and one more for the kernel DMA, so
// that a later one is larger.
type dmaID int

const noDMA dmaID = -1 // read it

func tileDMA(task int) dmaID { return dmaID(2 * task) }

func kernelDMA(task int) dmaID { return dmaID(2*task + 1) }

func (r dmaID) task() int { return int(r) / 2 }

func (r dmaID) isKernel() bool { return r&1 != 0 }

// readings are the last of every byte, by buffer.
type lastAccesses map[uint32]*segments

// newReadings has the places of all that a chain moves, which nobody has read. A task by
// itself has no places: there is nobody else.
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

// reads makes a task the last to read what its DMAs read.
func (b lastAccesses) recordReads(m *access, task int) {
	for k, s := range m.source {
		if m.on[k] {
			b.record(s, tileDMA(task))
		}
	}
	b.record(m.kernel, kernelDMA(task))
}

func (b lastAccesses) record(s byteRange, r dmaID) {
	if g := b[s.bar]; g != nil && s.from < s.to {
		from, to := g.indices(s)
		g.assign(1, 0, len(g.bounds)-1, from, to, r)
	}
}

// last is the latest reading of any of a stretch.
func (b lastAccesses) last(s byteRange) dmaID {
	g := b[s.bar]
	if g == nil || s.from >= s.to {
		return noDMA
	}
	from, to := g.indices(s)
	return g.latest(1, 0, len(g.bounds)-1, from, to)
}

// segments are a buffer in pieces that no stretch divides, as a tree: the children of node
// n are 2n and 2n+1.
type segments struct {
	bounds  []int64 // where the pieces begin, and the last one ends
	last    []dmaID // the latest of a node's pieces
	uniform []bool  // all pieces of the node have that one, whatever the children say
}

func (g *segments) indices(s byteRange) (from, to int) {
	from, _ = slices.BinarySearch(g.bounds, s.from)
	to, _ = slices.BinarySearch(g.bounds, s.to)
	return from, to
}

// put gives a reading to the pieces from one up to another without it, of a node that has
// those from low up to high.
func (g *segments) assign(node, low, high, from, to int, r dmaID) {
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
		g.assign(left, low, middle, from, to, r)
	}
	if to > middle {
		g.assign(right, middle, high, from, to, r)
	}
	g.last[node] = max(g.last[left], g.last[right])
}

// latest is the latest reading of pieces, as put has them.
func (g *segments) latest(node, low, high, from, to int) dmaID {
	if g.uniform[node] || from <= low && high <= to {
		return g.last[node]
	}
	middle, r := (low+high)/2, noDMA
	if from < middle {
		r = g.latest(2*node, low, middle, from, to)
	}
	if to > middle {
		r = max(r, g.latest(2*node+1, middle, high, from, to))
	}
	return r
}
