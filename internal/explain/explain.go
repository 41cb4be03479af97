package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/report"
	"anesim/loader/layer"
)

// DefaultTop is the default of Options.Top.
const DefaultTop = 5

// Options limits the changes that [Explain] tries. File and Flags are for the command lines in the
// result.
type Options struct {
	File  string   // name of the model in commands; empty for a layer
	Flags []string // flags that select the same options in commands, such as "--chip", "m1max"
	Top   int      // number of a network's most expensive layers to try changes on; 0 means DefaultTop
	// Work limits the number of descriptors that are timed to try changes; 0 means 2^18.
	// Changes beyond that are not tried. The limit is not a time, so the same model gives
	// the same advice on any machine.
	Work int
}

// An Explanation is the JSON report that [Explain] returns: the bottlenecks of a model, and the
// changes that make it faster.
type Explanation struct {
	report.Header
	Model string      `json:"model"`
	Kind  string      `json:"kind"` // program, layer or network
	Chip  string      `json:"chip"`
	Now   report.Cost `json:"now"`
	// CallNs is the wall time of a call, which includes the host's part, or 0 without a host.
	CallNs     clock.Nanoseconds `json:"call_ns,omitempty"`
	CallLowNs  clock.Nanoseconds `json:"call_ns_low,omitempty"` // interval of CallNs
	CallHighNs clock.Nanoseconds `json:"call_ns_high,omitempty"`
	// DispatchNJ is the energy of the model's dispatches, which Now.EnergyNJ excludes.
	DispatchNJ clock.Nanojoules `json:"dispatch_energy_nj"`
	// NotModelled lists layers of a network that have no cost. They are in no part and no total.
	NotModelled []report.Missing `json:"not_modelled,omitempty"`
	Parts       []Part           `json:"parts"`  // sorted by cycles, most first
	Trials      []Change         `json:"trials"` // changes that make the model faster, sorted by gain
	Tried       Tried            `json:"tried"`
	// Useless lists the changes that were tried and do not help, in words and in order, those of a layer
	// together: a reader may have one of them in mind.
	Useless []string `json:"-"`
	// Machines lists other machines that the whole model was timed on, sorted by gain. It
	// shows limits that no change to the model removes.
	Machines []Change `json:"machines"`
}

// A Part holds the costs of a layer of a network, or of a descriptor of a program. Bound is its
// bottleneck: the cause with the most cycles.
type Part struct {
	Name  string  `json:"name"`
	Op    string  `json:"op"`
	Line  int     `json:"line,omitempty"` // line of the file, if it has lines
	Alike int     `json:"alike"`          // number of identical layers, including this one
	Share float64 `json:"share"`          // fraction of all cycles

	TimeNs      clock.Nanoseconds `json:"time_ns"` // what it adds to the time of the model
	Cycles      report.Cycles     `json:"cycles"`
	Bound       string            `json:"bound"`
	BoundCycles uint64            `json:"bound_cycles"` // cycles due to Bound
	// WorkingCycles counts the cycles from the first work of the part to its last. It
	// exceeds the part's own cycles if it overlaps with others.
	WorkingCycles uint64 `json:"working_cycles"`
	// ArrayCycles is the minimum number of cycles for the multiply-accumulates on the whole
	// array, and MemoryCycles the minimum for the bytes of memory.
	ArrayCycles  uint64 `json:"array_floor_cycles"`
	MemoryCycles uint64 `json:"memory_floor_cycles"`
	// Rests describes the assumptions behind the part's descriptors. It is "" if a program of
	// Apple's compiler shows descriptors of this kind.
	Rests string `json:"rests,omitempty"`
	// Unmeasured is true if no measured row covers the work that takes most of the part's
	// time.
	Unmeasured bool `json:"unmeasured,omitempty"`

	Work string `json:"-"` // equal for layers that do the same work; "" if the part is like no other

	order int // of the layer in the network
}

