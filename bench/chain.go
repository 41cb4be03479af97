package bench

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"anesim/hw/host"
	"anesim/hw/regs"
	"anesim/internal/measured"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

// A Step is one descriptor, or a sequence of steps, to be executed Count times.
type Step struct {
	Task  *regs.Task // nil for a run of steps; shared between chains, never written to
	Run   []Step
	Count int
}

// A Chain holds the descriptors that one call of a measured row executes, and the amount of data
// that the host copies for the call.
type Chain struct {
	Steps []Step
	Host  host.Load
	Zero  float64 // fraction of multiply-accumulates with a zero operand
}

// distinctDescriptors returns an iterator over the distinct descriptors of steps. It yields the
// number of times that a descriptor runs in total, followed by the descriptor.
func distinctDescriptors(steps []Step) iter.Seq2[int, *regs.Task] {
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

// copyWithChanges returns a copy of steps with the function change applied to each task of the
// copy. It does not modify the tasks of steps.
func copyWithChanges(steps []Step, change func(*regs.Task)) []Step {
	out := make([]Step, len(steps))
	for i, s := range steps {
		if s.Task != nil {
			t := *s.Task
			t.Operands = nil // they belong to the registers before the change
			change(&t)
			s.Task = &t
		}
		s.Run = copyWithChanges(s.Run, change)
		out[i] = s
	}
	return out
}

// Addresses of a chain's tensors in device memory, far apart: the input of a layer, its output,
// and tensors that do not change with the layer. They only decide whether a descriptor reads what
// an earlier one wrote.
const (
	bufferBits = 36
	constants  = uint64(1) << bufferBits
	scratch    = uint64(2) << bufferBits
	operand    = uint64(3) << bufferBits // the second source
	tensors    = uint64(4) << bufferBits
)

// tensorAddress returns the address of the i-th tensor between the layers of a stack. All even
// tensors share one address, all odd ones another.
func tensorAddress(i int) uint64 { return tensors + uint64(i&1)<<bufferBits }

// swapTensors adapts the steps of one layer to position i of a stack of layers. If i is odd, the
// buffer that the steps read and the buffer that they write trade places.
func swapTensors(steps []Step, i int) []Step {
	if i&1 == 0 {
		return steps
	}
	return copyWithChanges(steps, func(t *regs.Task) {
		for _, b := range [...]*uint64{&t.Bases.Source1, &t.Bases.Destination} {
			if *b >= tensors {
				*b ^= 1 << bufferBits
			}
		}
	})
}

// newLayerStack returns the steps of n layers that follow each other. It calls layer once for the
// first layer, once for the last layer, and once for a layer in between, whose steps it repeats for
// all others.
func newLayerStack(n int, layer func(first, last bool) []Step) []Step {
	var out []Step
	add := func(i, count int, steps ...Step) {
		if count > 0 {
			out = append(out, Step{Run: swapTensors(steps, i), Count: count})
		}
	}
	add(0, 1, layer(true, n <= 1)...)
	if n <= 1 {
		return out
	}
	middle := layer(false, false)
	add(0, (n-2)/2, slices.Concat(swapTensors(middle, 1), middle)...)
	add(1, (n-2)%2, middle...)
	add(n-1, 1, layer(false, true)...)
	return out
}

// An UnmodelledError reports why a measured row cannot be turned into descriptors.
type UnmodelledError struct {
	Row  string
	What string
}

// Error returns the ID of the row and the reason.
func (e *UnmodelledError) Error() string { return fmt.Sprintf("row %s: %s", e.Row, e.What) }

// A lowerer turns measured rows into chains of descriptors. It builds the descriptors of a layer
// only once, even if several rows have that layer.
type lowerer struct {
	layers map[string][]Step
}

// newLowerer returns a lowerer that holds no descriptors yet.
func newLowerer() *lowerer { return &lowerer{make(map[string][]Step)} }

// chain returns the descriptors for the row r. Package lower compiles the layers that it supports.
// All others, such as batched matmuls and tensors larger than L2, get descriptors built by rules
// that were derived from real programs. The error is an *[UnmodelledError] or an error of package
// lower.
func (l *lowerer) chain(r *measured.Row) (*Chain, error) {
	c := new(Chain)
	build, ok := findOperation(r.Op)
	if !ok {
		return nil, &UnmodelledError{r.ID, fmt.Sprintf("operation %q is not modelled", r.Op)}
	}
	if what := build.missingDimension(r); what != "" {
		return nil, &UnmodelledError{r.ID, fmt.Sprintf("operation %q needs a positive value for dimension %s", r.Op, what)}
	}
	if what := describeExcess(r); what != "" {
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
		return nil, &UnmodelledError{r.ID, fmt.Sprintf("unknown weight format %q; want fp16, int8, int4, lut8, lut6 or lut4", r.Weights)}
	}
	c.Steps = narrowWeights(c.Steps, bits)
	return c, nil
}

// describeExcess looks for a size of row r that is larger than any program of the engine allows. It
// returns a phrase that names the size, or "" if there is none.
func describeExcess(r *measured.Row) string {
	const elements, layers = 1 << 33, 1 << 12
	v := func(n int) float64 { return float64(max(1, n)) }
	for _, t := range [...]float64{
		v(r.N) * v(r.Cin) * v(r.H) * v(r.W), v(r.N) * v(r.Cout) * v(r.H) * v(r.W), v(r.Cout) * v(r.Cin) * v(r.Kh) * v(r.Kw),
		v(r.N) * v(r.M) * v(r.K), v(r.N) * v(r.K) * v(r.Cols), v(r.N) * v(r.M) * v(r.Cols), v(r.N) * decoderKeys * decoderWidth,
	} {
		if t > elements {
			return fmt.Sprintf("tensor has %.3g elements; want at most %d", t, uint64(elements))
		}
	}
	if r.Depth > layers {
		return fmt.Sprintf("stack has %d layers; want at most %d", r.Depth, layers)
	}
	return ""
}

// An operation says which dimensions the rows of an operation need, and how to make their chains.
type operation struct {
	needs []string // required dimensions
	make  func(*lowerer, *Chain, *measured.Row) error
}

func (o operation) missingDimension(r *measured.Row) string {
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

// addSteps appends count copies of steps to the chain. It does nothing if count is not positive.
func (c *Chain) addSteps(count int, steps ...Step) {
	switch {
	case count <= 0 || len(steps) == 0:
	case count == 1:
		c.Steps = append(c.Steps, steps...)
	default:
		c.Steps = append(c.Steps, Step{Run: steps, Count: count})
	}
}

// lowerLayer returns the descriptors of layer x, compiled for weights without zeros. Zeros matter
// only for convolutions with a stride, which skip them; the weights of the measured ones had none.
// Equal layers share their tasks, so the caller must not change the tasks.
func (l *lowerer) lowerLayer(x layer.Layer) ([]Step, error) {
	// Rows of chains repeat one layer up to hundreds of times, and compiling it is the expensive part.
	key := fmt.Sprintf("%+v", x)
	if s, ok := l.layers[key]; ok {
		return s, nil
	}
	w := layer.Weights{SizesOnly: true, Table: make([]byte, tableBytes), Reciprocal: make([]byte, tableBytes)}
	out, err := lower.Compile(x, w)
	if err != nil {
		return nil, err
	}
	bars := regs.BARs{regs.BARWeights: constants, regs.BARScratch: scratch}
	input := tensorAddress(0)
	for _, p := range out.Builder.Ports {
		if p.Direction == loader.Output {
			bars[p.BAR] = tensorAddress(1)
			continue
		}
		bars[p.BAR], input = input, operand
	}
	var steps []Step
	for i, d := range out.Builder.Chain {
		var f regs.File
		if err := d.Apply(&f); err != nil {
			return nil, err
		}
		t := &regs.Task{Header: d.Header, WindowTaps: out.Builder.WindowTaps[i].Taps}
		f.Snapshot(&t.Groups)
		if t.Bases, err = regs.Resolve(&t.Header, &t.Groups, &bars); err != nil {
			return nil, err
		}
		steps = append(steps, Step{Task: t, Count: 1})
	}
	l.layers[key] = steps
	return steps, nil
}

const tableBytes = 128
