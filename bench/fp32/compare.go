package fp32

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/x448/float16"

	"anesim"
	"anesim/firmware/engine"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// A Comparison holds the errors of the engine's values of a network with respect to the same network
// in float32. An error is a root mean square over that of the float32 values, rounded to four digits.
type Comparison struct {
	Outputs []Output `json:"outputs"`
	Layers  []Layer  `json:"layers"`
	// Worst holds the indices of the Layers that add most to the error, at most three.
	Worst []int `json:"worst"`
	// Notes lists the layers that could not be compared, and outputs that change if the results of
	// layers are stored.
	Notes []string `json:"notes"`
}

// An Output is a result of the network with its error. Error is nil if a value is missing or NaN, or is
// infinite in only one of the two.
type Output struct {
	Name  string   `json:"name"`
	Error *float64 `json:"error"`
}

// A Layer is a layer whose result the engine stores, with the error of that result. Before is the
// largest error of the tensors that it, or layers before it whose results are not stored, read.
type Layer struct {
	Name       string   `json:"name"`
	Op         string   `json:"op"`
	Activation string   `json:"activation,omitempty"`
	Error      *float64 `json:"error"`
	Before     float64  `json:"error_before"`
	Largest    *float64 `json:"largest_error"` // largest difference over the largest magnitude
}

// Growth returns the error that the layer adds to the errors of its operands. Errors are assumed to be
// independent, so squares are subtracted. It is +Inf if the error is not known.
func (l *Layer) Growth() float64 {
	if l.Error == nil {
		return math.Inf(1)
	}
	return math.Sqrt(max(0, float64(*l.Error**l.Error)-float64(l.Before*l.Before)))
}

