package partition

import "anesim/loader/network/list"

// A Coverage says how much of a file's network the engine does. Reasons are those of
// [Lower].
type Coverage struct {
	Nodes, Done    int    // operators of the file; layers, of a list of layers
	MACs, DoneMACs uint64 // as the operators' definitions have them
	// Bytes are those of operands and results in fp16, each node's own: what a fusion saves
	// is not taken off.
	Bytes, DoneBytes uint64
	Hosted           int    // of Done, those that a [list.Stage] of the host does
	Unsized          int    // nodes whose shapes are not known: in Nodes, not in MACs and Bytes
	Lost             []Loss // outputs that are not computed
}

// Whole reports whether every node is done.
func (c *Coverage) Whole() bool { return c.Done == c.Nodes }

// A Loss is an output of the network that the engine does not give, and the first layer
// that is in no program and whose result it needs.
type Loss struct {
	Output string
	Layer  int
}

// CoverageOf counts what is done and follows what is not to the outputs. A partly computed
// network gives only the outputs that no missing layer is behind.
func CoverageOf(n *list.Network, reasons []string) Coverage {
	var c Coverage
	behind := map[string]int{} // tensors that need a missing layer, and which
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
			c.add(l.MACs(), l.Bytes(), !gone)
			if l.Out.Elements() == 0 {
				c.Unsized++
			}
		}
		cause, lost := i, gone
		for _, in := range l.Inputs {
			if first, ok := behind[in]; ok && !lost {
				cause, lost = first, true
			}
		}
		if lost {
			behind[l.Output] = cause
			for _, out := range l.Others {
				behind[out] = cause
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
		c.add(x.MACs, x.Bytes, !missing[i])
		if x.Unsized {
			c.Unsized++
		}
	}
	for _, r := range n.AllResults() {
		if layer, ok := behind[r.Tensor]; ok {
			c.Lost = append(c.Lost, Loss{r.Name, layer})
		}
	}
	return c
}

func (c *Coverage) add(macs, bytes uint64, done bool) {
	c.MACs += macs
	c.Bytes += bytes
	if done {
		c.DoneMACs += macs
		c.DoneBytes += bytes
	}
}
