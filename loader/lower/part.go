package lower

import (
	"slices"
	"sync"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
)

// A Part is a layer's tasks, constants and surfaces before a network gives them places.
// It may stand in a network several times, and has its constants there once.
type Part struct {
	layer   layer.Layer
	weights layer.Weights
	plan    *plan
	inputs  []loader.Port // in the order of a node's inputs
	out     layer.Shape
	surface uint32 // buffer of its output

	once sync.Once
	relu *Part // with ReLU behind it, see rectified
}

// NewPart lowers a layer to a part. Errors are those of [Lower].
func NewPart(l layer.Layer, w layer.Weights) (*Part, error) {
	p, err := newPlan(&l, &w)
	if err != nil {
		return nil, err
	}
	p.weights, p.packed = nil, nil
	q := &Part{layer: l, weights: w, plan: p, out: l.Out()}
	for _, port := range p.ports {
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
func (q *Part) Out() layer.Shape { return q.out }

// A spot is a place in a buffer.
type spot struct {
	bar  uint32
	base int
}

// spots are where a part's buffers stand in a program, by index.
type spots [len(regs.BARs{})]spot

// place returns copies of the part's tasks that work on buffers at new places.
func (q *Part) place(at *spots) chain {
	tiles := map[*tile]*tile{}
	moved := make(chain, len(q.plan.tasks))
	owners := make(map[*task]*task, len(moved))
	for i, t := range q.plan.tasks {
		c := *t
		moved[i] = &c
		owners[t] = moved[i]
	}
	for _, t := range moved {
		for _, operand := range [...]**tile{&t.first, &t.second, &t.result} {
			if *operand == nil {
				continue
			}
			c, ok := tiles[*operand]
			if !ok {
				own := **operand
				own.owner = owners[own.owner]
				c = &own
				tiles[*operand] = c
			}
			*operand = c
		}
		if t.kernelFrom != nil {
			t.kernelFrom = owners[t.kernelFrom]
		}
		t.rebase(at)
	}
	return moved
}

// rebase moves everything the task names in memory. A surface that is described and
// stays in the L2 moves with its buffer.
func (t *task) rebase(at *spots) {
	b := t.h.Bases
	move := func(w *regs.DMAWord, bar uint32) uint32 {
		t.dma(w, int(w.Bytes())+at[bar].base)
		return at[bar].bar
	}
	if b.RBE0() {
		b = b.WithRBase0(move(&t.g.TileDMASrc.Src1Base, b.RBase0()))
	}
	if b.RBE1() {
		b = b.WithRBase1(move(&t.g.TileDMASrc.Src2Base, b.RBase1()))
	}
	if b.WBE() {
		b = b.WithWBase(move(&t.g.TileDMADst.DstBase, b.WBase()))
	}
	t.h.Bases = b
	k := t.h.KernelBases
	if !k.KBE0() {
		return
	}
	d := &t.g.KernelDMASrc
	bar := k.KBase0()
	for i, c := range d.CoeffDMAConfig {
		if c.En() {
			move(&d.CoeffBaseAddr[i], bar)
		}
	}
	t.h.KernelBases = k.WithKBase0(at[bar].bar)
}
