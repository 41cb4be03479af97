package rows

import (
	"slices"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/pass"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// A pixelChain lowers a pixel chain: layers over the channels of a single row of pixels, as the compiler
// of 2026 writes them. Its tensors are the columns of row chains, [channel][pixel], and like those they
// have three places in L2:
//
//	columns  [channel][pixel]       read by planar tasks
//	rows     [pixel][channel]       columns, transposed: read by a mean over channels
//	blocks   [channel][8 pixels]    rows, transposed: read by a convolution
//
// The rules, each with the number of places in the three known programs that show it, of those that
// could (they are one layer norm, one norm with a feed-forward, one norm with three projections):
//
//	a mean over channels reads rows, four to a channel                          6 of 6
//	the squares of a mean of squares, and the addend after it, cost no task     3 of 3
//	a factor after a sum or a product costs no task                             3 of 3
//	an operand with one channel is read as it is, without a copy                6 of 6
//	a square has one source and the operation of squares                        1 of 1
//	a power by a number is two tables, the second after a factor                3 of 3
//	a convolution of one tap reads blocks, by two transposes                    4 of 4
//	its result stays in blocks up to the next convolution                       1 of 1
//	... or else is transposed to rows, and these to columns                     4 of 4
//	a transposed tensor serves all convolutions that read it                    1 of 1
//	weights are not split                                                       5 of 5
//	a result is written over the operand that nothing else reads                12 of 13
//
// (The thirteenth is a product whose only reader streams to memory.) Blocks that are all that L2 holds are
// described in the scratch buffer (1 of 1). Places in L2 are those of [place.Allocate], but for the rules
// at placeStatistics, emitAffine, emitPixelProduct and holdLinkedSources. All words of the three programs are
// the compiler's.
type pixelChain struct {
	*chain
	results   map[string]uint32    // buffers of the results of the chain
	left      map[string]int       // readers of a tensor that are still to come
	regrouped map[string]*heldTile // tensors in blocks, beside their columns
	tables    []channelTable
	prepared  map[int]*value // the transposes to blocks, by their tasks
}

// A channelTable is a row of addends and a row of factors that a task loads. It is stored after all
// weights.
type channelTable struct {
	task *task.Task
	data []byte
}

// LowerPixels compiles a pixel chain. shapes maps the names of the inputs and results to their
// shapes. The tensors in results are in the buffers from 4 on, and the inputs in those after them. If
// dryRun is true, the tasks have no weights, which is enough to find out whether the groups fit.
// LowerPixels reports false if they do not fit in L2 or have too many inputs.
func LowerPixels(groups []Group, results []string, shapes map[string]layer.Shape, dryRun bool) (*Lowered, bool) {
	c := &pixelChain{chain: newChain(groups), results: map[string]uint32{}, left: map[string]int{}, regrouped: map[string]*heldTile{}, prepared: map[int]*value{}}
	c.dryRun = dryRun
	out := &Lowered{}
	for i, name := range results {
		c.results[name] = uint32(place.Bar4 + i)
	}
	for i := range groups {
		for _, in := range groups[i].Inputs {
			c.left[in]++
			if c.makers[in] != nil || slices.Contains(out.Inputs, in) {
				continue
			}
			if len(results)+len(out.Inputs) > MaxInputs {
				return nil, false
			}
			s := shapes[in]
			m := place.Surface(uint32(place.Bar4+len(results)+len(out.Inputs)), s)
			c.values[in] = &value{name: in, rows: s.W, width: s.C, mem: &m}
			out.Ports = append(out.Ports, m.ToPort(in, loader.Input, s))
			out.Inputs = append(out.Inputs, in)
		}
	}
	for i := range groups {
		g := &groups[i]
		c.step = i
		out.Starts = append(out.Starts, c.taskIndex())
		v := &value{name: g.Output, rows: g.Rows, width: g.Width}
		c.values[g.Output] = v
		if !c.emitPixels(g, v) {
			return nil, false
		}
		for _, in := range g.Inputs {
			c.left[in]--
		}
	}
	// The order matters: tables follow the weights of all groups; sources are held before places in L2 are
	// chosen; and the places decide which tasks are linked, and by that their patches.
	c.storeChannelTables()
	c.holdLinkedSources()
	if !c.placeTiles() {
		return nil, false
	}
	c.markPlanarRuns()
	c.fixLinkedPatches()
	c.describeLoneBlocks()
	out.Tasks, out.Constants, out.Scratch = c.tasks, c.constants, c.described
	return out, task.FirstError(c.tasks) == nil
}

// emitPixels appends the tasks of group g, whose result is v. It reports false if it cannot lower g.
func (c *pixelChain) emitPixels(g *Group, v *value) bool {
	x := c.values[g.Inputs[0]]
	switch g.Kind {
	case ChannelMean:
		c.emitChannelMean(g, v)
	case Product:
		return c.emitPixelProduct(g, v)
	case Affine:
		c.emitAffine(g, v)
	case Binary:
		c.emitPixelBinary(g, v)
	case Power:
		c.emitPower(g, v)
	case Square:
		t := task.Planar{Form: regs.FormConstant, In: v.pixelShape(g.Block), Op: task.Squares, ReLU: g.Activation == layer.ReLU}.Task()
		c.appendPixels(g, t, v, x)
	case Scalar:
		op := pass.Scalar(&g.Layer, v.pixelShape(g.Block), uint16(layer.ValueAt(g.Weights.Second, 0)))
		op.ReLU = g.Activation == layer.ReLU
		c.appendPixels(g, op.Task(), v, x)
	case Activation:
		t := pass.Activation(g.Layer.Op, v.pixelShape(g.Block), g.Layer.Epsilon).Task()
		if g.Layer.Op != layer.ReLU {
			c.setActivationTable(t, g.Weights.Table)
		}
		c.appendPixels(g, t, v, x)
	}
	return true
}

// storeChannelTables stores the tables of addends and factors, after the weights.
func (c *pixelChain) storeChannelTables() {
	for _, t := range c.tables {
		c.constants.Pad(64)
		t.task.MoveTo(task.Operand1, c.constants.Bytes)
		c.constants.Add(t.data)
	}
}
