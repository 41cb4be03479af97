package bench

import (
	"errors"
	"fmt"

	"anesim/bench/host"
	"anesim/bench/measured"
	"anesim/hw"
	"anesim/hw/regs"
	"anesim/loader/lower"
)

// A Step is a descriptor and how often it runs.
type Step struct {
	Task  regs.Task
	Count int
}

// A Chain is a row's descriptors, and what its call gives the host to do.
type Chain struct {
	Steps []Step
	Host  host.Load
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
	narrow(c.Steps, bits)
	var d hw.Descriptor
	timer := hw.NewTimer(hw.M1()) // bytes are the same on every chip
	for i := range c.Steps {
		timer.Time(&d, &c.Steps[i].Task)
		c.Host.Moved += uint64(c.Steps[i].Count) * d.DMA.Total()
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

// add appends steps, each count times as often.
func (c *Chain) add(count int, steps ...Step) {
	for _, s := range steps {
		s.Count *= count
		c.Steps = append(c.Steps, s)
	}
}

// lowered is a layer's descriptors.
func (l *Lowerer) lowered(layer lower.Layer) ([]Step, error) {
	key := fmt.Sprintf("%+v", layer)
	if s, ok := l.layers[key]; ok {
		return s, nil
	}
	w := lower.Weights{Table: make([]byte, tableBytes), Reciprocal: make([]byte, tableBytes)}
	out, err := lower.Compile(layer, w)
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, d := range out.Builder.Chain {
		var f regs.File
		if err := d.Apply(&f); err != nil {
			return nil, err
		}
		s := Step{Task: regs.Task{Header: d.Header}, Count: 1}
		f.Snapshot(&s.Task.Groups)
		steps = append(steps, s)
	}
	l.layers[key] = steps
	return steps, nil
}

const tableBytes = 128
