package bench

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/x448/float16"

	"anesim/bench/measured"
	"anesim/hw/host"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

// A Step is a descriptor, or a run of steps, and how often it runs.
type Step struct {
	Task  *regs.Task // nil for a run of steps; shared between chains, never written to
	Run   []Step
	Count int
}

// A Chain is a row's descriptors, and what its call gives the host to do.
type Chain struct {
	Steps []Step
	Host  host.Load
	Zero  float64 // share of multiply-accumulates one of whose operands is zero
}

// descriptors yields every descriptor of steps with how often it runs in all.
func descriptors(steps []Step) iter.Seq2[int, *regs.Task] {
	return func(yield func(int, *regs.Task) bool) { yieldTasks(steps, 1, yield) }
}

func yieldTasks(steps []Step, times int, yield func(int, *regs.Task) bool) bool {
	for i := range steps {
		switch s := &steps[i]; {
		case s.Task == nil:
			if !yieldTasks(s.Run, times*s.Count, yield) {
				return false
			}
		case !yield(times*s.Count, s.Task):
			return false
		}
	}
	return true
}

// changed is steps with a change made to a copy of each descriptor.
func changed(steps []Step, change func(*regs.Task)) []Step {
	out := make([]Step, len(steps))
	for i, s := range steps {
		if s.Task != nil {
			t := *s.Task
			t.Operands = nil // of the registers before the change
			change(&t)
			s.Task = &t
		}
		s.Run = changed(s.Run, change)
		out[i] = s
	}
	return out
}

// Buffers of a chain's tensors in device memory, far apart: what a layer reads, what it
// writes, and what does not change with the layer. Overlap of descriptors asks whether one
// reads what another wrote; nothing else depends on an address.
const (
	bufferBits = 36
	constants  = uint64(1) << bufferBits
	scratch    = uint64(2) << bufferBits
	operand    = uint64(3) << bufferBits // the second source
	tensors    = uint64(4) << bufferBits
)

// tensorBuffer is the buffer of a stack's i-th tensor. Two take turns.
func tensorBuffer(i int) uint64 { return tensors + uint64(i&1)<<bufferBits }

// flow makes steps that read tensor 0 and write tensor 1 read tensor i and write the next.
func flow(steps []Step, i int) []Step {
	if i&1 == 0 {
		return steps
	}
	return changed(steps, func(t *regs.Task) {
		for _, b := range [...]*uint64{&t.Bases.Source1, &t.Bases.Destination} {
			if *b >= tensors {
				*b ^= 1 << bufferBits
			}
		}
	})
}

// layers are the steps of a stack of n layers over one tensor after the other; layer makes
// one, first and last saying where it stands. Layers in between are alike.
func layers(n int, layer func(first, last bool) []Step) []Step {
	var out []Step
	add := func(i, count int, steps ...Step) {
		if count > 0 {
			out = append(out, Step{Run: flow(steps, i), Count: count})
		}
	}
	add(0, 1, layer(true, n <= 1)...)
	if n <= 1 {
		return out
	}
	middle := layer(false, false)
	add(0, (n-2)/2, slices.Concat(flow(middle, 1), middle)...)
	add(1, (n-2)%2, middle...)
	add(n-1, 1, layer(false, true)...)
	return out
}

// An UnmodelledError is a row that no chain is built for.
type UnmodelledError struct {
	Row  string
	What string
}

func (e *UnmodelledError) Error() string { return fmt.Sprintf("row %s: %s", e.Row, e.What) }

// A Lowerer makes chains of rows. It keeps the descriptors of layers it has seen.
type Lowerer struct {
	layers map[string][]Step
}

// NewLowerer returns an empty one.
func NewLowerer() *Lowerer { return &Lowerer{make(map[string][]Step)} }

// Chain is the row's descriptors. Layers go through package lower; what it does not
// lower (tensors beyond the L2, batched products) is built from the rules read from real
// programs, in stream.go. The error is an *UnmodelledError, or one of lower.
func (l *Lowerer) Chain(r *measured.Row) (*Chain, error) {
	c := new(Chain)
	build, ok := operationOf(r.Op)
	if !ok {
		return nil, &UnmodelledError{r.ID, fmt.Sprintf("operation %q is not modelled", r.Op)}
	}
	if what := build.missing(r); what != "" {
		return nil, &UnmodelledError{r.ID, fmt.Sprintf("%s without %s", r.Op, what)}
	}
	if what := excess(r); what != "" {
		return nil, &UnmodelledError{r.ID, what}
	}
	if err := build.make(l, c, r); err != nil {
		var u *UnmodelledError
		if errors.As(err, &u) {
			return nil, u
		}
		return nil, fmt.Errorf("row %s: %w", r.ID, err)
	}
	bits := weightBits(r.Weights)
	if bits == 0 {
		return nil, &UnmodelledError{r.ID, fmt.Sprintf("weights of format %q are not modelled", r.Weights)}
	}
	c.Steps = narrow(c.Steps, bits)
	for n, t := range descriptors(c.Steps) {
		c.Host.Moved += uint64(n) * t.Resolved(new(regs.Operands)).Bytes()
	}
	return c, nil
}