// Kinds returns the parts of the model. It merges parts that do the same work and have the same
// bottleneck. A merged part has the name of its first layer and the sums of the costs; Alike is the
// number of merged layers. The parts with the most cycles come first.
func (d *Explanation) Kinds() []Part {
	type key struct{ work, bound string }
	at := map[key]int{}
	var list []Part
	for i := range d.Parts {
		x := d.Parts[i]
		k, ok := at[key{x.Work, x.Bound}]
		if !ok || x.Work == "" {
			x.Alike = 1
			at[key{x.Work, x.Bound}], list = len(list), append(list, x)
			continue
		}
		y := &list[k]
		// The name is that of the model's own summary, which can be searched in the network.
		if x.order < y.order {
			y.Name, y.Line, y.order = x.Name, x.Line, x.order
		}
		y.Alike++
		y.Share += x.Share
		y.TimeNs += x.TimeNs
		y.Cycles.Total += x.Cycles.Total
		y.Cycles.Accounting.Add(&x.Cycles.Accounting)
		y.BoundCycles += x.BoundCycles
		y.WorkingCycles += x.WorkingCycles
		y.ArrayCycles += x.ArrayCycles
		y.MemoryCycles += x.MemoryCycles
	}
	slices.SortStableFunc(list, func(a, b Part) int { return cmp.Compare(b.Cycles.Total, a.Cycles.Total) })
	return list
}

// LeastGain is the smallest fraction of the time that a change must save to be reported as faster.
// Smaller gains would be shown as 0.0%.
const LeastGain = 0.0005

// A Change is a change to the model or the chip that [Explain] tried, with the costs before and
// after it.
type Change struct {
	Part    string      `json:"part,omitempty"` // changed layer, "" for the whole model
	Alike   int         `json:"alike"`          // number of layers that it applies to
	Kind    string      `json:"kind"`           // rewrite, register, residency, sparsity, gating or chip
	Change  string      `json:"change"`
	Needs   string      `json:"needs"`
	Results string      `json:"results"` // effect on the computed values
	Before  report.Cost `json:"before"`
	After   report.Cost `json:"after"`
	Gain    float64     `json:"gain"`     // saved fraction of the time before
	SavedNs float64     `json:"saved_ns"` // total saving for all identical layers
	// SavedNJ is the energy that the change saves in all identical layers, and EnergyGain its
	// fraction of the energy of the whole model, dispatches included.
	SavedNJ    clock.Nanojoules `json:"saved_nj"`
	EnergyGain float64          `json:"energy_gain"`
	// Alone is set if Before and After are the costs of the layer alone, with its tensors in
	// memory. Its time within the network is NetworkNs.
	Alone     bool              `json:"alone,omitempty"`
	NetworkNs clock.Nanoseconds `json:"network_ns,omitempty"`
	// CommandBefore and Command run the model before and after the change. For a layer of a
	// network they run only the layer. Command is empty if it would need weights that are
	// not available.
	CommandBefore string `json:"command_before"`
	Command       string `json:"command"`
}

// A Tried counts the changes that [Explain] tried, by outcome.
type Tried struct {
	All          int `json:"all"`
	Faster       int `json:"faster"` // faster, or equally fast with less energy
	NotFaster    int `json:"not_faster"`
	OtherResults int `json:"other_results"` // computed other values than before
	Failed       int `json:"failed"`        // could not be compiled or run
	// Left counts the changes and machines that were not tried because of the limit
	// [Options].Work. They are in none of the other counts.
	Left int `json:"left,omitempty"`
	Work int `json:"work,omitempty"` // number of descriptors that were timed
}

