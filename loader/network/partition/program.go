package partition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"anesim/hw/execycles"
	"anesim/loader"
	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// A Run is the tasks that compute one layer of a program.
type Run = join.Run

// A Spill is a tensor between layers that did not fit in L2.
type Spill = join.Spill

// A Program is an engine program that computes consecutive layers of a network in one dispatch.
type Program struct {
	*loader.Program
	First int // index of the first layer
	// Runs holds the descriptors of each layer, starting at First. A layer that is fused into
	// another has none, and is named in the other's Folded.
	Runs []Run
	// Why says why the program before this one ended. It is empty if a layer that cannot be
	// lowered ended it.
	Why string
	// L2 is the number of bytes of L2 that each descriptor uses for tensors. It is nil if all
	// tensors go through memory.
	L2      []int
	Spilled []Spill // tensors between layers that did not fit in L2
	Into    []int   // for each layer, the index in Runs of the layer that computes it
}

// A Lowering holds options for [Lower].
type Lowering struct {
	Seed uint64 // seed of weights that the file does not have
	// SizesOnly builds programs that are only timed. They have descriptors, ports and sizes, but
	// no weights and no containers. See [lower.Sized].
	SizesOnly bool
	Memories  layer.Memories   // of the chip
	Target    execycles.Target // whose cycles the descriptors estimate; 0 means H13
	// Done, if not nil, is called with the number of layers that were just lowered. It is
	// called from several goroutines.
	Done func(layers int)
}

// ProgramName returns the name of the programs of n.
func ProgramName(n *list.Network) string { return cmp.Or(n.Name, "network") }

// Lower compiles the layers of n to programs for the engine. Each program computes consecutive
// layers: as many as fit, or up to about an eighth fewer. It ends early before a layer that cannot
// be lowered. Its inputs and outputs have the names of their tensors. [weights.Complete] generates
// weights that the file does not have.
//
// The second result holds, for each layer, the reason why no program computes it, or "". Lower
// returns an error only if ctx is done, and a *[weights.ReadError] if weights cannot be read.
func Lower(ctx context.Context, n *list.Network, options Lowering) ([]Program, []string, error) {
	done := options.Done
	if done == nil {
		done = func(int) {}
	}
	c := cutter{n: n, how: options, last: map[string]int{}, inputs: map[string]layer.Shape{}}
	var reasons []string
	var err error
	if c.parts, reasons, err = lowerLayersSeparately(ctx, n, options, done); err != nil {
		return nil, nil, err
	}
	for _, in := range n.Inputs {
		c.inputs[in.Name] = in.Shape
	}
	for i := range n.Layers {
		for _, in := range n.Layers[i].Inputs {
			c.last[in] = i
		}
	}
	// An output is read after the last layer, so no program may keep it to itself.
	for _, out := range n.Outputs {
		c.last[out] = len(n.Layers)
	}
	var programs []Program
	why := ""
	for at := 0; at < len(reasons); {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		end := at
		for end < len(reasons) && reasons[end] == "" {
			end++
		}
		if end == at {
			at, why = at+1, ""
			continue
		}
		p, cut, err := c.buildLongestProgram(at, end)
		if err != nil {
			// This layer alone fits in no program. The loop goes on without it.
			reasons[at] = err.Error()
			continue
		}
		p.Name, p.Why = ProgramName(n), why
		RecordFolded(n, p)
		programs = append(programs, *p)
		at, why = at+len(p.Runs), cut
	}
	return programs, reasons, nil
}

// A cutter divides a network into programs.
type cutter struct {
	n     *list.Network
	how   Lowering
	parts []*join.Part
	last  map[string]int // last layer that reads a tensor; the number of layers for an output
	// inputs holds the shapes of the network's inputs.
	inputs map[string]layer.Shape
	most   int // layers of the last program that hit a limit, 0 if none did
}

