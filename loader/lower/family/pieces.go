package family

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
func (p *Plan) intermediate(s layer.Shape) task.Memory {
	m := task.Surface(task.BarScratch, s)
	m.Base = p.held
	p.held += layer.RoundUp(m.Depth*s.N, task.ScratchPage)
	p.Scratch = max(p.Scratch, p.held)
	return m
}

// pieces appends the tasks of layers that together make the plan's own.
func (p *Plan) pieces(list ...piece) error {
	layer, weights, bound, packed := p.Layer, p.Weights, p.bound, p.Packed
	defer func() { p.Layer, p.Weights, p.bound, p.Packed = layer, weights, bound, packed }()
	for i := range list {
		s := &list[i]
		s.layer.Release, s.layer.Memories = layer.Release, layer.Memories
		p.Layer, p.Weights, p.bound, p.Packed = &s.layer, s.weights, s.ports, nil
		if err := p.lower(); err != nil {
			return err
		}
	}
	return nil
}