// Compare compares the values of plain, a run of a network with values, with float32. It runs the network
// again, with the results of all layers as outputs that the engine does not merge into the next one,
// and computes the layers in float32 from the same inputs. Layers without values on the engine, and
// those that need them, are left out.
//
// Compare returns an error if plain has no values, state or several dispatches, or if the network
// cannot run again.
func Compare(ctx context.Context, plain *anesim.Result) (*Comparison, error) {
	o, net := plain.Options, plain.Model.Network()
	switch {
	case net == nil || !o.Values:
		return nil, errors.New("comparison requires a network that was run with values")
	case o.Repeat > 1 || len(o.State) > 0:
		return nil, errors.New("comparison requires a single dispatch without state")
	}
	if n := countElements(net); n > maxElements {
		return nil, fmt.Errorf("comparison with float32 needs the %d elements of all inputs and results of layers; want at most %d", n, maxElements)
	}
	// The second run has other outputs, so programs in the cache are of no use, and its statistics would
	// be those of another network.
	o.Precision, o.Progress, o.Cache = false, nil, nil
	o.Inputs = findInputs(plain)
	open := *net
	open.Outputs = listStoredTensors(plain)
	read, err := anesim.FromNetwork(&open).Run(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &comparison{net: net, options: &o, engine: map[string][]float16.Float16{}}
	for i := range read.Layers {
		if l := &read.Layers[i]; l.Data != nil {
			c.engine[l.Layer.Output] = l.Data
		}
	}
	// More outputs change which layers are fused and with them the rounding. That is measured, not assumed
	// to be small.
	c.compareRuns(plain, read)
	if err := c.computeLayers(ctx, plain.Layers); err != nil {
		return nil, err
	}
	c.compareOutputs(plain)
	c.findWorst()
	return &c.doc, nil
}

// maxElements is the largest number of elements of a network's inputs and results of layers together that
// are compared. They need up to 2 GB.
const maxElements = 1 << 28

// countElements returns the number of elements of the inputs and of the results of layers of n.
func countElements(n *list.Network) (sum int) {
	for i := range n.Inputs {
		sum += n.Inputs[i].Shape.Elements()
	}
	for i := range n.Layers {
		sum += n.Layers[i].Out.Elements()
	}
	return sum
}

// findInputs returns the values of all inputs of the network of r, including generated ones.
func findInputs(r *anesim.Result) map[string][]float16.Float16 {
	inputs := map[string][]float16.Float16{}
	for k := range r.Programs {
		for _, in := range r.Programs[k].Inputs {
			inputs[in.Port.Name] = in.Data
		}
	}
	found := map[string][]float16.Float16{}
	for _, in := range r.Model.Network().Inputs {
		n := in.Shape.Elements()
		switch given, ok := r.Options.Inputs[in.Name]; {
		case ok:
			found[in.Name] = given
		case inputs[in.Name] != nil:
			found[in.Name] = inputs[in.Name]
		case in.Type != "" && in.Type[0] != 'f': // only layers of the host read it
			found[in.Name] = slices.Repeat([]float16.Float16{float16.Fromfloat32(1)}, n)
		default:
			found[in.Name] = engine.PseudoRandom(in.Name, n, r.Options.Seed)
		}
	}
	return found
}

// listStoredTensors returns the outputs of the network of r, and the results of its layers that are not
// merged into a following layer.
func listStoredTensors(r *anesim.Result) []string {
	names := slices.Clone(r.Model.Network().Outputs)
	for k := range r.Programs {
		p := &r.Programs[k]
		for i := range p.Runs {
			merged := i+1 < len(p.Runs) && p.Runs[i+1].Tasks == 0
			l := r.Layers[p.First+i].Layer
			if !merged && !slices.Contains(names, l.Output) {
				names = append(names, l.Output)
			}
		}
	}
	return names
}

// A comparison is a Comparison that is being made.
type comparison struct {
	net     *list.Network
	options *anesim.Options
	engine  map[string][]float16.Float16 // values of the engine, by tensor
	single  map[string][]float32         // values in float32, by tensor
	errors  map[string]float64           // of tensors, or the largest of those that they depend on
	doc     Comparison
}

func (c *comparison) addNote(format string, args ...any) {
	c.doc.Notes = append(c.doc.Notes, fmt.Sprintf(format, args...))
}

// compareRuns notes whether the outputs of the network differ between two runs of the engine, of which
// the second stores the results of layers.
func (c *comparison) compareRuns(plain, read *anesim.Result) {
	c.doc.Notes = []string{}
	got := map[string]string{}
	for _, out := range read.Outputs {
		got[out.Port.Name] = engine.Checksum(out.Data)
	}
	for _, out := range plain.Outputs {
		if sum, ok := got[out.Port.Name]; ok && sum != engine.Checksum(out.Data) {
			c.addNote("storing the results of layers changes output %s; its error is that of the run without", out.Port.Name)
		}
	}
}

// computeLayers computes the layers in float32 and adds the ones that the engine stores to the document. It
// leaves out layers that have no values in run, which may be nil, and those that need them.
func (c *comparison) computeLayers(ctx context.Context, run []anesim.LayerResult) error {
	c.single, c.errors = map[string][]float32{}, map[string]float64{}
	for name, data := range c.net.Constants {
		c.single[name] = widen(data)
	}
	for name, data := range c.options.Inputs {
		c.single[name] = widen(data)
		// Inputs given in more precision than fp16 start with the error of rounding them, as the engine
		// reads them rounded.
		if v := c.options.Numbers[name]; len(v) == len(data) {
			for i, x := range v {
				c.single[name][i] = float32(x)
			}
			c.errors[name], _ = measureDifference(data, c.single[name])
		}
	}
	last, left := c.findLastReaders(), 0
	for i := range c.net.Layers {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := &c.net.Layers[i]
		// The largest error of the operands, not their sum: usually one operand dominates, and errors of
		// several may cancel.
		before := 0.0
		for _, name := range l.Inputs {
			before = max(before, c.errors[name])
		}
		var err error
		if run != nil && l.Host == nil && (run[i].Report == nil || run[i].Note != "") {
			err = errors.New("no values on the engine")
		} else {
			err = c.computeLayer(l)
		}
		switch data := c.engine[l.Output]; {
		case errors.As(err, new(*operandError)):
			// Only the first layer of a chain has a note of its own; the others follow from it.
			left++
		case err != nil:
			c.addNote("layer %s: %v", l.Name, err)
		case data != nil:
			c.addLayer(l, data, before)
		default:
			c.errors[l.Output] = before
		}
		// Tensors are dropped after their last reader, so that memory does not grow with the depth.
		for _, name := range l.Inputs {
			if last[name] == i {
				delete(c.single, name)
			}
		}
	}
	if left > 0 {
		c.addNote("%d more layers are not compared, because they need such a layer", left)
	}
	return nil
}

// An operandError reports an operand that is not known in float32, because of another layer.
type operandError struct{ name string }

func (e *operandError) Error() string {
	return fmt.Sprintf("operand %q is not known in float32", e.name)
}

// findLastReaders returns the index of the last layer that reads each tensor, or the number of layers for
// results of the network.
func (c *comparison) findLastReaders() map[string]int {
	last := map[string]int{}
	for i := range c.net.Layers {
		for _, name := range c.net.Layers[i].Inputs {
			last[name] = i
		}
	}
	for _, out := range c.net.AllResults() {
		last[out.Tensor] = len(c.net.Layers)
	}
	return last
}

// computeLayer computes a layer in float32, on the engine or on the host.
func (c *comparison) computeLayer(l *list.Layer) error {
	var in [][]float32
	for _, name := range l.Inputs {
		v := c.single[name]
		if v == nil {
			return &operandError{name}
		}
		in = append(in, v)
	}
	if l.Host != nil {
		return c.computeStage(l, in)
	}
	if l.Reason != "" {
		return fmt.Errorf("not modelled")
	}
	// The same seed as in the fp16 run gives the same made-up weights, so that only the rounding differs.
	w, err := weights.Complete(l, c.options.Seed)
	if err != nil {
		return err
	}
	out, err := (&call{Layer: &l.Lower, weights: &w, in: in, workers: cmp.Or(c.options.Workers, runtime.GOMAXPROCS(0))}).compute()
	if err != nil {
		return err
	}
	if l.Rounds { // the layer adds a large number so that fp16 keeps whole numbers only
		for i, v := range out {
			out[i] = float16.Fromfloat32(v).Float32()
		}
	}
	c.single[l.Output] = out
	return nil
}

// computeStage computes a layer of the host from float32 operands.
func (c *comparison) computeStage(l *list.Layer, in [][]float32) error {
	var arrays []list.Array
	for k, x := range in {
		v := make([]float64, len(x))
		for i, f := range x {
			v[i] = float64(f)
		}
		arrays = append(arrays, list.Array{Dims: l.Host.Inputs[k], Numbers: v})
	}
	out, err := l.Host.Run(arrays)
	if err != nil {
		return err
	}
	for k, t := range l.Host.Outputs {
		full, err := out[k].Filled(t.Dims)
		if err != nil {
			return err
		}
		v := make([]float32, len(full.Numbers))
		for i, f := range full.Numbers {
			v[i] = float32(f)
		}
		c.single[t.Name] = v
	}
	return nil
}

// addLayer adds a layer whose result has the values data on the engine.
func (c *comparison) addLayer(l *list.Layer, data []float16.Float16, before float64) {
	want := c.single[l.Output]
	c.errors[l.Output] = before
	d := Layer{Name: l.Name, Op: l.Op, Before: roundFigure(before)}
	if a := l.Lower.Activation; a != 0 {
		d.Activation = a.String()
	}
	if len(data) == len(want) {
		rms, largest := measureDifference(data, want)
		d.Error, d.Largest = finiteFigure(rms), finiteFigure(largest)
		if d.Error != nil {
			c.errors[l.Output] = rms
		}
	}
	c.doc.Layers = append(c.doc.Layers, d)
}

// measureDifference returns the root mean square of the differences over that of want, and the largest
// difference over the largest magnitude of want. Both are 0 if there is no difference. Equal infinities do
// not differ, and have no part in the magnitudes, which they would make infinite.
func measureDifference(got []float16.Float16, want []float32) (rms, largest float64) {
	var errors, squares, most, magnitude float64
	for i, h := range got {
		v, w := float64(h.Float32()), float64(want[i])
		if v == w && math.IsInf(v, 0) {
			continue
		}
		d := math.Abs(v - w)
		errors, squares = errors+float64(d*d), squares+float64(w*w)
		most, magnitude = max(most, d), max(magnitude, math.Abs(w))
	}
	if errors == 0 {
		return 0, 0
	}
	return math.Sqrt(errors / squares), most / magnitude
}

// finiteFigure returns the address of v in four digits, or nil if v is not a number of JSON.
func finiteFigure(v float64) *float64 {
	if math.IsInf(v, 0) || v != v {
		return nil
	}
	v = roundFigure(v)
	return &v
}

// roundFigure rounds v to four digits. Functions of package math, and so float32 values, may differ in
// the last place between machines.
func roundFigure(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 3, 64), 64)
	return v
}

