package arrange

import (
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/internal/lower/family"
	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// A matmul with constant weights transposes its input before the cores read it, and transposes
// the result back. Attention splits the results of several matmuls of one tensor into heads,
// some of them transposed:
//
//	x --+-- q --> heads          x -- transpose --+-- q --> heads
//	    +-- k --> transpose          (once)       +-- k: a 1x1 convolution, whose result is
//	    +-- v --> heads                           |      transposed as it leaves the engines
//	                                              +-- v --> heads
//
// Matmuls whose results are only read by transposes are not part of a row chain, which shares
// columns by itself (see package lower). That they share columns anyway is inferred: the
// compiler's chains hold a single head and prepare columns once for all their readers.

// ShareColumns lets matmuls of n share one transposed copy of the tensor that they read. It
// considers only matmuls whose results are read by nothing but transposes, and changes them only if
// that saves tasks. If only one transpose reads a result, the matmul also does the work of that
// transpose where possible.
//
// ShareColumns assumes the chip with the largest memories. A chip with a smaller L2 may refuse a
// changed layer. Call ShareColumns after [Rearrange].
func ShareColumns(n *list.Network) {
	s := findColumnSharing(n)
	for i := range n.Layers {
		s.shareColumnsFrom(i)
	}
	if len(s.first) == 0 {
		return
	}
	var layers []list.Layer
	for i, l := range n.Layers {
		if s.removed[i] {
			continue
		}
		if t, ok := s.first[i]; ok {
			layers = append(layers, t)
		}
		if from, ok := s.columns[i]; ok {
			l = s.newColumnReader(l, i)
			l.Inputs = []string{from}
		}
		layers = append(layers, l)
	}
	n.Layers = slices.Clip(layers)
}

// A columnSharing records how the matmuls of a network change: some read shared columns, and
// some of these also write a transposed result. Layers are identified by their index.
type columnSharing struct {
	n              *list.Network
	readers        map[string][]int   // matmuls by the tensor that they could share
	transposeAfter map[int]int        // the transpose that reads a matmul's result
	columns        map[int]string     // the shared tensor that a matmul reads
	first          map[int]list.Layer // transposes to insert before layers
	removed        map[int]bool       // transposes that become part of a matmul
}

// findColumnSharing finds the matmuls of n whose results are read only by transposes. Several of
// these matmuls can share a transposed copy of their input.
func findColumnSharing(n *list.Network) *columnSharing {
	s := &columnSharing{
		n: n, readers: map[string][]int{}, transposeAfter: map[int]int{}, columns: map[int]string{}, first: map[int]list.Layer{}, removed: map[int]bool{},
	}
	readers := map[string][]int{}
	for i := range n.Layers {
		for _, in := range n.Layers[i].Inputs {
			readers[in] = append(readers[in], i)
		}
	}
	results := map[string]bool{}
	for _, out := range n.Outputs {
		results[out] = true
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		next := readers[l.Output]
		if !canShareColumns(l) || results[l.Output] || len(next) == 0 ||
			slices.ContainsFunc(next, func(k int) bool { return !isTranspose(&n.Layers[k]) }) {
			continue
		}
		s.readers[l.Inputs[0]] = append(s.readers[l.Inputs[0]], i)
		if len(next) == 1 && turnsIntoRows(&n.Layers[next[0]], l.Out) {
			s.transposeAfter[i] = next[0]
		}
	}
	return s
}

// shareColumnsFrom makes layer i and all later matmuls of the same tensor read one transposed copy
// of it, if that needs fewer tasks than transposing the tensor for each.
func (s *columnSharing) shareColumnsFrom(i int) {
	x := &s.n.Layers[i]
	if !canShareColumns(x) {
		return
	}
	name := x.Inputs[0]
	all := s.readers[name]
	// The first reader acts for all, so that each group is looked at once.
	if len(all) == 0 || all[0] != i {
		return
	}
	all = slices.DeleteFunc(all, func(k int) bool { return s.n.Layers[k].Lower.In != x.Lower.In || !s.tryColumnReader(k) })
	saved := len(all) - 1
	for _, k := range all {
		// A matmul that reads columns can write its result transposed, so the transpose after it is saved
		// too.
		if _, ok := s.transposeAfter[k]; ok {
			saved++
		}
	}
	if saved < 1 {
		return
	}
	t := layer.Unary(layer.Transpose, x.Lower.In)
	t.Order = [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}
	if _, err := join.NewPart(t, layer.Weights{}); err != nil {
		return
	}
	turn := list.Layer{
		Name: x.Name + "/columns", Op: "Transpose", Inputs: []string{name}, Output: fmt.Sprintf("%s in columns", name),
		Lower: t, Out: t.Out(), Node: x.Node, Line: x.Line,
	}
	s.first[i] = turn
	for _, k := range all {
		s.columns[k] = turn.Output
		if at, ok := s.transposeAfter[k]; ok {
			s.removed[at] = true
		}
	}
}

// newColumnReader returns a layer that computes matmul l, which is layer i, from a transposed copy
// of its input. The layer is a convolution that includes the transpose after l, or the matmul with
// a transposed input. It still names the original input; the caller replaces that name.
func (s *columnSharing) newColumnReader(l list.Layer, i int) list.Layer {
	if at, ok := s.transposeAfter[i]; ok {
		return toConvolution(&l, &s.n.Layers[at])
	}
	l.Lower.TransposeX = true
	return l
}

// tryColumnReader reports whether matmul i can be lowered as a layer that reads a transposed copy
// of its input. If that works only without the transpose after the matmul, tryColumnReader
// separates the two.
func (s *columnSharing) tryColumnReader(i int) bool {
	x := s.n.Layers[i]
	x.Weights.Filter, x.Weights.Stored = nil, nil // whether a layer can be lowered depends on their number only
	lowered := func() bool {
		l := s.newColumnReader(x, i)
		w, err := weights.Sizes(&l, 0)
		if err == nil {
			_, err = join.NewPart(l.Lower, w)
		}
		return err == nil
	}
	if lowered() {
		return true
	}
	if _, ok := s.transposeAfter[i]; !ok {
		return false
	}
	delete(s.transposeAfter, i)
	return lowered()
}

// canShareColumns reports whether a layer is a matmul of one matrix with constant weights that
// can read its input transposed.
func canShareColumns(l *list.Layer) bool {
	x := &l.Lower
	if l.Reason != "" || len(l.Inputs) != 1 || x.Op != layer.MatMul && x.Op != layer.Linear || x.Second != layer.Constant ||
		x.TransposeX || x.In.N != 1 || x.In.C != 1 {
		return false
	}
	return x.In.H > 1 && family.CanReadColumns(x)
}

// turnsIntoRows reports whether transpose l, whose input has shape s, turns the columns of a single
// matrix into rows.
func turnsIntoRows(l *list.Layer, s layer.Shape) bool {
	return l.Lower.In == s && s.N == 1 && s.C == 1 && l.Lower.Order[2] == layer.AxisH
}

// toConvolution returns a 1x1 convolution that computes matmul l and next, the transpose of its
// result. The convolution reads a transposed copy of the input of l: each row of that matrix
// becomes a pixel, and each column a channel.
func toConvolution(l, next *list.Layer) list.Layer {
	x, c := l.Lower, *l
	c.Lower = layer.Conv(layer.Shape{N: 1, C: x.In.W, H: 1, W: x.In.H}, x.Columns, layer.Valid(1, 1))
	c.Lower.Bias, c.Lower.Factor = x.Bias, x.Factor
	c.Lower.Activation, c.Lower.Alpha, c.Lower.Low, c.Lower.High = x.Activation, x.Alpha, x.Low, x.High
	c.Out = c.Lower.Out()
	c.Folded = slices.Clone(l.Folded)
	if w := &l.Weights; x.Op == layer.MatMul {
		if w.Filter != nil {
			c.Weights.Filter = transpose(w.Filter, x.Columns)
		} else if w.Stored != nil {
			c.Weights.Stored = transposedWeights{w.Stored, x.Columns}
		}
	}
	c.Absorb(next)
	return c
}

// transpose returns the transpose of matrix m, whose rows have the given number of columns.
func transpose(m []float16.Float16, columns int) []float16.Float16 {
	out := make([]float16.Float16, 0, len(m))
	for o := range columns {
		for at := o; at < len(m); at += columns {
			out = append(out, m[at])
		}
	}
	return out
}

// A transposedWeights is the transpose of a stored matrix whose rows have the given number of columns.
type transposedWeights struct {
	of      layer.StoredWeights
	columns int
}

func (t transposedWeights) Len() int { return t.of.Len() }

func (t transposedWeights) Read() ([]float16.Float16, error) {
	m, err := t.of.Read()
	if err != nil {
		return nil, err
	}
	return transpose(m, t.columns), nil
}
