package list

import "slices"

// moveHostStages moves the host's stages so that the engine's layers form as few programs as
// possible. Stages that do not depend on the engine go first, and stages whose results no engine
// layer needs go last. Other layers keep their order.
func (b *Builder) moveHostStages() {
	n := &b.Net
	if !slices.ContainsFunc(n.Layers, func(l Layer) bool { return l.Host != nil }) {
		return
	}
	const ahead, between, after = 0, 1, 2
	place := make([]int, len(n.Layers))
	engine := map[string]bool{} // tensors that depend on the engine
	for i := range n.Layers {
		l := &n.Layers[i]
		place[i] = between
		if l.Host != nil && !slices.ContainsFunc(l.Inputs, func(in string) bool { return engine[in] }) {
			place[i] = ahead
			continue
		}
		for _, out := range append([]string{l.Output}, l.Others...) {
			engine[out] = true
		}
	}
	read := map[string]bool{} // tensors that a layer in between reads
	for i := len(n.Layers) - 1; i >= 0; i-- {
		l := &n.Layers[i]
		if place[i] == between && l.Host != nil && !slices.ContainsFunc(append([]string{l.Output}, l.Others...), func(out string) bool { return read[out] }) {
			place[i] = after
			continue
		}
		for _, in := range l.Inputs {
			read[in] = true
		}
	}
	var sorted []Layer
	for _, p := range [...]int{ahead, between, after} {
		for i := range n.Layers {
			if place[i] == p {
				sorted = append(sorted, n.Layers[i])
			}
		}
	}
	n.Layers = sorted
}
