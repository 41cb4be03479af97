package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim"
	"anesim/bench/fp32"
	"anesim/firmware/engine"
	"anesim/hw/clock"
	"anesim/internal/cache"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A Network is the JSON report of a run of a network.
type Network struct {
	Header
	Network     string            `json:"network"`
	File        string            `json:"file"`
	Chip        string            `json:"chip"`
	Host        string            `json:"host"`
	Target      string            `json:"target"`  // that the layers are compiled for
	Release     string            `json:"release"` // of the compiler: newest, or a year
	Peak        Rates             `json:"peak"`    // of the chip
	Coverage    Coverage          `json:"coverage"`
	Programs    []Program         `json:"programs"`
	Layers      []Layer           `json:"layers"`
	Operations  []Operation       `json:"operations"`
	Memory      Memory            `json:"memory_bytes"`
	Cycles      Cycles            `json:"cycles"`
	Total       Wall              `json:"total"`
	StagesNs    clock.Nanoseconds `json:"host_stages_ns"` // part of the wall time in which the host computes layers
	Power       []Span            `json:"power"`
	NotModelled []Missing         `json:"not_modelled"`
	Outputs     []Output          `json:"outputs"`
	Repeat      *Repeat           `json:"repeat,omitempty"` // set if there are several dispatches
	State       *State            `json:"state,omitempty"`  // set if there is state
	Calls       []Call            `json:"calls,omitempty"`  // set for a program with state
	Faults      []Fault           `json:"faults"`
	Limits      []Limit           `json:"limits"`
	Synthetic   []string          `json:"synthetic_inputs,omitempty"`
	Notes       []string          `json:"notes"`
	L2          []Occupancy       `json:"l2"`
	Spilled     []Spill           `json:"spilled"`
	TooLarge    []TooLarge        `json:"too_large"`          // programs that do not fit in the engine's address space
	WhatIfs     []WhatIf          `json:"what_ifs,omitempty"` // set if registers were changed or tiles gated
	// Placement is set if it was requested, and Cache if a cache was used.
	Placement *Placement `json:"placement,omitempty"`
	Cache     *Cache     `json:"cache,omitempty"`
	// FP32 compares the network with itself in float32, if that was requested.
	FP32 *fp32.Comparison `json:"fp32,omitempty"`
}

// A Cache describes the cache entry that holds the network's programs. Key identifies the entry,
// and Hash is the hash of its contents. Outcome says whether the entry was fetched, made, or remade
// because it was damaged. Why describes the damage. Unkept is the reason why the entry could not be
// stored, or empty.
type Cache struct {
	Outcome string `json:"outcome"`
	Path    string `json:"path"`
	Key     string `json:"key"`
	Hash    string `json:"hash"`
	Bytes   int    `json:"bytes"`
	Why     string `json:"why,omitempty"`
	Unkept  string `json:"unkept,omitempty"`
}

func newCache(e *cache.Entry) *Cache {
	if e == nil {
		return nil
	}
	d := &Cache{e.Outcome.String(), e.Path, e.Key.String(), e.Hash.String(), e.Bytes, e.Why, ""}
	if e.Unkept != nil {
		d.Unkept = e.Unkept.Error()
	}
	return d
}

// A Program is one of the programs into which a network is divided. First and Last name its first
// and last layer. Why explains why its layers are not part of the previous program. It is empty if
// a layer that is not modelled separates the two. File names the file to which the program was
// written.
type Program struct {
	First        string `json:"first"`
	Last         string `json:"last"`
	Layers       int    `json:"layers"`
	Descriptors  int    `json:"descriptors"`
	ScratchBytes uint64 `json:"scratch_bytes"`
	Why          string `json:"why,omitempty"`
	File         string `json:"file,omitempty"`
}