// buildLongestProgram builds a program from as many of the layers begin to end-1 as fit, in order. cut
// says why the program does not hold all of them. If a limit ends the program, best may hold up to about
// an eighth fewer layers than would fit, because the search stops there. buildLongestProgram returns an
// error if not even the first layer fits.
func (c *cutter) buildLongestProgram(begin, end int) (best *Program, cut string, err error) {
	fits, fails := 0, end-begin+1
	// Bisection between a length that fits and one that does not. It stops an eighth early, because each
	// try compiles all of the layers.
	for try := end - begin; fails-fits > max(1, fits/8); try = (fits + fails) / 2 {
		if c.most > 0 && fits == 0 {
			// The next program of a network mostly has about as many layers as the last.
			try = min(try, 2*c.most)
		}
		var p *Program
		if p, err = c.buildProgram(begin, begin+try); err == nil {
			best, fits = p, try
			continue
		}
		fails, cut = try, err.Error()
		var node *join.NodeError
		if errors.As(err, &node) {
			cut = node.What
			// The error names a node that fits in no program, so all before it are tried at once.
			if node.Node > fits && node.Node < try {
				fails = node.Node + 1
				if p, err := c.buildProgram(begin, begin+node.Node); err == nil {
					return p, cut, nil
				}
			}
		}
	}
	if best == nil {
		return nil, "", err
	}
	if begin+fits < end {
		c.most = fits
	}
	return best, cut, nil
}

// buildProgram builds one program from the layers begin to end-1, all of which are lowered.
func (c *cutter) buildProgram(begin, end int) (*Program, error) {
	net := join.Network{InMemory: c.n.InMemory, OutputsFirst: c.n.OutputsFirst, Memories: c.how.Memories, Target: c.how.Target}
	known, width := map[string]bool{}, map[string]int{}
	for i := begin; i < end; i++ {
		l := &c.n.Layers[i]
		for k, s := range c.parts[i].Inputs() {
			if k >= len(l.Inputs) {
				continue
			}
			if name := l.Inputs[k]; width[name] == 0 || width[name] == s.W {
				width[name] = s.W
			} else {
				width[name] = -1 // readers differ in the length of rows
			}
		}
	}
	for i := begin; i < end; i++ {
		l := &c.n.Layers[i]
		for k, s := range c.parts[i].Inputs() {
			if k < len(l.Inputs) && !known[l.Inputs[k]] {
				known[l.Inputs[k]] = true
				net.Inputs = append(net.Inputs, c.newInputTensor(l.Inputs[k], s, width[l.Inputs[k]] < 0))
			}
		}
		known[l.Output] = true
		net.Nodes = append(net.Nodes, join.Node{Part: c.parts[i], Inputs: l.Inputs, Output: l.Output, Rounds: l.Rounds})
		if c.last[l.Output] >= end {
			net.Outputs = append(net.Outputs, l.Output)
		}
	}
	if c.n.Release() == layer.Release2026 {
		c.sortByResultOrder(net.Outputs)
	}
	if len(net.Outputs) == 0 { // compute the last layer even if nothing reads it
		net.Outputs = []string{c.n.Layers[end-1].Output}
	}
	j, err := net.Join()
	if err != nil {
		return nil, err
	}
	build := j.Builder.Build
	if c.how.SizesOnly {
		build = j.Builder.Layout
	}
	p, err := build(c.n.Name)
	if err != nil {
		return nil, err
	}
	return &Program{Program: p, First: begin, Runs: j.Nodes, L2: j.L2, Spilled: j.Spilled, Into: j.Into}, nil
}

// sortByResultOrder sorts outputs in the order in which the network lists its results; others follow in their
// order. The compiler of 2026 numbers three results in another order than that of their layers (1 of 1
// programs with several), which a list can have.
func (c *cutter) sortByResultOrder(outputs []string) {
	place := map[string]int{}
	for i := range c.n.Results {
		place[c.n.Results[i].Tensor] = i - len(c.n.Results)
	}
	slices.SortStableFunc(outputs, func(a, b string) int { return cmp.Compare(place[a], place[b]) })
}

