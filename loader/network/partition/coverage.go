package partition

import "anesim/loader/network/list"

// A Coverage measures how much of a file's network the engine and the host compute. Reasons are
// those of [Lower].
type Coverage struct {
	Nodes, Done    int    // operators of the file, or layers if the file has no operators
	MACs, DoneMACs uint64 // by the operators' definitions
	// Bytes is the size of operands and results in fp16, summed over nodes. Savings by fusion
	// are not subtracted.
	Bytes, DoneBytes uint64
	Hosted           int    // nodes in Done that a [list.Stage] of the host computes
	Unsized          int    // nodes with an unknown shape: counted in Nodes, not in MACs and Bytes
	Lost             []Loss // outputs that are not computed
}

// Whole reports whether every node is computed.
func (c *Coverage) Whole() bool { return c.Done == c.Nodes }

// A Loss is an output that is not computed, and the first layer in its way that no program
// runs.
type Loss struct {
	Output string
	Layer  int
}

// CoverageOf counts the nodes that are computed, and finds the outputs that depend on the
// others. A partly computed network only gives outputs that do not depend on a missing layer.
func CoverageOf(n *list.Network, reasons []string) Coverage {
	var c Coverage
	lostTo := map[string]int{} // the missing layer that a tensor depends on
	missing, hosted := make([]bool, max(len(n.Nodes), len(n.Layers))), make([]bool, max(len(n.Nodes), len(n.Layers)))
	for i := range n.Layers {
		l := &n.Layers[i]
		at := i
		if len(n.Nodes) > 0 {
			at = l.Node
		}
		gone := i < len(reasons) && reasons[i] != "" && l.Host == nil
		hosted[at] = hosted[at] || l.Host != nil
		missing[at] = missing[at] || gone
		if len(n.Nodes) == 0 {
			c.count(l.MACs(), l.Bytes(), !gone)
			if l.Out.Elements() == 0 {
				c.Unsized++
			}
		}
		cause, lost := i, gone
		for _, in := range l.Inputs {
			if first, ok := lostTo[in]; ok && !lost {
				cause, lost = first, true
			}
		}
		if lost {
			lostTo[l.Output] = cause
			for _, out := range l.Others {
				lostTo[out] = cause
			}
		}
	}
	c.Nodes = len(n.Layers)
	if len(n.Nodes) > 0 {
		c.Nodes = len(n.Nodes)
	}
	for i := range c.Nodes {
		if len(n.Nodes) > 0 && n.Nodes[i].What == list.Unused {
			continue
		}
		if !missing[i] {
			c.Done++
			if hosted[i] {
				c.Hosted++
			}
		}
	}
	for i, x := range n.Nodes {
		if x.What == list.Unused {
			c.Nodes--
			continue
		}
		c.count(x.MACs, x.Bytes, !missing[i])
		if x.Unsized {
			c.Unsized++
		}
	}
	for _, r := range n.AllResults() {
		if layer, ok := lostTo[r.Tensor]; ok {
			c.Lost = append(c.Lost, Loss{r.Name, layer})
		}
	}
	return c
}

func (c *Coverage) count(macs, bytes uint64, done bool) {
	c.MACs += macs
	c.Bytes += bytes
	if done {
		c.DoneMACs += macs
		c.DoneBytes += bytes
	}
}
