package network

import (
	"slices"

	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// fuseLayers merges layers into the layer before them if one task can compute both, by the rules of
// package join. It runs before tensors are arranged, while any view of a tensor is free.
func fuseLayers(n *list.Network) {
	steps := make([]join.Step, len(n.Layers))
	for i := range n.Layers {
		l := &n.Layers[i]
		steps[i] = join.Step{
			Layer: l.Lower, Weights: l.Weights, Inputs: l.Inputs, Output: l.Output,
			Stored: l.Stored, Rounds: l.Rounds, Average: l.Average, Unfusable: l.Reason != "",
		}
		if l.ByColumn && l.Lower.Second == layer.Constant {
			steps[i].ByColumn, steps[i].Columns = true, l.Weights.Second
		}
	}
	kept := make([]list.Layer, 0, len(steps))
	for _, s := range (join.Fusion{Outputs: n.Outputs}).Fuse(steps) {
		l := n.Layers[s.Merged[0]]
		l.Lower, l.Weights, l.Inputs = s.Layer, s.Weights, s.Inputs
		for _, i := range s.Merged[1:] {
			l.Absorb(&n.Layers[i])
		}
		l.Output = s.Output
		kept = append(kept, l)
	}
	n.Layers = slices.Clip(kept)
}