// excess says what of a row is beyond any program of the engine.
func excess(r *measured.Row) string {
	const elements, layers = 1 << 33, 1 << 12
	v := func(n int) float64 { return float64(max(1, n)) }
	for _, t := range [...]float64{
		v(r.N) * v(r.Cin) * v(r.H) * v(r.W), v(r.N) * v(r.Cout) * v(r.H) * v(r.W), v(r.Cout) * v(r.Cin) * v(r.Kh) * v(r.Kw),
		v(r.N) * v(r.M) * v(r.K), v(r.N) * v(r.K) * v(r.Cols), v(r.N) * v(r.M) * v(r.Cols), v(r.N) * decoderKeys * decoderWidth,
	} {
		if t > elements {
			return fmt.Sprintf("a tensor of %.3g elements", t)
		}
	}
	if r.Depth > layers {
		return fmt.Sprintf("%d layers", r.Depth)
	}
	return ""
}

// An operation is how a row of it becomes a chain.
type operation struct {
	needs []string // dimensions
	make  func(*Lowerer, *Chain, *measured.Row) error
}

func (o operation) missing(r *measured.Row) string {
	for _, n := range o.needs {
		v := map[string]int{
			"N": r.N, "Cin": r.Cin, "H": r.H, "W": r.W, "Cout": r.Cout, "Kh": r.Kh, "Kw": r.Kw,
			"M": r.M, "K": r.K, "Ncols": r.Cols, "depth": r.Depth,
		}[n]
		if v <= 0 {
			return n
		}
	}
	return ""
}

// add appends a run of steps, count times.
func (c *Chain) add(count int, steps ...Step) {
	switch {
	case count <= 0 || len(steps) == 0:
	case count == 1:
		c.Steps = append(c.Steps, steps...)
	default:
		c.Steps = append(c.Steps, Step{Run: steps, Count: count})
	}
}

// lowered is a layer's descriptors.
func (l *Lowerer) lowered(x layer.Layer) ([]Step, error) {
	key := fmt.Sprintf("%+v", x)
	if s, ok := l.layers[key]; ok {
		return s, nil
	}
	w := layer.Weights{Table: make([]byte, tableBytes), Reciprocal: make([]byte, tableBytes)}
	if win := x.Window; x.Op == layer.Convolution && (win.Sx > 1 || win.Sy > 1) {
		// Lanes of a convolution with a stride leave zeros out: a measured one had none.
		n := x.Cout * (x.In.C / x.Groups) * win.Kh * win.Kw
		if n > maxStridedWeights {
			return nil, fmt.Errorf("%d weights of a convolution with a stride; at most %d are packed", n, maxStridedWeights)
		}
		w.Filter = slices.Repeat([]float16.Float16{float16.Fromfloat32(1)}, n)
	}
	out, err := lower.Compile(x, w)
	if err != nil {
		return nil, err
	}
	bars := regs.BARs{regs.BARWeights: constants, regs.BARScratch: scratch}
	input := tensorBuffer(0)
	for _, p := range out.Builder.Ports {
		if p.Direction == loader.Output {
			bars[p.BAR] = tensorBuffer(1)
			continue
		}
		bars[p.BAR], input = input, operand
	}
	var steps []Step
	for _, d := range out.Builder.Chain {
		var f regs.File
		if err := d.Apply(&f); err != nil {
			return nil, err
		}
		t := &regs.Task{Header: d.Header}
		f.Snapshot(&t.Groups)
		if t.Bases, err = regs.Resolve(&t.Header, &t.Groups, &bars); err != nil {
			return nil, err
		}
		steps = append(steps, Step{Task: t, Count: 1})
	}
	l.layers[key] = steps
	return steps, nil
}

const (
	tableBytes        = 128
	maxStridedWeights = 1 << 26
)