// compareOutputs adds the outputs of the network. Integers have no error in float32, so they are left out.
func (c *comparison) compareOutputs(plain *anesim.Result) {
	c.doc.Outputs = []Output{}
	for _, out := range c.net.AllResults() {
		at := slices.IndexFunc(plain.Outputs, func(o anesim.Output) bool { return o.Port.Name == out.Name })
		if at < 0 || out.Type != "" && !strings.HasPrefix(out.Type, "float") {
			continue
		}
		d, data := Output{Name: out.Name}, plain.Outputs[at].Data
		if want := c.widenOutput(&out); len(want) == len(data) {
			rms, _ := measureDifference(data, want)
			d.Error = finiteFigure(rms)
		}
		c.doc.Outputs = append(c.doc.Outputs, d)
	}
}

// widenOutput returns the values of an output in float32, or nil if they are not known.
func (c *comparison) widenOutput(out *list.Output) []float32 {
	values := c.single[out.Tensor]
	if out.Unit > 1 {
		values = slices.Clone(values)
		for i := range values {
			values[i] *= float32(out.Unit)
		}
	}
	return values
}

// findWorst fills in Worst.
func (c *comparison) findWorst() {
	order := []int{}
	for i := range c.doc.Layers {
		if c.doc.Layers[i].Growth() > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(c.doc.Layers[b].Growth(), c.doc.Layers[a].Growth())
	})
	c.doc.Worst = slices.Clip(order[:min(3, len(order))])
	if c.doc.Layers == nil {
		c.doc.Layers = []Layer{}
	}
}
