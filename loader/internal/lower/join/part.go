package join

import (
	"slices"
	"sync"

	"github.com/x448/float16"

	"anesim/loader"
	"anesim/loader/internal/lower/family"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// A Part is a compiled layer that has no place in a program yet. A network may use the same part
// several times; the program then stores its constants once. The weights of a matmul are packed
// only when the part is placed, because their order depends on the layers around it.
type Part struct {
	Layer   layer.Layer
	Weights layer.Weights
	Shape   layer.Shape // of the result's port, in fp16 elements

	output    *family.Output
	inputs    []loader.Port // in the order of Node.Inputs
	outputBAR uint32        // buffer of the result

	constantsOf *Part // the part that this one was made from, with the same constants; nil if there is none

	attention bool // computes several layers, see newAttentionPart
	sizesOnly bool // output has the size of the weights but not their bytes
	mu        sync.Mutex
	packed    *Part              // the same part with its weights, see packWeights
	merged    map[mergeKey]*Part // parts that merge this one with another
}

// A mergeKey identifies a part that another part can merge. If the constants of that part are a
// tensor of the network, values points to the first of them. The field before is set if that part
// runs before the other one: x + relu(x) and relu(x + z) merge the same two parts.
type mergeKey struct {
	next   *Part
	values *float16.Float16
	before bool
}

// NewPart returns the part that computes layer l with weights w. The error is a *layer.LimitError,
// a *layer.UnsupportedError or a *layer.LayerError.
func NewPart(l layer.Layer, w layer.Weights) (*Part, error) {
	q := &Part{}
	if err := q.lowerLayer(l, w); err != nil {
		return nil, err
	}
	return q, nil
}

// lowerLayer fills q with the tasks of layer l. For a matmul with constants it computes only the
// size of the weights; packWeights adds their bytes later.
func (q *Part) lowerLayer(l layer.Layer, w layer.Weights) error {
	q.sizesOnly = l.HasConstantProduct() && !w.SizesOnly
	return q.compileLayer(l, w)
}

// compileLayer fills q with the tasks of layer l with weights w. If q.sizesOnly is set, the tasks
// know the sizes of their weights, but the constants hold no bytes.
func (q *Part) compileLayer(l layer.Layer, w layer.Weights) error {
	given, values := l, w // family.Lower may widen the window of l
	w.SizesOnly = w.SizesOnly || q.sizesOnly
	made, err := family.Lower(&l, &w)
	if err != nil {
		return err
	}
	q.Layer, q.Weights, q.output = given, values, made
	for _, port := range made.Ports {
		switch {
		case port.Direction == loader.Output:
			q.Shape, q.outputBAR = portShape(&port), uint32(port.BAR)
		case port.Name == "x":
			q.inputs = slices.Insert(q.inputs, 0, port)
		default:
			q.inputs = append(q.inputs, port)
		}
	}
	return nil
}

// packWeights returns a part equal to q that also has the bytes of its weights. The first call
// packs them; later calls return the same part. Several goroutines may call packWeights at once.
func (q *Part) packWeights() (*Part, error) {
	if !q.sizesOnly {
		return q, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.packed == nil {
		p := &Part{}
		if err := p.compileLayer(q.Layer, q.Weights); err != nil {
			return nil, err
		}
		q.packed = p
	}
	return q.packed, nil
}

// Inputs returns the shapes of the layer's inputs, in the order of Node.Inputs: the first and then
// the second operand, or all inputs of a Concat.
func (q *Part) Inputs() []layer.Shape {
	shapes := make([]layer.Shape, len(q.inputs))
	for i := range q.inputs {
		shapes[i] = portShape(&q.inputs[i])
	}
	return shapes
}

// portShape returns the shape of port p as batch, channels, rows and columns.
func portShape(p *loader.Port) layer.Shape {
	return layer.Shape{N: p.Shape[0], C: p.Shape[1], H: p.Shape[2], W: p.Shape[3]}
}

// Out returns the shape of the layer's result.
func (q *Part) Out() layer.Shape { return q.Shape }

// placeTasks returns copies of the tasks of q whose buffers have their places in the program. at
// holds the place of each buffer of the part. The copies share tiles with each other, but not with
// q.
func (q *Part) placeTasks(at *place.Spots) []*task.Task {
	tiles := map[*task.Tile]*task.Tile{}
	moved := make([]*task.Task, len(q.output.Tasks))
	owners := make(map[*task.Task]*task.Task, len(moved))
	for i, t := range q.output.Tasks {
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