// Explain finds the bottlenecks of the model's layers or descriptors. It then tries changes that a
// user can make, and reports those that help. A reshaped layer runs within the network; any other
// changed layer runs alone, with its tensors in memory. If no part of the model runs on the engine,
// Explain tries nothing.
//
// Errors are those of [anesim.Model.Run].
func Explain(ctx context.Context, m *anesim.Model, o anesim.Options, how Options) (*Explanation, error) {
	// Values cost most of the time of a run and change no cycle, and every trial repeats the run.
	o.Values, o.Repeat, o.Idle, o.Progress = false, 1, 0, nil
	res, err := m.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	x := &explainer{
		model: m, options: o, how: how, base: res, left: cmp.Or(how.Work, defaultWork),
		doc: &Explanation{
			Header: report.NewHeader(), Model: m.Name(), Kind: m.Kind().String(), Chip: res.Options.Chip.Name, Now: report.CostOf(res.Report), DispatchNJ: res.Report.Dispatch,
			Parts: []Part{}, Trials: []Change{}, Machines: []Change{},
		},
	}
	if res.Host() > 0 {
		b := res.CallBounds()
		x.doc.CallNs, x.doc.CallLowNs, x.doc.CallHighNs = res.Call(), b.Low, b.High
	}
	if m.Kind() == anesim.KindNetwork {
		x.doc.NotModelled = report.MissingOf(res)
	}
	if len(res.Report.Descriptors) == 0 {
		return x.doc, nil
	}
	switch m.Kind() {
	case anesim.KindProgram:
		x.addDescriptors()
		err = x.tryRegisters(ctx)
	case anesim.KindLayer:
		x.addDescriptors()
		err = x.tryRewrites(ctx, &m.Network().Layers[0].Lower, nil)
	default:
		err = x.explainNetwork(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := x.tryGating(ctx); err != nil {
		return nil, err
	}
	if err := x.tryChipVariants(ctx); err != nil {
		return nil, err
	}
	// The order of the trials is that of their cost, and that of the report is by gain.
	slices.SortStableFunc(x.doc.Trials, func(a, b Change) int { return cmp.Compare(b.SavedNs, a.SavedNs) })
	return x.doc, nil
}

// An explainer collects an [Explanation] of a model.
type explainer struct {
	model   *anesim.Model
	options anesim.Options
	how     Options
	base    *anesim.Result
	doc     *Explanation
	left    int // descriptors that may still be timed
}

// defaultWork is the default of Options.Work.
const defaultWork = 1 << 18

// WorkLikeRun returns an Options.Work with which [Explain] lasts about as long as the run of a model
// with the given number of descriptors, or a fraction of a second if that is longer: enough to try
// all changes to a small model.
func WorkLikeRun(descriptors int) int {
	const free = 4096 // 0.1 to 0.3 s
	return free + descriptors
}

// errWork says that a change was not tried, because running it would exceed Options.Work.
var errWork = errors.New("run would time more descriptors than Options.Work allows")

// timeModel runs model m without computing values. It returns errWork if the run would exceed the
// limit on timed descriptors in Options.Work.
func (x *explainer) timeModel(ctx context.Context, m *anesim.Model, o anesim.Options) (*anesim.Result, error) {
	need := 1
	if m == x.model || m.Kind() == anesim.KindNetwork {
		need = len(x.base.Report.Descriptors)
	}
	if need > x.left {
		return nil, errWork
	}
	res, err := m.Run(ctx, o)
	if err != nil {
		x.left -= need
		return nil, err
	}
	x.left -= max(need, len(res.Report.Descriptors))
	return res, nil
}

// buildChangedNetwork returns the network that change makes of the model. It returns errWork without
// calling change if a run of the result would exceed the limit on timed descriptors, and also if the
// result has more layers than that. A change counts even if it is not run, because making it lasts
// about as long.
func (x *explainer) buildChangedNetwork(change func() (*anesim.Model, error)) (*anesim.Model, error) {
	need := len(x.base.Report.Descriptors)
	if need > x.left {
		return nil, errWork
	}
	m, err := change()
	if err == nil && len(m.Network().Layers) > x.left {
		err = errWork
	}
	if err != nil {
		x.left -= need
		return nil, err
	}
	return m, nil
}

// addDescriptors adds a [Part] to the explanation for each descriptor of a compiled program.
func (x *explainer) addDescriptors() {
	rests := ""
	if n := x.base.Model.Network(); n != nil && len(n.Layers) == 1 {
		rests = n.Layers[0].Lower.Caveat()
	}
	for i := range x.base.Report.Descriptors {
		d := &x.base.Report.Descriptors[i]
		one := hw.Report{MACs: d.MACs - d.Skipped, DMA: d.DMA, Time: d.Time}
		x.addPart(Part{Name: fmt.Sprintf("td %d", d.Index), Op: d.Op.String(), Alike: 1, Rests: rests, Unmeasured: !d.Measured()}, &d.Cycles, &one, d.Working())
	}
	x.sortParts()
}

// addPart completes part p and adds it to the explanation. The bottleneck of p becomes the cause
// with the most cycles in a, and the minimum cycles are computed from the work in r. The time from
// the first to the last work of the part is working.
func (x *explainer) addPart(p Part, a *hw.Accounting, r *hw.Report, working clock.Nanoseconds) {
	p.order = len(x.doc.Parts)
	p.Cycles, p.Bound, p.TimeNs = report.CyclesOf(a), a.Bound(), r.Time
	if all := x.doc.Now.Cycles; all > 0 {
		p.Share = float64(a.Total()) / float64(all)
	}
	for name, n := range p.Cycles.All() {
		if name == p.Bound {
			p.BoundCycles = n
		}
	}
	chip := &x.base.Options.Chip
	p.WorkingCycles = uint64(math.Round(float64(working) * chip.Clock.Value / 1e9))
	perCycle := uint64(max(1, chip.Engines.Value*chip.MACs.Value))
	p.ArrayCycles = (r.MACs + perCycle - 1) / perCycle
	p.MemoryCycles = uint64(clock.PerSecond(chip.TotalRate.Value, clock.Hertz(chip.Clock.Value)).Cycles(r.DMA.Total()))
	x.doc.Parts = append(x.doc.Parts, p)
}

func (x *explainer) sortParts() {
	slices.SortStableFunc(x.doc.Parts, func(a, b Part) int { return cmp.Compare(b.Cycles.Total, a.Cycles.Total) })
}

// explainNetwork adds a [Part] to the explanation for each layer of a network. It then tries
// changes to the layers that take the most cycles, and to where the network keeps tensors between
// layers.
func (x *explainer) explainNetwork(ctx context.Context) error {
	type group struct {
		layer  *layer.Layer
		names  []string
		cycles clock.Cycles
	}
	var groups []*group
	// Networks repeat their blocks. Layers that are alike are tried once and count together.
	byWords := map[string]*group{}
	words := make([]string, len(x.base.Layers))
	for i := range x.base.Layers {
		l := &x.base.Layers[i]
		if l.Report == nil || len(l.Report.Descriptors) == 0 {
			continue
		}
		w := formatLayer(&l.Layer.Lower)
		if w == nil {
			continue
		}
		words[i] = strings.Join(w, " ")
		g := byWords[words[i]]
		if g == nil {
			g = &group{layer: &l.Layer.Lower}
			byWords[words[i]], groups = g, append(groups, g)
		}
		g.names = append(g.names, l.Layer.Name)
		g.cycles += l.Report.Cycles
	}
	for i := range x.base.Layers {
		l := &x.base.Layers[i]
		if l.Report == nil || len(l.Report.Descriptors) == 0 {
			continue
		}
		alike := 1
		if g := byWords[words[i]]; g != nil {
			alike = len(g.names)
		}
		a := l.Report.Accounting()
		x.addPart(Part{Work: report.WorkOf(l), Name: l.Layer.Name, Op: l.Layer.Op, Line: l.Layer.Line, Alike: alike, Rests: l.Layer.Caveat(), Unmeasured: l.Report.Bounds().Unmeasured > l.Report.Time/2}, &a, l.Report, l.Report.Working())
	}
	x.sortParts()
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(b.cycles, a.cycles) })
	b := findNeighbors(x.model.Network(), cmp.Or(x.base.Options.Memories().Lane, layer.MaxLane))
	// Only the largest groups are tried: each trial compiles a layer, and a small one can gain little.
	for _, g := range groups[:min(len(groups), cmp.Or(x.how.Top, DefaultTop))] {
		if err := x.tryRewrites(ctx, g.layer, g.names); err != nil {
			return err
		}
		if err := x.tryRegrouping(ctx, b, g.names); err != nil {
			return err
		}
	}
	return x.tryResidency(ctx)
}

