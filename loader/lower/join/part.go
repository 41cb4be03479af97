package join

import (
	"slices"
	"sync"

	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/family"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// A Part is a layer's tasks, constants and surfaces before a network gives them places.
// It may stand in a network several times, and has its constants there once.
type Part struct {
	Layer   layer.Layer
	Weights layer.Weights
	made    *family.Output
	inputs  []loader.Port // in the order of a node's inputs
	Shape   layer.Shape
	surface uint32 // buffer of its output

	once sync.Once
	relu *Part // with ReLU behind it, see rectified
}

// NewPart lowers a layer to a part. Errors are those of [Lower].
func NewPart(l layer.Layer, w layer.Weights) (*Part, error) {
	made, err := family.Lower(&l, &w)
	if err != nil {
		return nil, err
	}
	q := &Part{Layer: l, Weights: w, made: made, Shape: l.Out()}
	for _, port := range made.Ports {
		switch {
		case port.Direction == loader.Output:
			q.surface = uint32(port.BAR)
		case port.Name == "x":
			q.inputs = slices.Insert(q.inputs, 0, port)
		default:
			q.inputs = append(q.inputs, port)
		}
	}
	return q, nil
}

// Inputs are the shapes of the layer's inputs: x and z, or those of a Concat.
func (q *Part) Inputs() []layer.Shape {
	shapes := make([]layer.Shape, len(q.inputs))
	for i := range q.inputs {
		shapes[i] = shapeOf(&q.inputs[i])
	}
	return shapes
}

func shapeOf(p *loader.Port) layer.Shape {
	return layer.Shape{N: p.Shape[0], C: p.Shape[1], H: p.Shape[2], W: p.Shape[3]}
}

// Out is the shape of the layer's result.
func (q *Part) Out() layer.Shape { return q.Shape }

// place returns copies of the part's tasks that work on buffers at new places.
func (q *Part) place(at *place.Spots) []*task.Task {
	tiles := map[*task.Tile]*task.Tile{}
	moved := make([]*task.Task, len(q.made.Tasks))
	owners := make(map[*task.Task]*task.Task, len(moved))
	for i, t := range q.made.Tasks {
		c := *t
		moved[i] = &c
		owners[t] = moved[i]
	}
	for _, t := range moved {
		for _, operand := range [...]**task.Tile{&t.First, &t.Second, &t.Result} {
			if *operand == nil {
				continue
			}
			c, ok := tiles[*operand]
			if !ok {
				own := **operand
				own.Owner = owners[own.Owner]
				own.Beside = tiles[own.Beside]
				c = &own
				tiles[*operand] = c
			}
			*operand = c
		}
		t.Rebase(at)
	}
	return moved
}
