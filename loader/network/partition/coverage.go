package partition

import "anesim/loader/network/list"

// A Coverage compares a whole network with the part of it that is computed, by programs of the
// engine or by the host.
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

// Whole reports whether every operator of the network is computed.
func (c *Coverage) Whole() bool { return c.Done == c.Nodes }

// A Loss is an output of a network that is not computed, because neither a program nor the host
// computes a layer that it depends on. Layer is the index of the first such layer.
type Loss struct {
	Output string
	Layer  int
}

// CoverageOf returns the coverage of n. reasons is the second result of [Lower] for n: reasons[i]
// says why no program computes layer i, or is "". Operators that no output needs are not counted.
func CoverageOf(n *list.Network, reasons []string) Coverage {
	var c Coverage
	isMissing := func(i int) bool { return i < len(reasons) && reasons[i] != "" && n.Layers[i].Host == nil }
	// A list of layers that did not come from a graph has no operators, so its layers count.
	if len(n.Nodes) == 0 {
		for i := range n.Layers {
			l := &n.Layers[i]
			c.countWork(l.MACs(), l.Bytes(), !isMissing(i), l.Host != nil)
			if l.Out.Elements() == 0 {
				c.Unsized++
			}
		}
	} else {
		missing, hosted := make([]bool, len(n.Nodes)), make([]bool, len(n.Nodes))
		for i := range n.Layers {
			node := n.Layers[i].Node
			missing[node] = missing[node] || isMissing(i)
			hosted[node] = hosted[node] || n.Layers[i].Host != nil
		}
		for i, x := range n.Nodes {
			if x.What == list.Unused {
				continue
			}
			c.countWork(x.MACs, x.Bytes, !missing[i], hosted[i])
			if missing[i] {
				// An operator with a body that is missing stands for all operators inside.
				c.Nodes += x.Inside
			}
			if x.Unsized {
				c.Unsized++
				if missing[i] {
					c.Unsized += x.Inside
				}
			}
		}
	}
	c.Lost = findLostOutputs(n, isMissing)
	return c
}

// findLostOutputs returns the outputs of n that depend on a layer for which isMissing returns true,
// each with the first such layer.
func findLostOutputs(n *list.Network, isMissing func(layer int) bool) []Loss {
	causes := map[string]int{} // the missing layer that a tensor depends on
	blamed := map[string]int{} // the same for a layer that is missing, by its name
	for i := range n.Layers {
		l := &n.Layers[i]
		cause, lost := i, isMissing(i)
		if lost {
			if first, ok := blamed[l.Behind]; ok && l.Behind != "" {
				cause = first
			}
			blamed[l.Name] = cause
		}
		for _, in := range l.Inputs {
			if first, ok := causes[in]; ok && !lost {
				cause, lost = first, true
			}
		}
		if lost {
			causes[l.Output] = cause
			for _, out := range l.Others {
				causes[out] = cause
			}
		}
	}
	var losses []Loss
	for _, r := range n.AllResults() {
		if layer, ok := causes[r.Tensor]; ok {
			losses = append(losses, Loss{r.Name, layer})
		}
	}
	return losses
}

// countWork counts a node or a layer with the given numbers of multiply-accumulates and bytes. done
// says whether it is computed, and hosted whether the host computes at least a part of it.
func (c *Coverage) countWork(macs, bytes uint64, done, hosted bool) {
	c.Nodes++
	c.MACs += macs
	c.Bytes += bytes
	if !done {
		return
	}
	c.Done++
	c.DoneMACs += macs
	c.DoneBytes += bytes
	if hosted {
		c.Hosted++
	}
}