// tryRewrites times layers that compute the same values as l in another way. If a rewrite only
// needs a reshape, tryRewrites times the network with the rewritten layer, and otherwise the layer
// alone. The layers of the network that are identical to l have the given names.
func (x *explainer) tryRewrites(ctx context.Context, l *layer.Layer, names []string) error {
	part, alike := "", max(1, len(names))
	if len(names) > 0 {
		part = names[0]
	}
	from := formatLayer(l)
	list := listRewrites(l)
	if from == nil {
		return nil
	}
	before, err := x.measureLayer(ctx, from)
	if err != nil {
		if errors.Is(err, errWork) {
			x.doc.Tried.All++ // count all changes of the layer as one
		}
		return x.recordFailure(ctx, err)
	}
	if err := x.tryPruning(ctx, l, from, names, before); err != nil {
		return err
	}
	for i := range list {
		to := formatLayer(&list[i].layer)
		if to == nil || slices.Equal(from, to) {
			continue
		}
		x.doc.Tried.All++
		// A reshape pays off or not depending on the rows that it rearranges between the layer and its
		// neighbors, which a run of the layer alone does not show.
		if list[i].reshaped && len(names) > 0 {
			if err := x.tryReshape(ctx, names, &list[i]); err != nil {
				return err
			}
			continue
		}
		after, err := x.measureLayer(ctx, to)
		if err != nil {
			if err := x.recordFailure(ctx, err); err != nil {
				return err
			}
			continue
		}
		x.addChange(Change{
			Part: part, Alike: alike, Kind: "rewrite", Change: list[i].change, Needs: list[i].needs,
			Results: "the same, up to the rounding of sums in another order", Before: *before, After: *after, Alone: part != "",
			CommandBefore: x.formatLayerCommand(from), Command: x.formatLayerCommand(to),
		}, alike)
	}
	return nil
}