// A Layer holds the costs of a layer of a network; they are zero if it is not modelled. Program is
// the number of the program that contains the layer, from 1, or 0 if none does. Kernel is the
// kernel size, followed by /stride and :groups if they are not 1, or "-". Weights is the form in
// which the engine reads constant weights; see [anesim.LayerResult.Weights]. PackedAs is the form
// of packed weights in the file, or empty.
type Layer struct {
	Name        string   `json:"name"`
	Op          string   `json:"op"`
	Activation  string   `json:"activation,omitempty"`
	In          [4]int   `json:"in"`
	Out         [4]int   `json:"out"`
	Kernel      string   `json:"kernel"`
	Weights     string   `json:"weights,omitempty"`
	PackedAs    string   `json:"packed_as,omitempty"`
	Folded      []string `json:"folded"` // names of layers that were fused into this one
	Program     int      `json:"program"`
	Modelled    bool     `json:"modelled"`
	Descriptors int      `json:"descriptors"`
	Bound       string   `json:"bound"`
	Cycles      Cycles   `json:"cycles"`
	TFLOPS      float64  `json:"tflops"`
	CRC32       string   `json:"crc32,omitempty"`
	Note        string   `json:"note,omitempty"`
	Caveat      string   `json:"caveat,omitempty"`
	Rests       string   `json:"rests,omitempty"` // assumptions behind its descriptors; empty if a program of Apple's compiler shows such descriptors
	Total       Total    `json:"total"`
	// Precision is set if it was requested.
	Precision *Precision `json:"precision,omitempty"`
	// HostNs is the time of a layer that the host computes, and HostWhy the reason why the
	// engine does not.
	HostNs  clock.Nanoseconds `json:"host_ns,omitempty"`
	HostWhy string            `json:"host_why,omitempty"`
}

// An Operation sums the costs of the layers of a network that perform the same operation on the
// engine. Share is their fraction of the engine time.
type Operation struct {
	Op       string            `json:"op"`
	Layers   int               `json:"layers"`
	TimeNs   clock.Nanoseconds `json:"time_ns"`
	Share    float64           `json:"share"`
	DMABytes uint64            `json:"dma_bytes"`
	MACs     uint64            `json:"macs"`
	EnergyNJ clock.Nanojoules  `json:"energy_nj"`
}

// sumOperations sums the layers that have the same operation, and returns the operations sorted by
// time in descending order. It omits layers without descriptors.
func (d *Network) sumOperations() []Operation {
	list := []Operation{}
	for i := range d.Layers {
		l := &d.Layers[i]
		if l.Descriptors == 0 {
			continue
		}
		at := slices.IndexFunc(list, func(o Operation) bool { return o.Op == l.Op })
		if at < 0 {
			at, list = len(list), append(list, Operation{Op: l.Op})
		}
		o, t := &list[at], &l.Total
		o.Layers++
		o.TimeNs += t.TimeNs
		o.DMABytes += t.DMABytes
		o.MACs += t.MACs
		o.EnergyNJ += t.EnergyNJ
		if d.Total.TimeNs > 0 {
			o.Share = float64(o.TimeNs / d.Total.TimeNs)
		}
	}
	slices.SortStableFunc(list, func(a, b Operation) int { return cmp.Compare(b.TimeNs, a.TimeNs) })
	return list
}

// A Memory holds the device memory that the programs of a network need. All programs are loaded at
// the same time, although they run one after the other.
type Memory struct {
	WeightBytes  uint64 `json:"weights"` // identical layers share weights that the file lacks
	MadeUp       bool   `json:"weights_made_up"`
	ScratchBytes uint64 `json:"scratch"`
	AllBytes     uint64 `json:"all"` // includes tensors and descriptors
}

func newMemory(r *anesim.Result) (m Memory) {
	for i := range r.Programs {
		p := r.Programs[i].Program
		for k := range p.Segments {
			s := &p.Segments[k]
			if s.Prot == 0 {
				continue // guard segment
			}
			m.AllBytes += s.Size
			switch {
			case s.IsWeights():
				if !s.Unread {
					m.WeightBytes += s.Size
				}
			case s.Name == "__DATA" && s.Section == "__bss":
				m.ScratchBytes += s.Size
			}
		}
	}
	if n := r.Model.Network(); n != nil {
		m.MadeUp = slices.ContainsFunc(n.Layers, func(l list.Layer) bool {
			return list.Needs(&l.Lower).Filter > 0 && l.Weights.FilterLen() == 0 && !l.Average // of an average pool, which has none in its file
		})
	}
	return m
}

// A Coverage compares the nodes that the totals include with all nodes of a network. A node is an
// operator in the network's file, or a layer if the file is a list of layers.
type Coverage struct {
	Nodes     int    `json:"nodes"`
	Done      int    `json:"nodes_done"`
	Hosted    int    `json:"nodes_on_host"` // part of Done that the host computes
	MACs      uint64 `json:"macs"`
	DoneMACs  uint64 `json:"macs_done"`
	Bytes     uint64 `json:"bytes"`
	DoneBytes uint64 `json:"bytes_done"`
	Unsized   int    `json:"unsized_nodes"` // nodes of unknown shape, which MACs and Bytes do not count
	Lost      []Loss `json:"lost_outputs"`
}

