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
	"anesim/bench/report"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/loader/layer"
)

// Options say how far [Explain] goes and how its commands name the model.
type Options struct {
	File  string   // what commands call the model; none of a layer
	Flags []string // of commands, words such as "--chip", "m1max", which the options say too
	Top   int      // layers of a network that changes are tried on, those that take most first; 0 is 5
	// Work is how many descriptors are timed to try changes, and 0 is 2^18: what a change takes
	// grows with the network. Changes beyond are not tried. It is no time, so that the same
	// model gives the same advice on any machine.
	Work int
}

// An Explanation is the JSON of what bounds a model and which changes make it faster.
type Explanation struct {
	report.Header
	Model  string      `json:"model"`
	Kind   string      `json:"kind"` // program, layer or network
	Chip   string      `json:"chip"`
	Now    report.Cost `json:"now"`
	Parts  []Part      `json:"parts"`  // those that take most first
	Trials []Change    `json:"trials"` // those that gain most first, and no other
	Tried  Tried       `json:"tried"`
	// Machines are other machines that the whole was timed on, those that gain most first:
	// what limits it that no change to the model moves.
	Machines []Change `json:"machines"`
}

// A Part is a layer of a network, or a descriptor, with what bounds it.
type Part struct {
	Name  string  `json:"name"`
	Op    string  `json:"op"`
	Line  int     `json:"line,omitempty"` // of the file, where it has lines
	Alike int     `json:"alike"`          // layers that are the same layer, this one among them
	Share float64 `json:"share"`          // of all cycles, by this one

	Cycles      report.Cycles `json:"cycles"`
	Bound       string        `json:"bound"`
	BoundCycles uint64        `json:"bound_cycles"` // of that cause: without it, so many fewer
	// WorkingCycles are those from its first work to its last. They are more than it adds where
	// it works beside others, and at least what its work needs.
	WorkingCycles uint64 `json:"working_cycles"`
	// ArrayCycles and MemoryCycles are the least that its multiply-accumulates take of the
	// whole array, and its bytes of memory.
	ArrayCycles  uint64 `json:"array_floor_cycles"`
	MemoryCycles uint64 `json:"memory_floor_cycles"`
	// Rests is what its descriptors rest on, where no program shows them.
	Rests string `json:"rests,omitempty"`
}

// A Change is a change that was run, with what it gained.
type Change struct {
	Part    string      `json:"part,omitempty"` // the layer that it is to; none of all
	Alike   int         `json:"alike"`          // layers that it fits
	Kind    string      `json:"kind"`           // rewrite, register, residency, sparsity, gating or chip
	Change  string      `json:"change"`
	Needs   string      `json:"needs"`
	Results string      `json:"results"` // what is known of the values that come out
	Before  report.Cost `json:"before"`
	After   report.Cost `json:"after"`
	Gain    float64     `json:"gain"`     // share of the time before
	SavedNs float64     `json:"saved_ns"` // by all that are alike
	// Commands print both; of a layer of a network they run the layer by itself.
	// Command is empty where it needs weights that are not at hand.
	CommandBefore string `json:"command_before"`
	Command       string `json:"command"`
}

// A Tried counts the changes that were tried.
type Tried struct {
	All          int `json:"all"`
	Faster       int `json:"faster"` // or no slower, for less energy
	NotFaster    int `json:"not_faster"`
	OtherResults int `json:"other_results"` // values came out that are not those from before
	Failed       int `json:"failed"`        // could not be lowered or run
	// Left counts the changes and the machines that were not tried, in none of the others: Work
	// descriptors had been timed.
	Left int `json:"left,omitempty"`
	Work int `json:"work,omitempty"` // descriptors that were timed by then
}