// tryReshape times the network with all the named layers reshaped to the height and width of
// rewrite r, and records the change if it saves cycles.
func (x *explainer) tryReshape(ctx context.Context, names []string, r *rewrite) error {
	var list []Reshape
	var flags []string
	for _, name := range names {
		to := Reshape{name, r.layer.In.H, r.layer.In.W}
		list = append(list, to)
		flags = append(flags, "--reshape", to.String())
	}
	m, err := x.buildChangedNetwork(func() (*anesim.Model, error) { return ReshapeLayers(x.model, list) })
	if err != nil {
		return x.recordFailure(ctx, err)
	}
	res, err := x.timeModel(ctx, m, x.options)
	if err != nil {
		return x.recordFailure(ctx, err)
	}
	x.addNetworkChange(res, Change{
		Part: names[0], Alike: len(names), Kind: "rewrite", Change: r.change, Needs: r.needs, Results: "the same",
		Command: x.formatFileCommand("model", append(x.formatResidencyFlag(), flags...)...),
	})
	return nil
}

// formatResidencyFlag returns the flag --in-memory if the network was opened with that option, which
// keeps all tensors between layers in memory. It returns nil otherwise.
func (x *explainer) formatResidencyFlag() []string {
	if x.model.Network().InMemory {
		return []string{"--in-memory"}
	}
	return nil
}

// recordFailure counts a change whose run failed with err. It returns an error only if ctx is done,
// so that the search ends.
func (x *explainer) recordFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errWork) {
		x.doc.Tried.All--
		x.recordUntried()
		return nil
	}
	x.doc.Tried.Failed++
	return nil
}

// recordUntried counts a change that is not tried because of the limit on timed descriptors.
func (x *explainer) recordUntried() {
	x.doc.Tried.Left++
	x.doc.Tried.Work = cmp.Or(x.how.Work, defaultWork) - x.left
}

// addChange counts change c, which applies to the given number of identical layers. It adds the
// change to the explanation if that saves at least the fraction [LeastGain] of the model's time.
func (x *explainer) addChange(c Change, times int) {
	c = x.withGain(c, times)
	if c.SavedNs < LeastGain*float64(x.doc.Now.TimeNs) {
		x.recordUseless(&c)
		return
	}
	x.doc.Tried.Faster++
	x.doc.Trials = append(x.doc.Trials, c)
}

