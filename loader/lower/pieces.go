package lower

import (
	"anesim/loader/layer"
	"anesim/loader/lower/task"
)

// A piece is a layer that a larger one is made of: its values and where its ports stand.
type piece struct {
	layer   layer.Layer
	weights *layer.Weights
	ports   ports
}

// ports are the surfaces of a piece by the names that Lower gives them.
type ports map[string]task.Memory

// intermediate is room in the scratch buffer for a tensor between pieces. They stand one
// behind the other; what they need for themselves lies above.
func (p *plan) intermediate(s layer.Shape) task.Memory {
	m := task.Surface(task.BarScratch, s)
	m.Base = p.held
	p.held += layer.RoundUp(m.Depth*s.N, task.ScratchPage)
	p.scratch = max(p.scratch, p.held)
	return m
}

// pieces appends the tasks of layers that together make the plan's own.
func (p *plan) pieces(list ...piece) error {
	layer, weights, bound, packed := p.layer, p.weights, p.bound, p.packed
	defer func() { p.layer, p.weights, p.bound, p.packed = layer, weights, bound, packed }()
	for i := range list {
		s := &list[i]
		s.layer.Release, s.layer.Memories = layer.Release, layer.Memories
		p.layer, p.weights, p.bound, p.packed = &s.layer, s.weights, s.ports, nil
		if err := p.lower(); err != nil {
			return err
		}
	}
	return nil
}