// newInputTensor returns a tensor that a program reads from outside. s is the shape in which its
// first reader reads it. That is also the tensor's shape, because the host can store rows of any
// length, unless several is set: then readers use rows of several lengths, and the shape is the one
// from which the network's transposes start. A constant that the file does not have is
// pseudo-random.
func (c *cutter) newInputTensor(name string, s layer.Shape, several bool) join.Tensor {
	made := c.n.Made[name]
	whole, ok := c.inputs[name]
	switch {
	case several && made.Elements() == s.Elements():
		s = made
	case ok && whole.W == s.W:
		s = whole
	}
	v, constant := c.n.Constants[name]
	if constant && v == nil {
		v = weights.Random(s.Elements(), c.how.Seed, "second")
	}
	return join.Tensor{Name: name, Shape: s, Values: v}
}

// lowerLayersSeparately lowers every layer of n, until the context is done, and returns the lowered layers.
// The second result says for each layer why it cannot be lowered, or is "". Equal layers are
// lowered once. done is called with the number of layers that were just lowered. The error is that of
// the first layer whose weights cannot be read.
func lowerLayersSeparately(ctx context.Context, n *list.Network, options Lowering, done func(layers int)) ([]*join.Part, []string, error) {
	unread := make([]error, len(n.Layers))
	parts, reasons := make([]*join.Part, len(n.Layers)), make([]string, len(n.Layers))
	first := map[string]int{}
	same := make([]int, len(n.Layers))
	var distinct []int
	for i := range n.Layers {
		l := &n.Layers[i]
		reasons[i] = l.Reason
		same[i] = i
		if l.Reason != "" {
			done(1)
			continue
		}
		// Comparing real weights would cost more than lowering a layer twice.
		if w := &l.Weights; w.FilterLen()+len(w.Bias)+len(w.Second) == 0 {
			// Generated weights are the same for equal layers.
			key := fmt.Sprintf("%t %+v", l.Average, l.Lower)
			if j, ok := first[key]; ok {
				same[i] = j
				continue
			}
			first[key] = i
		}
		distinct = append(distinct, i)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(distinct)) {
		wg.Go(func() {
			for {
				k := int(next.Add(1)) - 1
				if k >= len(distinct) || ctx.Err() != nil {
					return
				}
				i := distinct[k]
				var err error
				if parts[i], err = lowerLayerAlone(&n.Layers[i], options); err != nil {
					reasons[i] = err.Error()
					if errors.As(err, new(*weights.ReadError)) {
						unread[i] = err
					}
				}
				done(1)
			}
		})
	}
	wg.Wait()
	for i, j := range same {
		if i != j {
			parts[i], reasons[i] = parts[j], reasons[j]
			done(1)
		}
	}
	// By the order of layers, not of goroutines, so that the error is always the same.
	return parts, reasons, cmp.Or(unread...)
}

// lowerLayerAlone lowers layer x on its own. options says which weights it gets.
func lowerLayerAlone(x *list.Layer, options Lowering) (*join.Part, error) {
	complete := weights.Complete
	if options.SizesOnly {
		complete = weights.Sizes
	}
	w, err := complete(x, options.Seed)
	if err != nil {
		return nil, err
	}
	l := x.Lower
	l.Memories = options.Memories
	return join.NewPart(l, w)
}

// RecordFolded records in n which layers program p fuses into others. It adds the name of each
// fused layer to the list Folded of the layer that computes it, unless the name is there already.
func RecordFolded(n *list.Network, p *Program) {
	for i, by := range p.Into {
		if l := &n.Layers[p.First+by]; i != by && !slices.Contains(l.Folded, n.Layers[p.First+i].Name) {
			l.Folded = append(l.Folded, n.Layers[p.First+i].Name)
			l.Attention = l.Attention || n.Layers[p.First+i].Lower.Op == layer.Softmax
		}
	}
}