// Explain says what bounds the model's layers or descriptors, and tries changes that a user
// can make: it runs each and keeps those that take less time. A layer of a network is
// reshaped within the network; other changes to it are tried on the layer by itself, its
// tensors in memory.
//
// Errors are those of [Model.Run].
func Explain(ctx context.Context, m *anesim.Model, o anesim.Options, how Options) (*Explanation, error) {
	o.Values, o.Repeat, o.Idle, o.Progress = false, 1, 0, nil
	res, err := m.Run(ctx, o)
	if err != nil {
		return nil, err
	}
	x := &explainer{
		model: m, options: o, how: how, base: res, left: cmp.Or(how.Work, defaultWork),
		doc: &Explanation{
			Header: report.NewHeader(), Model: m.Name(), Kind: m.Kind().String(), Chip: res.Options.Chip.Name, Now: report.CostOf(res.Report),
			Parts: []Part{}, Trials: []Change{}, Machines: []Change{},
		},
	}
	switch m.Kind() {
	case anesim.KindProgram:
		x.descriptors()
		err = x.registers(ctx)
	case anesim.KindLayer:
		x.descriptors()
		err = x.layer(ctx, &m.Network().Layers[0].Lower, nil)
	default:
		err = x.network(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := x.gating(ctx); err != nil {
		return nil, err
	}
	if err := x.machines(ctx); err != nil {
		return nil, err
	}
	slices.SortStableFunc(x.doc.Trials, func(a, b Change) int { return cmp.Compare(b.SavedNs, a.SavedNs) })
	return x.doc, nil
}

// An explainer tries changes.
type explainer struct {
	model   *anesim.Model
	options anesim.Options
	how     Options
	base    *anesim.Result
	doc     *Explanation
	left    int // descriptors that may still be timed
}

// defaultWork is how many descriptors are timed where Options do not say.
const defaultWork = 1 << 18

// errWork says that what there is to time is beyond what is left of the work.
var errWork = errors.New("the work for changes is done")

// timed times a model that has about as many descriptors as the whole, or as a layer.
func (x *explainer) timed(ctx context.Context, m *anesim.Model, o anesim.Options) (*anesim.Result, error) {
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

// descriptors are the parts of a program.
func (x *explainer) descriptors() {
	rests := ""
	if n := x.base.Model.Network(); n != nil && len(n.Layers) == 1 {
		rests = n.Layers[0].Lower.Caveat()
	}
	for i := range x.base.Report.Descriptors {
		d := &x.base.Report.Descriptors[i]
		one := hw.Report{MACs: d.MACs - d.Skipped, DMA: d.DMA}
		x.part(Part{Name: fmt.Sprintf("td %d", d.Index), Op: d.Op.String(), Alike: 1, Rests: rests}, &d.Cycles, &one, d.Working())
	}
	x.sortParts()
}

// part adds a part with what bounds it.
func (x *explainer) part(p Part, a *hw.Accounting, r *hw.Report, working clock.Nanoseconds) {
	p.Cycles, p.Bound = report.CyclesOf(a), a.Bound()
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

// network explains a network: its layers, those that take most by themselves, and what
// stays in the L2 between them.
func (x *explainer) network(ctx context.Context) error {
	type group struct {
		layer  *layer.Layer
		names  []string
		cycles clock.Cycles
	}
	var groups []*group
	byWords := map[string]*group{}
	words := make([]string, len(x.base.Layers))
	for i := range x.base.Layers {
		l := &x.base.Layers[i]
		if l.Report == nil || len(l.Report.Descriptors) == 0 {
			continue
		}
		w := layerWords(&l.Layer.Lower)
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
		x.part(Part{Name: l.Layer.Name, Op: l.Layer.Op, Line: l.Layer.Line, Alike: alike, Rests: l.Layer.Lower.Caveat()}, &a, l.Report, l.Report.Working())
	}
	x.sortParts()
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(b.cycles, a.cycles) })
	b := neighboursOf(x.model.Network(), cmp.Or(x.base.Options.Memories().Lane, layer.MaxLane))
	for _, g := range groups[:min(len(groups), cmp.Or(x.how.Top, 5))] {
		if err := x.layer(ctx, g.layer, g.names); err != nil {
			return err
		}
		if err := x.regrouped(ctx, b, g.names); err != nil {
			return err
		}
	}
	return x.residency(ctx)
}

// layer tries the rewrites of a layer: within the network where that only takes a reshape,
// else by itself. Names are those of the network's layers that it is.
func (x *explainer) layer(ctx context.Context, l *layer.Layer, names []string) error {
	part, alike := "", max(1, len(names))
	if len(names) > 0 {
		part = names[0]
	}
	from := layerWords(l)
	list := rewrites(l)
	if from == nil {
		return nil
	}
	before, err := x.runLayer(ctx, from)
	if err != nil {
		if errors.Is(err, errWork) {
			x.doc.Tried.All++ // the layer's changes as one
		}
		return x.failed(ctx, err)
	}
	if err := x.pruned(ctx, l, from, names, before); err != nil {
		return err
	}
	for i := range list {
		to := layerWords(&list[i].layer)
		if to == nil || slices.Equal(from, to) {
			continue
		}
		x.doc.Tried.All++
		if list[i].reshaped && len(names) > 0 {
			if err := x.reshaped(ctx, names, &list[i]); err != nil {
				return err
			}
			continue
		}
		after, err := x.runLayer(ctx, to)
		if err != nil {
			if err := x.failed(ctx, err); err != nil {
				return err
			}
			continue
		}
		x.keep(Change{
			Part: part, Alike: alike, Kind: "rewrite", Change: list[i].change, Needs: list[i].needs,
			Results: "the same, up to the rounding of sums in another order", Before: *before, After: *after,
			CommandBefore: x.layerCommand(from), Command: x.layerCommand(to),
		}, alike)
	}
	return nil
}

// reshaped tries a layer's new shape within the network, on all layers that are alike at
// once: what is before and after is the whole network.
func (x *explainer) reshaped(ctx context.Context, names []string, r *rewrite) error {
	var list []Reshape
	var flags []string
	for _, name := range names {
		to := Reshape{name, r.layer.In.H, r.layer.In.W}
		list = append(list, to)
		flags = append(flags, "--reshape", to.String())
	}
	m, err := ReshapeLayers(x.model, list)
	if err != nil {
		return x.failed(ctx, err)
	}
	res, err := x.timed(ctx, m, x.options)
	if err != nil {
		return x.failed(ctx, err)
	}
	x.whole(res, Change{
		Part: names[0], Alike: len(names), Kind: "rewrite", Change: r.change, Needs: r.needs, Results: "the same",
		Command: x.fileCommand("model", append(x.residencyFlag(), flags...)...),
	})
	return nil
}

// residencyFlag is the flag that the network was opened with.
func (x *explainer) residencyFlag() []string {
	if x.model.Network().InMemory {
		return []string{"--in-memory"}
	}
	return nil
}

// failed counts a change that could not be run. What ends the whole is an error.
func (x *explainer) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errWork) {
		x.doc.Tried.All--
		x.leave()
		return nil
	}
	x.doc.Tried.Failed++
	return nil
}

