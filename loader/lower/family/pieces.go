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
	for i := range list {
		s := &list[i]
		s.layer.Release, s.layer.Memories = p.Layer.Release, p.Layer.Memories
		one := Plan{Output: p.Output, Layer: &s.layer, Weights: s.weights, bound: s.ports}
		if err := one.lower(); err != nil {
			return err
		}
	}
	return nil
}
