package chain

import "slices"

// A reading is of a task's DMA: twice the task's number, and one more for the kernel DMA, so
// that a later one is larger.
type reading int

const nobody reading = -1 // read it

func tileReading(task int) reading { return reading(2 * task) }

func kernelReading(task int) reading { return reading(2*task + 1) }

func (r reading) task() int { return int(r) / 2 }

func (r reading) kernel() bool { return r&1 != 0 }

// readings are the last of every byte, by buffer.
type readings map[uint32]*segments

// newReadings has the places of all that a chain moves, which nobody has read. A task by
// itself has no places: there is nobody else.
func newReadings(moves []move) readings {
	if len(moves) < 2 {
		return nil
	}
	b := readings{}
	for i := range moves {
		m := &moves[i]
		for _, s := range [...]stretch{m.source[0], m.source[1], m.kernel, m.result} {
			if b[s.bar] == nil {
				b[s.bar] = new(segments)
			}
			b[s.bar].at = append(b[s.bar].at, s.from, s.to)
		}
	}
	for _, g := range b {
		slices.Sort(g.at)
		g.at = slices.Compact(g.at)
		g.last, g.whole = make([]reading, 4*len(g.at)), make([]bool, 4*len(g.at))
		for i := range g.last {
			g.last[i] = nobody
		}
	}
	return b
}

// reads makes a task the last to read what its DMAs read.
func (b readings) reads(m *move, task int) {
	for k, s := range m.source {
		if m.on[k] {
			b.put(s, tileReading(task))
		}
	}
	b.put(m.kernel, kernelReading(task))
}

func (b readings) put(s stretch, r reading) {
	if g := b[s.bar]; g != nil && s.from < s.to {
		from, to := g.places(s)
		g.put(1, 0, len(g.at)-1, from, to, r)
	}
}

// last is the latest reading of any of a stretch.
func (b readings) last(s stretch) reading {
	g := b[s.bar]
	if g == nil || s.from >= s.to {
		return nobody
	}
	from, to := g.places(s)
	return g.latest(1, 0, len(g.at)-1, from, to)
}

// segments are a buffer in pieces that no stretch divides, as a tree: the children of node
// n are 2n and 2n+1.
type segments struct {
	at    []int64   // where the pieces begin, and the last one ends
	last  []reading // the latest of a node's pieces
	whole []bool    // all pieces of the node have that one, whatever the children say
}

func (g *segments) places(s stretch) (from, to int) {
	from, _ = slices.BinarySearch(g.at, s.from)
	to, _ = slices.BinarySearch(g.at, s.to)
	return from, to
}

// put gives a reading to the pieces from one up to another without it, of a node that has
// those from low up to high.
func (g *segments) put(node, low, high, from, to int, r reading) {
	if from <= low && high <= to {
		g.last[node], g.whole[node] = r, true
		return
	}
	left, right := 2*node, 2*node+1
	if g.whole[node] {
		g.last[left], g.whole[left] = g.last[node], true
		g.last[right], g.whole[right] = g.last[node], true
		g.whole[node] = false
	}
	middle := (low + high) / 2
	if from < middle {
		g.put(left, low, middle, from, to, r)
	}
	if to > middle {
		g.put(right, middle, high, from, to, r)
	}
	g.last[node] = max(g.last[left], g.last[right])
}

// latest is the latest reading of pieces, as put has them.
func (g *segments) latest(node, low, high, from, to int) reading {
	if g.whole[node] || from <= low && high <= to {
		return g.last[node]
	}
	middle, r := (low+high)/2, nobody
	if from < middle {
		r = g.latest(2*node, low, middle, from, to)
	}
	if to > middle {
		r = max(r, g.latest(2*node+1, middle, high, from, to))
	}
	return r
}
