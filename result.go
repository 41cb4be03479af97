package anesim

import (
	"anesim/loader/lower/join"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/x448/float16"

	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/tiles"
	"anesim/loader"
	"anesim/loader/cache"
	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

// An Output is a tensor that went in or came out: a port and its values. One of a network
// has the rank and the elements' type that the network's file says.
type Output struct {
	Port *loader.Port
	Data []float16.Float16 // N, C, H, W order
	Dims []int             // of a network's file; nil where it has the port's shape
	Type string            // of the file's elements, as numpy spells it; "" for float16
	// Numbers are the values where Type is one of whole numbers or bool: those of Data, or the
	// exact ones of a constant and of what the host worked out, which Data has rounded.
	Numbers []float64
}

// Shape is the tensor's extents.
func (o *Output) Shape() []int {
	if o.Dims != nil {
		return o.Dims
	}
	return o.Port.Shape[:]
}

// outputs returns tensors of ports, which have the port's shape and elements of fp16.
func outputs(tensors []engine.Tensor) []Output {
	var list []Output
	for _, t := range tensors {
		list = append(list, Output{Port: t.Port, Data: t.Data})
	}
	return list
}

// A Result is what a run did.
type Result struct {
	Model   *Model
	Options Options // as the run took them, with the defaults filled in

	// Report is the engine's account: every descriptor in the order they ran, with cycles
	// by cause, bytes and energy, their sums, and the device's faults. Of a network it
	// leaves out the layers that a fault cut short.
	Report *hw.Report
	// Layers are those of a network or the one of a layer, whether they are modelled or
	// not. A compiled program does not say what its layers are.
	Layers []LayerResult
	// Programs are those that were dispatched, in order.
	Programs []ProgramResult

	Inputs  []Output // of a program or layer, as they were given or made
	Outputs []Output // none unless every value they rest on was computed
	// Synthetic names the inputs that nobody gave: they are pseudo-random from the seed.
	Synthetic []string
	// Cache is the entry of Options.Cache that the programs are from or went to, nil
	// without a cache.
	Cache *cache.Entry
}

// A ProgramResult is what the dispatches of one program did.
type ProgramResult struct {
	engine.Result
	First int        // its first layer, of a network
	Runs  []join.Run // descriptors of each layer, from First on; none of a compiled program
	Why   string     // what ended the program before it, where that was not a layer that is not modelled
	// L2 is the bytes of the L2 that each descriptor of a network's program has tensors and
	// tiles in, and Spilled the tensors between layers that go through memory.
	L2      []int
	Spilled []join.Spill

	Err error // why it could not be dispatched; Result is zero then, but for Program

	owner   []int // of each descriptor, the index in Runs of the layer it is of; -1 for none
	covered []int // bytes of the L2 that each descriptor of the first dispatch covers
}

// A LayerResult is what a layer's descriptors did.
type LayerResult struct {
	Layer   *list.Layer
	Program int        // the one it is in, from 1; 0 for none
	Reason  string     // why it is not modelled, "" where it is
	Report  *hw.Report // of its descriptors in every dispatch, without the dispatch's own energy; nil where it is not modelled
	Fault   *hw.Fault
	Data    []float16.Float16 // its result, where that leaves its program with values
	Note    string            // why its values were not computed, where they were asked for
	Caveat  string            // what its values rest on that is not known of real programs
	Host    clock.Nanoseconds // what each dispatch has the host do of it, where the engine does nothing; see [list.Stage]
}

// Weights names the forms that a convolution's or a product's constant weights have in its
// descriptors: "fp16", "zero-skipping", "masked", "palette-4", "palette-8" or "int8", several
// with + between them. It is "" of a layer without any.
func (l *LayerResult) Weights() string {
	if l.Report == nil || list.Needs(&l.Layer.Lower).Filter == 0 {
		return ""
	}
	var forms []string
	for i := range l.Report.Descriptors {
		d := &l.Report.Descriptors[i]
		if d.MACs == 0 || d.DMA.Kernel == 0 {
			continue
		}
		form := d.Packing.String()
		switch d.Packing {
		case tiles.Dense:
			form = "fp16"
		case tiles.Palette:
			form += "-" + strconv.Itoa(d.PaletteBits)
		}
		if !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return strings.Join(forms, "+")
}

// Modelled reports whether the layer is in the totals: those of the engine, or of the host.
func (l *LayerResult) Modelled() bool { return l.Report != nil || l.Host > 0 }

// end makes the result of what the programs did.
func (r *execution) end() *Result {
	res := &Result{Model: r.model, Options: r.options, Programs: r.programs, Synthetic: r.synthetic, Cache: r.lowered.entry}
	if r.model.kind == KindProgram {
		p := &r.programs[0]
		res.Report, res.Inputs, res.Outputs = p.Report, outputs(p.Inputs), outputs(p.Outputs)
		return res
	}
	n := r.model.net
	for i := range n.Layers {
		res.Layers = append(res.Layers, LayerResult{Layer: &n.Layers[i], Reason: r.lowered.reasons[i]})
	}
	for k := range res.Programs {
		res.layers(k)
	}
	if r.model.kind == KindLayer {
		p := &r.programs[0]
		res.Report, res.Inputs, res.Outputs = p.Report, outputs(p.Inputs), outputs(p.Outputs)
		return res
	}
	res.hostStages()
	res.report()
	r.results(res)
	return res
}

// results gives a network's result its outputs: those that rest on nothing that was made up
// in the place of what no program computes. Layers that do have no values to show.
func (r *execution) results(res *Result) {
	if !r.options.Values {
		return
	}
	n := r.model.net
	madeUp := map[string]bool{}
	for _, name := range r.synthetic {
		madeUp[name] = true
	}
	made := map[string]layer.Shape{}
	for _, in := range n.Inputs {
		madeUp[in.Name], made[in.Name] = false, in.Shape
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		lost := !res.Layers[i].Modelled() || r.failed[i] != ""
		if r.failed[i] != "" {
			res.Layers[i].Note = "the host: " + r.failed[i]
		}
		for _, in := range l.Inputs {
			lost = lost || madeUp[in]
		}
		made[l.Output] = l.Out
		if lost {
			for _, out := range l.Others {
				madeUp[out] = true
			}
			madeUp[l.Output] = true
			res.Layers[i].Data = nil
		}
	}
	tensors := maps.Clone(r.tensors)
	if tensors == nil {
		tensors = map[string][]float16.Float16{}
	}
	for k := range res.Programs {
		for _, out := range res.Programs[k].Outputs {
			tensors[out.Port.Name] = out.Data
		}
	}
	for _, out := range n.Given() {
		data := tensors[out.Tensor]
		if madeUp[out.Tensor] || data == nil {
			continue
		}
		port := &loader.Port{Name: out.Name, Direction: loader.Output, Shape: [4]int{1, 1, 1, len(data)}}
		if s, ok := made[out.Tensor]; ok {
			port.Shape = [4]int{s.N, s.C, s.H, s.W}
		}
		if strings.HasPrefix(out.Type, "float") && out.Unit > 1 {
			data = multiplied(data, out.Unit)
		}
		o := Output{Port: port, Data: data, Dims: out.Dims, Type: out.Type}
		if err := r.sized(&o, &out); err != nil {
			continue
		}
		res.Outputs = append(res.Outputs, o)
	}
}

// sized gives an output the shape and the values of the run, if its size depends on values, and
// whole numbers, if it has such.
func (r *execution) sized(o *Output, out *list.Output) error {
	dims, err := r.shape(out.Tensor, out.Dims)
	if err == nil && !slices.Equal(dims, out.Dims) {
		err = r.resize(o, out, dims)
	}
	if !strings.HasPrefix(out.Type, "float") && out.Type != "" && err == nil {
		o.Numbers = r.wholeNumbers(out, o.Data)
	}
	return err
}

// resize gives an output a shape that is not the largest.
func (r *execution) resize(o *Output, out *list.Output, dims []int) (err error) {
	if v, ok := r.numbers[out.Tensor]; ok {
		o.Data = rounded(v)
	} else {
		x := list.Array{Dims: out.Dims}
		for _, h := range o.Data {
			x.Numbers = append(x.Numbers, float64(h.Float32()))
		}
		if x, err = x.Cut(dims); err != nil {
			return err
		}
		o.Data = rounded(x.Numbers)
	}
	o.Dims, o.Port.Shape = dims, [4]int{1, 1, 1, len(o.Data)}
	return nil
}

// multiplied returns the values times a factor.
func multiplied(data []float16.Float16, by float64) []float16.Float16 {
	out := make([]float16.Float16, len(data))
	for i, h := range data {
		out[i] = float16.Fromfloat32(h.Float32() * float32(by))
	}
	return out
}

// wholeNumbers are the values of an output of whole numbers whose fp16 values are data.
func (r *execution) wholeNumbers(out *list.Output, data []float16.Float16) []float64 {
	if out.Numbers != nil {
		return out.Numbers
	}
	v, ok := r.numbers[out.Tensor]
	if ok && out.Unit <= 1 {
		return v
	}
	numbers := make([]float64, len(data))
	for i, h := range data {
		numbers[i] = float64(h.Float32())
		if ok {
			numbers[i] = v[i]
		}
		numbers[i] *= max(1, out.Unit)
	}
	return numbers
}

// layers gives the layers of the k-th program what their descriptors did.
func (r *Result) layers(k int) {
	p := &r.Programs[k]
	for i, run := range p.Runs {
		if more := run.First + run.Tasks - len(p.owner); more > 0 {
			p.owner = append(p.owner, slices.Repeat([]int{-1}, more)...)
		}
		for at := range run.Tasks {
			p.owner[run.First+at] = i
		}
	}
	for i := range p.Runs {
		l := &r.Layers[p.First+i]
		l.Program = k + 1
		if p.Err != nil {
			l.Reason = p.Err.Error()
			continue
		}
		l.record(p, p.Runs[i])
		if p.Runs[i].Tasks == 0 && i > 0 { // the descriptors of the layer before do it too
			if before := &r.Layers[p.First+i-1]; !before.Modelled() {
				l.Report, l.Reason = nil, "behind a device fault"
			}
		}
		if len(p.Outputs) == 0 {
			continue
		}
		for _, out := range p.Outputs {
			if out.Port.Name == l.Layer.Output {
				l.Data = out.Data
			}
		}
	}
}

// record takes in what the layer's descriptors did in every dispatch of its program.
func (l *LayerResult) record(p *ProgramResult, run join.Run) {
	all, r := p.Report, new(hw.Report)
	for at := run.First; at+run.Tasks <= len(all.Descriptors); at += p.Program.TaskCount {
		for i := range all.Descriptors[at:][:run.Tasks] {
			d := &all.Descriptors[at+i]
			include(r, d)
			if l.Note == "" {
				l.Note = d.Note()
			}
			if l.Caveat == "" {
				l.Caveat = d.Caveat()
			}
		}
	}
	r.Repeat(all.Again, run.Tasks)
	if len(all.Faults) == 0 {
		l.Report = r
		return
	}
	fault := &all.Faults[0]
	switch at := fault.Descriptor; {
	case at >= run.First+run.Tasks:
		l.Report = r
	case at >= run.First:
		l.Fault = fault
		l.Reason = "device fault: " + fault.String()
	default:
		l.Reason = "behind a device fault"
	}
}

// include lists a descriptor in a report, and adds it up.
func include(r *hw.Report, d *hw.DescriptorReport) {
	r.Descriptors = append(r.Descriptors, *d)
	r.Add(d)
}

// report adds a network up, in the order in which its descriptors ran.
func (r *Result) report() {
	r.Report = new(hw.Report)
	for d, p := range r.Dispatches() {
		counted := r.Counted(p, d)
		for i := range counted.Descriptors {
			include(r.Report, &counted.Descriptors[i])
		}
	}
	last := 0
	for d, p := range r.lastRound() {
		last += len(r.Counted(p, d).Descriptors)
	}
	r.Report.Repeat(r.again(), last)
	var dispatches clock.Nanojoules
	for i := range r.Programs {
		if rep := r.Programs[i].Report; rep != nil {
			dispatches += rep.Dispatch
			r.Report.Faults = append(r.Report.Faults, rep.Faults...)
		}
	}
	r.Report.AddDispatches(dispatches)
}

// Dispatches yields every dispatch with its program: all programs in order, then all of
// them again where they are repeated.
func (r *Result) Dispatches() func(func(*Dispatch, *ProgramResult) bool) {
	return func(yield func(*Dispatch, *ProgramResult) bool) {
		rounds := 0
		for k := range r.Programs {
			rounds = max(rounds, len(r.Programs[k].Dispatches))
		}
		for n := range rounds {
			for k := range r.Programs {
				p := &r.Programs[k]
				if n < len(p.Dispatches) && !yield(&p.Dispatches[n], p) {
					return
				}
			}
		}
	}
}

// again is how many rounds of dispatches followed those that are listed.
func (r *Result) again() (n int) {
	for i := range r.Programs {
		n = max(n, r.Programs[i].Again)
	}
	return n
}

// lastRound yields the dispatches that each of those rounds is like.
func (r *Result) lastRound() func(func(*Dispatch, *ProgramResult) bool) {
	return func(yield func(*Dispatch, *ProgramResult) bool) {
		for k := range r.Programs {
			p := &r.Programs[k]
			if p.Again > 0 && !yield(&p.Dispatches[len(p.Dispatches)-1], p) {
				return
			}
		}
	}
}

// LayerOf returns the layer that descriptor d of program p belongs to, or nil if it belongs to
// none.
func (r *Result) LayerOf(p *ProgramResult, d *hw.DescriptorReport) *LayerResult {
	if d.Index >= len(p.owner) || p.owner[d.Index] < 0 {
		return nil
	}
	return &r.Layers[p.First+p.owner[d.Index]]
}

// Counted returns dispatch d of program p with only the descriptors that are in the totals: those
// of a network's layer that a fault cut short are left out.
func (r *Result) Counted(p *ProgramResult, d *Dispatch) Dispatch {
	if r.Model.kind != KindNetwork {
		return *d
	}
	all := *d
	all.Descriptors = nil
	for i := range d.Descriptors {
		if l := r.LayerOf(p, &d.Descriptors[i]); l != nil && l.Report != nil {
			all.Descriptors = append(all.Descriptors, d.Descriptors[i])
		}
	}
	return all
}

// Timeline lays the run out on the wall clock.
func (r *Result) Timeline() *Timeline {
	l := &Timeline{Waiting: r.Waiting()}
	for d, p := range r.Dispatches() {
		if r.Model.kind == KindNetwork {
			l.Label = func(d *hw.DescriptorReport) string {
				return fmt.Sprintf("%s: descriptor %d: %v", r.LayerOf(p, d).Layer.Name, d.Index, d.Op)
			}
		}
		c := r.Counted(p, d)
		l.Add(&c, p.Host)
	}
	if len(r.Programs) == 0 { // the host alone
		l.part(&l.Host, r.Stages(), 0, 0, SpanHost)
	}
	if n := r.again(); n > 0 {
		round := &Timeline{Waiting: l.Waiting}
		for d, p := range r.lastRound() {
			c := r.Counted(p, d)
			round.Add(&c, p.Host)
		}
		l.repeat(round, n)
	}
	return l
}

// Waiting returns the function that computes the energy of waits; see [engine.Options.Waiting].
func (r *Result) Waiting() func(engines int, t clock.Nanoseconds) clock.Nanojoules {
	o := r.Options.engine()
	return o.Waiting()
}

// Host is what the host adds to the engine's time.
func (r *Result) Host() (t clock.Nanoseconds) {
	for i := range r.Programs {
		p := &r.Programs[i]
		t += p.Host * clock.Nanoseconds(len(p.Dispatches)+p.Again)
	}
	if len(r.Programs) == 0 {
		t = r.Stages()
	}
	return t
}

// Time returns the engine's time and its interval.
func (r *Result) Time() (clock.Nanoseconds, hw.Interval) {
	return r.Report.Time, r.Report.Bounds()
}

// Wall is the time on the wall clock: the engine's, the host's, idling and waking.
func (r *Result) Wall() clock.Nanoseconds {
	l := r.Timeline()
	return r.Report.Time + r.Host() + l.Idle.Time + l.Wake.Time
}

// Causes are the engine's cycles by what they were spent on.
func (r *Result) Causes() hw.Accounting { return r.Report.Accounting() }

// Missing are the layers that are in no total.
func (r *Result) Missing() (list []*LayerResult) {
	for i := range r.Layers {
		if !r.Layers[i].Modelled() {
			list = append(list, &r.Layers[i])
		}
	}
	return list
}

// Coverage is how much of a network is in the totals: nothing of a layer that could not be
// lowered, of a program that could not be dispatched, and of what a fault cut short.
func (r *Result) Coverage() partition.Coverage {
	reasons := make([]string, len(r.Layers))
	for i := range r.Layers {
		if l := &r.Layers[i]; !l.Modelled() {
			reasons[i] = cmp.Or(l.Reason, "it has no report")
		}
	}
	return partition.CoverageOf(r.Model.net, reasons)
}

// Residency is what the totals of a network rest on between its layers.
func (r *Result) Residency() evidence.Limit {
	if n := r.Model.net; n != nil && n.InMemory {
		return evidence.Limit{Kind: evidence.NotModelled, What: "tensors between layers go to memory and back: what a compiler keeps in the L2 is left out"}
	}
	return evidence.Limit{
		Kind: evidence.RestsOnInference,
		What: "which tensors stay in the L2 between layers follows chains of matrix products: that convolutions do the same is inferred",
	}
}

// Limits are what the model does not know or do and the run met, those that leave values
// or time out before those that qualify them, each with all the places it was met at.
func (r *Result) Limits() []evidence.Limit {
	var g limitGroups
	if r.Model.kind == KindNetwork {
		rests := r.Residency()
		g.add(rests.Kind, rests.What, "")
		for _, l := range r.Missing() {
			g.add(evidence.NotModelled, l.Reason, "layer "+l.Layer.Name)
		}
	}
	for i := range r.Layers {
		l := &r.Layers[i]
		if what := l.Layer.Lower.Rests(); what != "" && l.Modelled() {
			g.add(evidence.RestsOnInference, what, "layer "+l.Layer.Name)
		}
	}
	for k := range r.Programs {
		p := &r.Programs[k]
		if p.Report == nil {
			continue
		}
		for _, l := range p.Limits {
			g.add(l.Kind, l.What, l.Where)
		}
		for i := range p.Report.Descriptors {
			d := &p.Report.Descriptors[i]
			where := "descriptor " + strconv.Itoa(d.Index)
			if r.Model.kind == KindNetwork {
				if l := r.LayerOf(p, d); l != nil {
					where = "layer " + l.Layer.Name
				}
			}
			for _, l := range d.Limits {
				g.add(l.Kind, l.What, where)
			}
		}
	}
	return g.list()
}

// limitGroups are limits by kind and words.
type limitGroups struct {
	limits []evidence.Limit
	where  [][]string
}

func (g *limitGroups) add(kind evidence.LimitKind, what, where string) {
	i := slices.IndexFunc(g.limits, func(l evidence.Limit) bool { return l.Kind == kind && l.What == what })
	if i < 0 {
		i = len(g.limits)
		g.limits, g.where = append(g.limits, evidence.Limit{Kind: kind, What: what}), append(g.where, nil)
	}
	if where != "" && !slices.Contains(g.where[i], where) {
		g.where[i] = append(g.where[i], where)
	}
}

func (g *limitGroups) list() []evidence.Limit {
	for i := range g.limits {
		g.limits[i].Where = strings.Join(g.where[i], ", ")
	}
	slices.SortStableFunc(g.limits, func(a, b evidence.Limit) int {
		switch {
		case a.Blocks() == b.Blocks():
			return 0
		case a.Blocks():
			return -1
		}
		return 1
	})
	return g.limits
}

// Summary is the first elements of the tensor and its range, on one line.
func (o *Output) Summary() string {
	const shown = 4
	if len(o.Data) == 0 {
		return "no elements"
	}
	lo, hi := bounds(o.Data)
	if o.Numbers != nil {
		lo, hi = slices.Min(o.Numbers), slices.Max(o.Numbers)
	}
	var b strings.Builder
	b.WriteByte('[')
	for i, h := range o.Data[:min(shown, len(o.Data))] {
		if i > 0 {
			b.WriteByte(' ')
		}
		if o.Numbers != nil {
			fmt.Fprintf(&b, "%.15g", o.Numbers[i])
		} else {
			fmt.Fprintf(&b, "%g", h.Float32())
		}
	}
	if len(o.Data) > shown {
		b.WriteString(" ...")
	}
	fmt.Fprintf(&b, "] in [%g, %g]", lo, hi)
	return b.String()
}

// bounds are the smallest and the largest of halves, NaN where one is.
func bounds(data []float16.Float16) (lo, hi float64) {
	// The bits of a half, those below zero turned over, are in the order of its values.
	order := func(b uint16) int16 { return int16(b ^ uint16(int16(b)>>15)>>1) }
	least, most := int16(math.MaxInt16), int16(math.MinInt16)
	for _, h := range data {
		k := order(h.Bits())
		least, most = min(least, k), max(most, k)
	}
	value := func(k int16) float16.Float16 { return float16.Frombits(uint16(order(uint16(k)))) }
	if value(least).IsNaN() || value(most).IsNaN() {
		return math.NaN(), math.NaN()
	}
	return float64(value(least).Float32()), float64(value(most).Float32())
}
