package family

import (
	"anesim/loader/internal/lower/place"
	"anesim/loader/layer"
)

// A sublayer is one of the layers that a larger layer is lowered to, with its weights and the
// places of its ports.
type sublayer struct {
	layer   layer.Layer
	weights *layer.Weights
	ports   ports
}

// ports holds the places of a sublayer's surfaces by port name, such as "x" and "y".
type ports map[string]place.Memory

// allocateTensor returns a place in the scratch buffer for a tensor of shape s that one sublayer
// writes and another reads. These tensors follow each other at the start of the buffer, and the
// scratch memory of the sublayers themselves comes after them.
func (o *Output) allocateTensor(s layer.Shape) place.Memory {
	m := place.Surface(place.BarScratch, s)
	m.Base = o.held
	o.held += layer.RoundUp(m.Depth*s.N, place.ScratchPage)
	o.Scratch = max(o.Scratch, o.held)
	return m
}

// lowerSublayers appends the tasks of several smaller layers that together compute l. The
// sublayers use the compiler release and the memory sizes of l.
func lowerSublayers(o *Output, l *layer.Layer, list ...sublayer) error {
	for i := range list {
		s := &list[i]
		s.layer.Release, s.layer.Memories = l.Release, l.Memories
		if err := lowerLayer(o, job{&s.layer, s.weights, s.ports}); err != nil {
			return err
		}
	}
	return nil
}