// An Occupancy is the number of bytes of L2 that a descriptor's tensors and buffers use.
type Occupancy struct {
	Program    int `json:"program"` // from 1
	Descriptor int `json:"descriptor"`
	Bytes      int `json:"bytes"`
}

// A Spill is a tensor between two layers of one program that is written to memory and read back
// instead of staying in L2. Why is the reason.
type Spill struct {
	Program int    `json:"program"`
	Tensor  string `json:"tensor"`
	Bytes   int    `json:"bytes"`
	Why     string `json:"why"`
}

// A TooLarge is a program that needs more memory than the engine can address, or a longer section of
// weights than Apple's compiler makes. Layer is the one with whose weights it passes the limit. Cuts names
// the layers that would begin programs of their own; it is empty if no cut helps.
type TooLarge struct {
	Program int      `json:"program"`
	Bytes   uint64   `json:"bytes"`
	Limit   uint64   `json:"limit"`
	Layer   string   `json:"layer"`
	Cuts    []string `json:"cuts"`
}

// String returns the finding as a sentence.
func (o *TooLarge) String() string {
	if o.Limit == loader.MaxKernelSection {
		return fmt.Sprintf("program %d: does not fit in one program: a constant tensor of layer %s has %s bytes, and a section of weights at most %s: its descriptor has one base for it, relocated against one section", o.Program, Printable(o.Layer), Thousands(o.Bytes), Thousands(o.Limit))
	}
	text := fmt.Sprintf("program %d: does not fit in one program: %s bytes of %s, passed at %s", o.Program, Thousands(o.Bytes), Thousands(o.Limit), Printable(o.Layer))
	if len(o.Cuts) == 0 {
		return text + "; no cut between layers helps"
	}
	const named = 4
	names := make([]string, 0, named)
	for _, name := range o.Cuts[:min(named, len(o.Cuts))] {
		names = append(names, Printable(name))
	}
	text += "; it would have to be cut before " + strings.Join(names, ", ")
	if more := len(o.Cuts) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// A Loss is an output of the network that cannot be computed, because it depends on Layer, which is
// not modelled.
type Loss struct {
	Output string `json:"output"`
	Layer  string `json:"layer"`
}

// A Missing is a layer that has no cost, so that no total includes it. Reason says why.
type Missing struct {
	Name   string `json:"name"`
	Op     string `json:"op"`
	Reason string `json:"reason"`
	// Behind names the layer whose result has no known shape, if that is the reason.
	Behind string `json:"-"`
}

// A MissingGroup holds layers without a cost that have one cause: the layers that have the reason of
// the first, and the layers whose shapes are unknown because of these.
type MissingGroup struct{ Causes, Behind []Missing }

// GroupMissing groups the layers in list by their causes, in the order of the first of each group.
func GroupMissing(list []Missing) []MissingGroup {
	byName := map[string]Missing{}
	for _, m := range list {
		byName[m.Name] = m
	}
	groups, of := []MissingGroup{}, map[[2]string]int{} // by operation and reason
	groupOf := func(cause Missing) *MissingGroup {
		key := [2]string{cause.Op, cause.Reason}
		if _, ok := of[key]; !ok {
			of[key] = len(groups)
			groups = append(groups, MissingGroup{})
		}
		return &groups[of[key]]
	}
	for _, m := range list {
		cause := m
		for range list { // at most once for each, because names may be in a circle
			next, ok := byName[cause.Behind]
			if cause.Behind == "" || !ok {
				break
			}
			cause = next
		}
		if g := groupOf(cause); cause.Name == m.Name {
			g.Causes = append(g.Causes, m)
		} else {
			g.Behind = append(g.Behind, m)
		}
	}
	return slices.DeleteFunc(groups, func(g MissingGroup) bool { return len(g.Causes) == 0 })
}

// MissingOf returns the layers of r that have no cost. The result is empty but not nil if there are
// none.
func MissingOf(r *anesim.Result) []Missing {
	list := []Missing{}
	for _, l := range r.Missing() {
		list = append(list, Missing{l.Layer.Name, l.Layer.Op, l.Reason, l.Layer.Behind})
	}
	return list
}

// Incomplete returns a warning that totals leave out the layers in list, because they have no cost.
// It names three, the causes first. It returns "" if list is empty.
func Incomplete(list []Missing) string {
	if len(list) == 0 {
		return ""
	}
	var ordered []Missing
	groups := GroupMissing(list)
	for _, g := range groups {
		ordered = append(ordered, g.Causes...)
	}
	for _, g := range groups {
		ordered = append(ordered, g.Behind...)
	}
	return fmt.Sprintf("INCOMPLETE: %s without a cost, left out of all totals: %s", Plural(len(list), "layer"), NameMissing(ordered))
}

// NameMissing returns the names and operations of the first three layers in list, followed by the
// number of the others, such as "a (If), b (Sort), c (TopK) and 2 more".
func NameMissing(list []Missing) string {
	const most = 3
	var names []string
	for _, m := range list[:min(most, len(list))] {
		names = append(names, Printable(m.Name)+" ("+Printable(m.Op)+")")
	}
	text := strings.Join(names, ", ")
	if n := len(list) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// Remarks returns the notes to print in a text report. It omits the note that counts the layers
// that are not modelled, because text reports list these layers.
func (d *Network) Remarks() []string {
	if len(d.NotModelled) == 0 {
		return d.Notes
	}
	return d.Notes[:len(d.Notes)-1]
}

// NewNetwork converts the result of a network to its JSON report, which "anesim model --json"
// prints.
func NewNetwork(r *anesim.Result) *Network {
	line, a := r.Timeline(), r.Causes()
	d := &Network{
		Header: NewHeader(), Network: r.Model.Name(), Chip: r.Options.Chip.Name, Host: r.Options.Host.Name, Target: r.Target().String(), Release: r.Model.Network().Release().String(), Peak: Peak(&r.Options.Chip), Coverage: newCoverage(r),
		Programs: []Program{}, Layers: []Layer{}, Cycles: CyclesOf(&a), Total: newWall(r, line), StagesNs: r.Stages(), Power: newPowerSpans(r, line),
		NotModelled: MissingOf(r), Outputs: OutputsOf(r), Repeat: newRepeat(r), State: newState(r), Calls: newCalls(r), Faults: newFaults(r), Limits: newLimits(r),
		Synthetic: r.Synthetic, Notes: append([]string{r.Residency().What}, r.Model.Network().Notes...),
		L2: []Occupancy{}, Spilled: []Spill{}, TooLarge: []TooLarge{}, WhatIfs: newWhatIfs(r), Cache: newCache(r.Cache),
	}
	for k := range r.Programs {
		if !r.Model.Network().InMemory {
			for i, n := range r.Programs[k].Occupancy() {
				d.L2 = append(d.L2, Occupancy{k + 1, i, n})
			}
		}
		for _, s := range r.Programs[k].Spilled {
			d.Spilled = append(d.Spilled, Spill{k + 1, s.Tensor, s.Bytes, s.Why})
		}
		d.Programs = append(d.Programs, newProgram(r, &r.Programs[k]))
	}
	for i := range r.Layers {
		d.Layers = append(d.Layers, newLayer(&r.Layers[i]))
	}
	for _, o := range r.TooLarge() {
		d.TooLarge = append(d.TooLarge, TooLarge{o.Program + 1, o.Bytes, o.Limit, o.Layer, append([]string{}, o.Cuts...)})
	}
	if note := describeRelease(r); note != "" {
		d.Notes = append(d.Notes, note)
	}
	d.setPrecisions(r)
	d.Operations, d.Memory = d.sumOperations(), newMemory(r)
	for _, c := range r.CopiedStates {
		d.Notes = append(d.Notes, fmt.Sprintf("state %s goes through the host from call to call: %s", c.Input, c.Why))
	}
	// Notes are in the order of a reader's questions: what is assumed for all, then for single tensors,
	// then what is missing.
	d.Notes = append(d.Notes, r.PrecisionNotes()...)
	if n := len(d.NotModelled); n == 1 {
		d.Notes = append(d.Notes, "not modelled: 1 layer, in no total")
	} else if n > 1 {
		d.Notes = append(d.Notes, fmt.Sprintf("not modelled: %d layers, in no total", n))
	}
	return d
}

// describeRelease says what it changes that the network is compiled as by another release of the vendor's
// compiler than the newest. It returns "" if it is not.
func describeRelease(r *anesim.Result) string {
	release := r.Model.Network().Release()
	if release != layer.Release2026 {
		return ""
	}
	chained, layers := 0, 0
	for k := range r.Programs {
		for i := range r.Programs[k].Runs {
			if layers++; r.Programs[k].Runs[i].Pixels {
				chained++
			}
		}
	}
	what := "those over the channels of one row of pixels, as far as three programs show them"
	if chained == 0 {
		what = "it changes layers over the channels of one row of pixels, and there are none"
	}
	return fmt.Sprintf("release: %v: %d of %d layers on the engine have descriptors of Apple's compiler of %v: %s", release, chained, layers, release, what)
}

func newCoverage(r *anesim.Result) Coverage {
	c := r.Coverage()
	d := Coverage{
		Nodes: c.Nodes, Done: c.Done, Hosted: c.Hosted, MACs: c.MACs, DoneMACs: c.DoneMACs, Bytes: c.Bytes, DoneBytes: c.DoneBytes,
		Unsized: c.Unsized, Lost: []Loss{},
	}
	for _, x := range c.Lost {
		d.Lost = append(d.Lost, Loss{x.Output, r.Layers[x.Layer].Layer.Name})
	}
	return d
}

func newProgram(r *anesim.Result, p *anesim.ProgramResult) Program {
	d := Program{Layers: len(p.Runs), Descriptors: p.Program.TaskCount, Why: p.Why}
	if len(p.Runs) > 0 {
		d.First, d.Last = r.Layers[p.First].Layer.Name, r.Layers[p.First+len(p.Runs)-1].Layer.Name
	}
	if s, ok := p.Program.Segment("__DATA", "__bss"); ok {
		d.ScratchBytes = s.Size
	}
	return d
}

func newLayer(l *anesim.LayerResult) Layer {
	x := l.Layer
	d := Layer{
		Name: x.Name, Op: x.Op, In: listExtents(x.Lower.In), Out: listExtents(x.Out), Kernel: formatWindow(x),
		Folded: append([]string{}, x.Folded...), Program: l.Program, Modelled: l.Modelled(), Note: l.Note, Caveat: l.Caveat,
	}
	// A layer without a result rests on nothing.
	if l.Modelled() {
		d.Rests = x.Caveat()
	}
	if x.Lower.Activation != 0 {
		d.Activation = x.Lower.Activation.String()
	}
	d.Weights = l.Weights()
	if f := x.Weights.Form; f != layer.FormFP16 {
		d.PackedAs = f.String()
	}
	if rep := l.Report; rep != nil {
		a := rep.Accounting()
		d.Descriptors, d.TFLOPS = rep.Count(), tflops(rep.MACs, rep.Working())
		if d.Descriptors > 0 {
			d.Bound = a.Bound()
		}
		d.Cycles, d.Total = CyclesOf(&a), newTotal(rep)
	}
	if l.Host > 0 {
		d.HostNs, d.HostWhy = l.Host, l.Reason
	}
	if l.Data != nil {
		d.CRC32 = engine.Checksum(l.Data)
	}
	return d
}

func listExtents(s layer.Shape) [4]int { return [4]int{s.N, s.C, s.H, s.W} }

// Work returns a string that identifies the work of the layer. It is equal for two layers if their
// operation, activation, window and shapes are equal.
func (l *Layer) Work() string { return fmt.Sprint(l.Op, l.Activation, l.Kernel, l.In, l.Out) }

// WorkOf returns a string that identifies the work of the layer l, so that layers which do the same
// work can be grouped. It is the [Layer.Work] of the layer in a report.
func WorkOf(l *anesim.LayerResult) string {
	d := newLayer(l)
	return d.Work()
}

// formatWindow returns the size of a layer's window, followed by the stride and the number of
// groups if they are not 1, such as "3x3/2:32". It returns "-" for a layer without a window.
func formatWindow(l *list.Layer) string {
	w := &l.Lower.Window
	if w.Kh == 0 {
		return "-"
	}
	s := fmt.Sprintf("%dx%d", w.Kh, w.Kw)
	if w.Sy > 1 || w.Sx > 1 {
		s += "/" + strconv.Itoa(w.Sy)
		if w.Sx != w.Sy {
			s += "x" + strconv.Itoa(w.Sx)
		}
	}
	if l.Lower.Groups > 1 {
		s += ":" + strconv.Itoa(l.Lower.Groups)
	}
	return s
}

// tflops returns how many 1e12 operations per second macs multiply-accumulates in the time t are,
// where each counts as two operations. It returns 0 if t is 0.
func tflops(macs uint64, t clock.Nanoseconds) float64 {
	if t == 0 {
		return 0
	}
	return 2 * float64(macs) / float64(t) / 1e3
}
