package join

import (
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/lower/family"
	"anesim/loader/lower/place"
	"anesim/loader/lower/rows"
)

// A folded is nodes that became one part.
type folded struct {
	part   *Part
	inputs []string
	output string
	nodes  []int // those with descriptors of their own, in the order of the part's runs
	runs   []Run
	none   map[int]int // those folded into others, and into which
}

// A folder finds the runs of nodes that package rows lowers.
type folder struct {
	net     *Network
	nodes   []node
	shapes  map[string]layer.Shape
	readers map[string]int // nodes, and the network's outputs
	rows    []int          // the first node from each on that a chain of rows is for
}

func newFolder(n *Network, nodes []node) *folder {
	f := &folder{n, nodes, map[string]layer.Shape{}, map[string]int{}, make([]int, len(nodes))}
	for i := range n.Inputs {
		f.shapes[n.Inputs[i].Name] = n.Inputs[i].Shape
	}
	for i := range nodes {
		for _, in := range nodes[i].Inputs {
			f.readers[in]++
		}
		f.shapes[nodes[i].Output] = nodes[i].Part.Shape
	}
	for _, out := range n.Outputs {
		f.readers[out]++
	}
	for i, next := len(nodes)-1, len(nodes); i >= 0; i-- {
		if ofRows(&nodes[i].Part.Layer) {
			next = i
		}
		f.rows[i] = next
	}
	return f
}

// ofRows reports whether a layer makes those around it a chain of rows.
func ofRows(l *layer.Layer) bool {
	switch l.Op {
	case layer.Linear, layer.MatMul, layer.LayerNorm, layer.Softmax:
		return true
	}
	return false
}

// folds are the parts that nodes from first on become, and the node behind them; none
// where the node stays by itself.
func (f *folder) folds(first int) ([]folded, int) {
	if f.rows[first] == len(f.nodes) {
		return nil, first
	}
	groups, ends := f.groups(first)
	var ready []int // runs that nothing but their last output leaves
	for n, closed := range f.closed(groups, first, ends) {
		if closed && f.rows[first] < ends[n] {
			ready = append(ready, n+1)
		}
	}
	best := 0
	if k := len(ready); k > 0 {
		if _, ok := f.compile(groups[:ready[k-1]], true); ok {
			best, ready = ready[k-1], nil
		}
	}
	for _, n := range ready {
		if _, ok := f.compile(groups[:n], true); !ok {
			break // what does not fit does not fit with more behind it
		}
		best = n
	}
	if best == 0 || best == 1 && len(groups[0].Nodes) == 1 {
		return nil, first
	}
	parts := [][]rows.Group{groups[:best]}
	if f.net.InMemory {
		parts = nil
		for i := range best {
			parts = append(parts, groups[i:i+1])
		}
	}
	var list []folded
	for _, groups := range parts {
		one, ok := f.compile(slices.Clone(groups), false)
		if !ok {
			return nil, first
		}
		list = append(list, *one)
	}
	return list, ends[best-1]
}

// closed says of each group whether nothing but its output leaves the nodes from first to
// its end.
func (f *folder) closed(groups []rows.Group, first int, ends []int) []bool {
	closed := make([]bool, len(groups))
	inside := map[string]int{} // readers among the nodes so far
	made := map[string]bool{}  // by them
	leave := 0                 // outputs that others read
	nodes, at := 0, first
	for k, end := range ends {
		for ; at < end; at++ {
			n := &f.nodes[at].Node
			for _, in := range n.Inputs {
				if inside[in]++; made[in] && inside[in] == f.readers[in] {
					leave--
				}
			}
			if made[n.Output] = true; inside[n.Output] < f.readers[n.Output] {
				leave++
			}
		}
		nodes += len(groups[k].Nodes)
		last := groups[k].Output
		closed[k] = nodes == end-first && leave == 1 && inside[last] == 0 && f.readers[last] > 0
	}
	return closed
}

// groups are the groups of nodes from first on, as far as they are of rows, and the node
// behind each.
func (f *folder) groups(first int) (groups []rows.Group, ends []int) {
	turned := map[string]transposition{} // results of transposes, by name
	var pending []int
	for i := first; i < len(f.nodes); i++ {
		n := &f.nodes[i].Node
		if len(n.Inputs) == 0 || len(n.Inputs) != len(n.Part.inputs) {
			break
		}
		l := &n.Part.Layer
		if t, ok := transposesRows(l); ok && f.readers[n.Output] == 1 && f.shapes[n.Inputs[0]].W == l.In.W {
			if _, twice := turned[n.Inputs[0]]; twice { // a product reads what one transpose made
				break
			}
			turned[n.Output] = transposition{n.Inputs[0], t}
			pending = append(pending, i)
			continue
		}
		g, ok := f.group(n, turned)
		if !ok {
			break
		}
		g.Nodes = append([]int{i}, pending...)
		pending = nil
		groups = append(groups, *g)
		ends = append(ends, i+1)
	}
	return groups, ends
}

// A transposition is the result of a transpose: matrices of shape (1, count, rows, columns),
// the transposes of those in the tensor from.
type transposition struct {
	from     string
	matrices layer.Shape
}