// recordUseless counts a change that does not help.
func (x *explainer) recordUseless(c *Change) {
	x.doc.Tried.NotFaster++
	where := ""
	switch {
	case c.Alike > 1:
		where = fmt.Sprintf("%s and %d more alike: ", c.Part, c.Alike-1)
	case c.Part != "":
		where = c.Part + ": "
	}
	// Changes of one layer follow each other and share a line.
	if n := len(x.doc.Useless); n > 0 && where != "" && strings.HasPrefix(x.doc.Useless[n-1], where) {
		x.doc.Useless[n-1] += "; " + c.Change
		return
	}
	x.doc.Useless = append(x.doc.Useless, where+c.Change)
}

// withGain returns c with its relative gain and with the time and energy that it saves in times
// identical layers. If the change was run on a layer alone, the result also has the time of the
// layer within the network.
func (x *explainer) withGain(c Change, times int) Change {
	saved := float64(c.Before.TimeNs - c.After.TimeNs)
	c.Gain, c.SavedNs = saved/float64(c.Before.TimeNs), saved*float64(times)
	c.SavedNJ = (c.Before.EnergyNJ - c.After.EnergyNJ) * clock.Nanojoules(times)
	if all := x.doc.Now.EnergyNJ + x.doc.DispatchNJ; all > 0 {
		c.EnergyGain = float64(c.SavedNJ / all)
	}
	if c.Alone {
		for i := range x.doc.Parts {
			if x.doc.Parts[i].Name == c.Part {
				c.NetworkNs = x.doc.Parts[i].TimeNs
			}
		}
	}
	return c
}

func (x *explainer) measureLayer(ctx context.Context, words []string) (*report.Cost, error) {
	m, err := anesim.Layer(words[0], words[1:]...)
	if err != nil {
		return nil, err
	}
	o := x.options
	o.Inputs, o.Shapes, o.State, o.Overrides = nil, nil, nil, nil
	return x.measureModel(ctx, m, o)
}

// A faultError reports a fault of the modelled device.
type faultError struct{ hw.Fault }

func (e *faultError) Error() string { return e.String() }

func (x *explainer) measureModel(ctx context.Context, m *anesim.Model, o anesim.Options) (*report.Cost, error) {
	res, err := x.timeModel(ctx, m, o)
	if err != nil {
		return nil, err
	}
	if f := res.Report.Faults; len(f) > 0 {
		return nil, &faultError{f[0]}
	}
	allowed := 0
	if m.Kind() == anesim.KindNetwork {
		allowed = len(x.base.Missing())
	}
	if n := len(res.Missing()); n > allowed {
		return nil, fmt.Errorf("change leaves %s unmodelled; want at most %d", report.Plural(n, "layer"), allowed)
	}
	c := report.CostOf(res.Report)
	return &c, nil
}

// tryResidency times the network with tensors between layers in memory if the explained model keeps
// them in L2, and in L2 otherwise.
func (x *explainer) tryResidency(ctx context.Context) error {
	n := *x.model.Network()
	n.InMemory = !n.InMemory
	x.doc.Tried.All++
	after, err := x.measureModel(ctx, anesim.FromNetwork(&n), x.options)
	if err != nil {
		return x.recordFailure(ctx, err)
	}
	c := Change{
		Alike: 1, Kind: "residency", Change: "keep tensors between layers in L2 where they fit", Needs: "nothing: leave out --in-memory",
		Results: "the same", Before: x.doc.Now, After: *after,
		CommandBefore: x.formatFileCommand("model", "--in-memory"), Command: x.formatFileCommand("model"),
	}
	if n.InMemory {
		c.Change, c.Needs = "send every tensor between layers to memory and back", "--in-memory"
		c.CommandBefore, c.Command = c.Command, c.CommandBefore
	}
	x.addChange(c, 1)
	return nil
}
