package join

import (
	"slices"
	"sync"

	"github.com/x448/float16"

	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/family"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// A Part is a layer's tasks, constants and surfaces before a network gives them places.
// It may stand in a network several times, and has its constants there once. The coefficients of a
// product are packed where it stands by itself: in a chain of rows they have other places.
type Part struct {
	Layer   layer.Layer
	Weights layer.Weights
	made    *family.Output
	inputs  []loader.Port // in the order of a node's inputs
	Shape   layer.Shape
	surface uint32 // buffer of its output

	sizes  bool // has the sizes of its coefficients and none of their bytes
	mu     sync.Mutex
	packed *Part           // with them, see whole
	taken  map[taken]*Part // with what follows it
}

// taken is what a part takes in: a layer, and where its constants are a tensor of the network the
// first of these.
type taken struct {
	next   *Part
	values *float16.Float16
}

// NewPart lowers a layer to a part. Errors are those of [Lower].
func NewPart(l layer.Layer, w layer.Weights) (*Part, error) {
	q := &Part{}
	if err := q.lower(l, w); err != nil {
		return nil, err
	}
	return q, nil
}

// lower makes it the part of a layer.
func (q *Part) lower(l layer.Layer, w layer.Weights) error {
	product := l.Op == layer.Linear || l.Op == layer.MatMul && l.Second == layer.Constant
	q.sizes = product && !w.SizesOnly
	return q.make(l, w)
}

// make lowers a layer to the part, with the coefficients or their sizes.
func (q *Part) make(l layer.Layer, w layer.Weights) error {
	given, values := l, w // lowering may widen its window
	w.SizesOnly = w.SizesOnly || q.sizes
	made, err := family.Lower(&l, &w)
	if err != nil {
		return err
	}
	q.Layer, q.Weights, q.made, q.Shape = given, values, made, given.Out()
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
	return nil
}

// whole is the part with its coefficients, packed at the first call.
func (q *Part) whole() (*Part, error) {
	if !q.sizes {
		return q, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.packed == nil {
		p := &Part{}
		if err := p.make(q.Layer, q.Weights); err != nil {
			return nil, err
		}
		q.packed = p
	}
	return q.packed, nil
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
				own.Previous = tiles[own.Previous]
				c = &own
				tiles[*operand] = c
			}
			*operand = c
		}
		t.Rebase(at)
	}
	return moved
}