// transposesRows reports whether a transpose turns the rows of matrices into columns, and
// returns the shape (1, count, rows, columns) of the matrices that it makes.
func transposesRows(l *layer.Layer) (matrices layer.Shape, ok bool) {
	if l.Op != layer.Transpose || l.In.N != 1 || l.Activation != 0 {
		return layer.Shape{}, false
	}
	switch l.Permutation() {
	case [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}:
		return layer.Shape{N: 1, C: l.In.C, H: l.In.W, W: l.In.H}, true
	case [3]layer.Axes{layer.AxisW, layer.AxisH, layer.AxisC}:
		return layer.Shape{N: 1, C: 1, H: l.In.W, W: l.In.C}, l.In.H == 1
	}
	return layer.Shape{}, false
}

// group makes a node a group.
func (f *folder) group(n *Node, turned map[string]transposition) (*rows.Group, bool) {
	l := n.Part.Layer
	w := n.Part.Weights
	out := n.Part.Shape
	g := &rows.Group{Layer: l, Weights: w, Inputs: slices.Clone(n.Inputs), Output: n.Output, Heads: 1, Rows: out.N * out.C * out.H, Width: out.W}
	for k, in := range n.Inputs {
		read := shapeOf(&n.Part.inputs[k])
		t, transposed := turned[in]
		if !transposed && f.shapes[in].W != read.W {
			return nil, false
		}
		if transposed && (l.Op != layer.MatMul || k != 1 || t.matrices != read) {
			return nil, false // the rows of other matrices
		}
	}
	if l.In.N != 1 || g.Rows > layer.MaxChannels {
		return nil, false
	}
	switch l.Op {
	case layer.Linear, layer.MatMul:
		if l.TransposeX || l.TransposeY && l.Second != layer.Runtime {
			return nil, false
		}
		if l.Op == layer.MatMul && l.Second == layer.Runtime {
			g.Kind = rows.PairProduct
			g.Heads, g.Rows = l.In.C, l.In.H
			g.Transposed = l.TransposeY
			if t, ok := turned[n.Inputs[1]]; ok {
				g.Inputs[1], g.Transposed = t.from, !g.Transposed
			}
			g.Activation, g.Scale = l.Activation, l.Factor
			return g, l.In.C <= 64 && (l.Activation == 0 || l.Activation == layer.ReLU)
		}
		g.Kind, g.Scale = rows.Product, l.Factor
		if l.Bias {
			if w.Bias == nil {
				w.Bias = make([]float16.Float16, l.Columns)
			}
			g.Bias = w.Bias
		}
		switch {
		case l.Activation == layer.ReLU:
			g.Activation = layer.ReLU
		case l.Activation != 0 && !l.Activation.IsSingleTable():
			return nil, false
		case l.Activation != 0:
			g.Table = w.Table
		}
		return g, l.In.C == 1
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min:
		switch {
		case l.In.C != 1:
			return nil, false
		case l.Second == layer.Runtime && l.SecondShape == l.In && !l.SecondReLU:
			g.Kind = rows.Binary
			g.Activation = l.Activation
			return g, l.Activation == 0 || l.Activation == layer.ReLU
		case l.Second == layer.Itself:
			g.Kind, g.Inputs = rows.Binary, append(g.Inputs, g.Inputs[0])
			g.Activation = l.Activation
			return g, l.Activation == 0 || l.Activation == layer.ReLU
		case l.Second == layer.Scalar && l.Op != layer.Max && l.Op != layer.Min:
			g.Kind, g.Activation = rows.Scalar, l.Activation
			return g, l.Activation == 0 || l.Activation == layer.ReLU
		}
		return nil, false
	}
	if l.Activation != 0 {
		return nil, false // a task of its own, which none of these groups has
	}
	switch l.Op {
	case layer.LayerNorm:
		g.Kind = rows.Norm
		return g, l.Axes == layer.AxisW && l.In.C == 1 && (g.Rows <= 192 || g.Rows%8 == 0)
	case layer.Softmax:
		g.Kind = rows.Softmax
		return g, l.Axes == layer.AxisW
	}
	if l.Op == layer.ReLU || l.Op.IsSingleTable() || l.Op == layer.Inverse {
		g.Kind = rows.Activation
		return g, l.In.C == 1 && l.In.H > 1
	}
	return nil, false
}

// compile lowers groups to one part, or tries whether they fit without their coefficients.
func (f *folder) compile(groups []rows.Group, try bool) (*folded, bool) {
	low, ok := rows.Lower(groups, f.shapes, try)
	if !ok {
		return nil, false
	}
	out := &folded{output: groups[len(groups)-1].Output, inputs: low.Inputs, none: map[int]int{}}
	for i := range groups {
		end := len(low.Tasks)
		if i+1 < len(groups) {
			end = low.Starts[i+1]
		}
		out.nodes = append(out.nodes, groups[i].Nodes[0])
		out.runs = append(out.runs, Run{low.Starts[i], end - low.Starts[i]})
		for _, n := range groups[i].Nodes[1:] {
			out.none[n] = groups[i].Nodes[0]
		}
	}
	out.part = &Part{
		made:    &family.Output{Tasks: low.Tasks, Constants: low.Constants, Scratch: low.Scratch},
		inputs:  low.Ports,
		Shape:   f.shapes[out.output],
		surface: place.Bar4,
	}
	return out, true
}
