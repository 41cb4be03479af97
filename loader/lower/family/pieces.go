package family

import (
	"anesim/loader/layer"
	"anesim/loader/lower/place"
)

// A piece is a layer that a larger one is made of: its values and where its ports stand.
type piece struct {
	layer   layer.Layer
	weights *layer.Weights
	ports   ports
}

// ports are the surfaces of a piece by the names that Lower gives them.
type ports map[string]place.Memory

// allocate returns room in the scratch buffer for a tensor between pieces. Such tensors are
// placed one after the other; what the pieces need for themselves lies above.
func (o *Output) allocate(s layer.Shape) place.Memory {
	m := place.Surface(place.BarScratch, s)
	m.Base = o.held
	o.held += layer.RoundUp(m.Depth*s.N, place.ScratchPage)
	o.Scratch = max(o.Scratch, o.held)
	return m
}

// lowerPieces appends the tasks of layers that together compute l. They have its compiler and
// its chip.
func lowerPieces(o *Output, l *layer.Layer, list ...piece) error {
	for i := range list {
		s := &list[i]
		s.layer.Release, s.layer.Memories = l.Release, l.Memories
		if err := lowerLayer(o, job{&s.layer, s.weights, s.ports}); err != nil {
			return err
		}
	}
	return nil
}