// leave counts a change that is not tried.
func (x *explainer) leave() {
	x.doc.Tried.Left++
	x.doc.Tried.Work = cmp.Or(x.how.Work, defaultWork) - x.left
}

// keep adds a change that was run, where it gains; what it saves it saves so many times.
func (x *explainer) keep(c Change, times int) {
	if c.After.Cycles >= c.Before.Cycles {
		x.doc.Tried.NotFaster++
		return
	}
	x.doc.Tried.Faster++
	x.doc.Trials = append(x.doc.Trials, c.gained(times))
}

// gained is the change with what it gains, so many times.
func (c Change) gained(times int) Change {
	saved := float64(c.Before.TimeNs - c.After.TimeNs)
	c.Gain, c.SavedNs = saved/float64(c.Before.TimeNs), saved*float64(times)
	return c
}

func (x *explainer) runLayer(ctx context.Context, words []string) (*report.Cost, error) {
	m, err := anesim.Layer(words[0], words[1:]...)
	if err != nil {
		return nil, err
	}
	o := x.options
	o.Inputs, o.Shapes, o.State, o.Overrides = nil, nil, nil, nil
	return x.run(ctx, m, o)
}

// A faultError is a run that the modelled device would not survive.
type faultError struct{ hw.Fault }

func (e *faultError) Error() string { return e.String() }

func (x *explainer) run(ctx context.Context, m *anesim.Model, o anesim.Options) (*report.Cost, error) {
	res, err := x.timed(ctx, m, o)
	if err != nil {
		return nil, err
	}
	if f := res.Report.Faults; len(f) > 0 {
		return nil, &faultError{f[0]}
	}
	c := report.CostOf(res.Report)
	return &c, nil
}

// residency tries the other way of keeping tensors between a network's layers.
func (x *explainer) residency(ctx context.Context) error {
	n := *x.model.Network()
	n.InMemory = !n.InMemory
	x.doc.Tried.All++
	after, err := x.run(ctx, anesim.FromNetwork(&n), x.options)
	if err != nil {
		return x.failed(ctx, err)
	}
	c := Change{
		Alike: 1, Kind: "residency", Change: "keep tensors between layers in the L2 where they fit", Needs: "nothing: leave out --in-memory",
		Results: "the same", Before: x.doc.Now, After: *after,
		CommandBefore: x.fileCommand("model", "--in-memory"), Command: x.fileCommand("model"),
	}
	if n.InMemory {
		c.Change, c.Needs = "send every tensor between layers to memory and back", "--in-memory"
		c.CommandBefore, c.Command = c.Command, c.CommandBefore
	}
	x.keep(c, 1)
	return nil
}

func (x *explainer) layerCommand(words []string) string {
	list := append([]string{"anesim", "layer"}, words...)
	return shellWords(append(append(list, "--timing-only"), x.layerFlags()...))
}

// layerFlags are the flags that a layer by itself has a use for.
func (x *explainer) layerFlags() (list []string) {
	for i := 0; i+1 < len(x.how.Flags); i += 2 {
		if f := x.how.Flags[i]; f == "--chip" || f == "--gate-tiles" {
			list = append(list, f, x.how.Flags[i+1])
		}
	}
	return list
}

func (x *explainer) fileCommand(command string, flags ...string) string {
	return x.how.Command(command, flags...)
}

// Command is a line that runs a command on the model, with the flags and further ones.
func (h *Options) Command(command string, flags ...string) string {
	return shellWords(slices.Concat([]string{"anesim", command, h.File}, h.Flags, flags))
}

// shellWords is a command line that a shell takes apart into the words.
func shellWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		plain := func(r rune) bool {
			return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=,:+%@", r)
		}
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
