package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"anesim"
	"anesim/firmware"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/regs"
	"anesim/internal/report"
	"anesim/loader"
)

// A Baseline holds the costs that models had at an earlier time. [Baseline.Check] compares new
// costs with them. A baseline file is JSON with one line per layer and descriptor, so that a
// textual diff of two versions shows the changes.
type Baseline struct {
	report.Header
	Entries []Entry `json:"entries"`
}

// An Entry holds the costs of one model in a baseline.
type Entry struct {
	Input       string          `json:"input"` // name of the file or layer, chosen by the caller
	Chip        string          `json:"chip"`
	Total       Cost            `json:"total"`
	Outputs     []report.Output `json:"outputs"` // set if values were computed
	Layers      []Layer         `json:"layers"`  // set for a network
	Descriptors []Descriptor    `json:"descriptors"`

	// NotModelled lists layers of a network that have no cost and are in no total.
	NotModelled []report.Missing `json:"not_modelled,omitempty"`

	// Relocations says how the relocations of a program differ from the addresses of its weights; see
	// [anesim.Result.RelocationNotes].
	Relocations []string `json:"relocations,omitempty"`

	// Constants holds the values of the chip's constants by name. Older baselines have
	// none.
	Constants map[string]float64 `json:"constants,omitempty"`

	Layered bool `json:"-"` // the entry has layers but no descriptors

	// Values says that the outputs of a new entry are to be compared. NoValues then lists the
	// outputs without values, and Why the reason. A baseline does not store them.
	Values   bool     `json:"-"`
	NoValues []string `json:"-"`
	Why      string   `json:"-"`
}

// WithoutValues returns a warning that the run of a new entry should have computed values but did
// not compute the values of some outputs. It returns "" if there is nothing to warn of.
func (e *Entry) WithoutValues() string {
	switch {
	case !e.Values || len(e.NoValues) == 0 && len(e.Outputs) > 0:
		return ""
	case len(e.Outputs) == 0:
		return "no values: " + e.Why
	}
	return fmt.Sprintf("no values of %s: %s", report.Printable(joinFirstItems(e.NoValues)), e.Why)
}

// A Layer holds the costs of one layer of a network.
type Layer struct {
	Name string `json:"name"`
	Cost
}

// A Descriptor holds the costs of one descriptor, and the values of its registers that are not
// zero, such as "Common.InDim=0x10040 Common.ChCfg=0x22".
type Descriptor struct {
	Op        string `json:"op"`
	Layer     string `json:"layer,omitempty"` // layer of a network
	Registers string `json:"registers"`
	Cost
}

// A Cost is a [report.Cost] with further quantities that a check compares or explains, such as the
// number of cycles due to each cause.
type Cost struct {
	report.Cost
	DispatchNJ clock.Nanojoules `json:"dispatch_energy_nj,omitempty"` // energy of dispatches, which EnergyNJ excludes
	MACs       uint64           `json:"macs"`
	ExeCycles  uint64           `json:"exe_cycles"` // estimate by the vendor's rule in microseconds
	Causes     report.Cycles    `json:"causes"`

	// The interval of the time, and the parts of energy and bytes. Older baselines do not
	// have these fields.
	TimeLowNs  clock.Nanoseconds `json:"time_ns_low,omitempty"`
	TimeHighNs clock.Nanoseconds `json:"time_ns_high,omitempty"`
	EnergyOf   *report.Energy    `json:"energy_parts_nj,omitempty"`
	DMA        *report.DMA       `json:"dma,omitempty"`
	Counters   *report.Counters  `json:"counters,omitempty"`

	Unestimated bool `json:"-"` // ExeCycles is unknown
}

// Names of quantities, for [Place.Measure] and Difference.What.
const (
	MeasuredCycles   = "cycles"
	MeasuredTime     = "engine time"
	MeasuredEnergy   = "energy"
	MeasuredBytes    = "bytes moved"
	measuredEstimate = "Apple's estimate"
)

// listQuantities returns the quantities that a check compares, each with its name and unit.
func (c *Cost) listQuantities() [7]struct {
	name string
	unit string
	v    float64
} {
	return [...]struct {
		name string
		unit string
		v    float64
	}{
		{MeasuredCycles, "", float64(c.Cycles)}, {MeasuredTime, "ns", float64(c.TimeNs)},
		{MeasuredEnergy, "nJ", float64(c.EnergyNJ)}, {"energy per call", "nJ", float64(c.DispatchNJ)},
		{MeasuredBytes, "B", float64(c.DMABytes)}, {"multiply-accumulates", "", float64(c.MACs)},
		{measuredEstimate, "us", float64(c.ExeCycles)},
	}
}

// A term is a part of a quantity: the cycles of one cause, the energy of one unit, or the bytes of
// one path.
type term struct {
	of   string // cycles, energy or bytes
	name string
	unit string
	v    float64
}

// listTerms returns the parts of the cycles, the energy and the bytes. It omits parts of the energy
// and the bytes that the baseline does not contain.
func (c *Cost) listTerms() (list []term) {
	for name, n := range c.Causes.All() {
		list = append(list, term{"cycles", report.CauseText(name), "", float64(n)})
	}
	if e := c.EnergyOf; e != nil {
		parts := *e
		parts.Dispatch = 0 // a measure of its own
		for name, v := range parts.All() {
			list = append(list, term{"energy", name, "nJ", float64(v)})
		}
	}
	if d := c.DMA; d != nil {
		for _, x := range [...]struct {
			name string
			v    uint64
		}{{"source 1", d.Source1}, {"source 2", d.Source2}, {"weights", d.Kernel}, {"result", d.Destination}} {
			list = append(list, term{"bytes", x.name, "B", float64(x.v)})
		}
	}
	return list
}

func newCost(r *hw.Report) Cost {
	a, parts := r.Accounting(), r.Parts()
	energy, bytes := report.EnergyOf(&parts, r.Dispatch), report.DMAOf(&r.DMA)
	c := Cost{
		Cost: report.CostOf(r), DispatchNJ: r.Dispatch, MACs: r.MACs, Causes: report.CyclesOf(&a),
		EnergyOf: &energy, DMA: &bytes, Counters: new(report.Counters),
	}
	for i := range r.Descriptors {
		d, n := &r.Descriptors[i], uint64(1)
		if i >= len(r.Descriptors)-r.Per {
			n += uint64(r.Again)
		}
		c.ExeCycles += n * uint64(d.Exe.Model)
		for k := range d.Counters {
			c.Counters[k] += n * d.Counters[k]
		}
	}
	c.TimeLowNs, c.TimeHighNs = r.Interval()
	return c
}

// newDescriptorCost returns the costs of the descriptor d in the form that a baseline stores.
func newDescriptorCost(d *report.Descriptor) Cost {
	return Cost{
		Cost: d.Cost(), MACs: d.MACs, ExeCycles: uint64(d.Exe.Model), Causes: d.Cycles,
		TimeLowNs: d.TimeLowNs, TimeHighNs: d.TimeHighNs, EnergyOf: &d.EnergyOf, DMA: &d.DMA, Counters: &d.Counters,
	}
}

// NewEntry returns a baseline entry named input with the costs of the result r. It returns an error
// if the registers of a program cannot be read.
func NewEntry(r *anesim.Result, input string) (Entry, error) {
	e := Entry{
		Input: input, Chip: r.Options.Chip.Name, Total: newCost(r.Report),
		Outputs: report.OutputsOf(r), Relocations: r.RelocationNotes(), Layers: []Layer{}, Descriptors: []Descriptor{}, Constants: map[string]float64{},
	}
	for name, c := range r.Options.Chip.Constants() {
		e.Constants[name] = c.Value
	}
	if e.Values = r.Options.Values; e.Values {
		for _, name := range r.Model.OutputNames() {
			if !slices.ContainsFunc(e.Outputs, func(o report.Output) bool { return o.Name == name }) {
				e.NoValues = append(e.NoValues, name)
			}
		}
		// A baseline without checksums must say why, or a later check would pass without having compared
		// any.
		if len(e.NoValues) > 0 || len(e.Outputs) == 0 {
			e.Why = report.WhyNoOutputs(r)
		}
	}
	if r.Model.Kind() == anesim.KindNetwork {
		// Missing layers cost nothing in the totals, so a layer that becomes missing would look like an
		// improvement.
		e.NotModelled = report.MissingOf(r)
		for i := range r.Layers {
			if l := &r.Layers[i]; l.Report != nil {
				e.Layers = append(e.Layers, Layer{l.Layer.Name, newCost(l.Report)})
			}
		}
	}
	for k := range r.Programs {
		p := &r.Programs[k]
		if p.Report == nil {
			continue
		}
		texts, err := formatRegisters(p.Program, r.Options.Overrides)
		if err != nil {
			return e, err
		}
		for i := range p.Report.Descriptors {
			d := &p.Report.Descriptors[i]
			if d.Index >= len(texts) {
				continue
			}
			doc := report.NewDescriptor(d)
			x := Descriptor{Op: doc.Op, Registers: texts[d.Index], Cost: newDescriptorCost(&doc)}
			if l := r.LayerOf(p, d); l != nil && r.Model.Kind() == anesim.KindNetwork {
				x.Layer = l.Layer.Name
			}
			e.Descriptors = append(e.Descriptors, x)
		}
	}
	return e, nil
}

// formatRegisters returns a line of text for each descriptor of p that lists its nonzero registers,
// such as "Common.InDim=0x10040". The register changes in set are applied to every descriptor
// first.
func formatRegisters(p *loader.Program, set []firmware.Override) ([]string, error) {
	var file regs.File
	var texts []string
	linked, err := p.LinkStream(nil)
	if err != nil {
		return nil, err
	}
	for _, err := range firmware.WithOverrides(&linked.Stream, set).Tasks(&file) {
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		for r := range regs.Registers() {
			if w, _ := file.Load(r.Addr()); w != 0 {
				if b.Len() > 0 {
					b.WriteByte(' ')
				}
				fmt.Fprintf(&b, "%s.%s=%#x", r.Block, r.Name, w)
			}
		}
		texts = append(texts, b.String())
	}
	return texts, nil
}

// parseRegisters parses text in the form that formatRegisters returns. It returns a map from
// register names to values, and skips malformed words.
func parseRegisters(text string) map[string]uint32 {
	m := map[string]uint32{}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		if v, err := strconv.ParseUint(value, 0, 32); err == nil {
			m[name] = uint32(v)
		}
	}
	return m
}

// MaxBytes is the largest size in bytes of a file that [Read] accepts. A descriptor occupies about
// 2 kB of the file.
const MaxBytes = 256 << 20

// Read reads a baseline from its JSON file. It returns an error if the file is not a baseline, has
// an unknown schema, or exceeds [MaxBytes].
func Read(r io.Reader) (*Baseline, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("baseline file too large; want at most %d bytes", MaxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var b Baseline
	if err := d.Decode(&b); err != nil {
		return nil, report.DescribeJSONError("a baseline", data, err)
	}
	if b.Schema != report.Schema {
		return nil, fmt.Errorf("unsupported baseline schema %d; want %d", b.Schema, report.Schema)
	}
	return &b, nil
}

// ReadToUpdate reads a baseline, as [Read] does, that is to be written again. If another version of
// the tool or of the constants made the entries, it leaves them out, because the header of the new
// file would not match them. If r is nil, there is no such file yet and the baseline is empty.
func ReadToUpdate(r io.Reader) (*Baseline, error) {
	fresh := &Baseline{Header: report.NewHeader()}
	if r == nil {
		return fresh, nil
	}
	b, err := Read(r)
	if err != nil {
		return nil, err
	}
	if b.Tool == fresh.Tool {
		fresh.Entries = b.Entries
	}
	return fresh, nil
}

// Write writes the baseline to w as JSON. It first sorts b.Entries by the name of the model.
func (b *Baseline) Write(w io.Writer) error {
	slices.SortFunc(b.Entries, func(x, y Entry) int { return strings.Compare(x.Input, y.Input) })
	var out baselineWriter
	out.WriteString("{\n")
	out.writeMember(" ", "schema", b.Schema)
	out.writeMember(" ", "tool", b.Tool)
	out.WriteString(" \"entries\": [\n")
	for i := range b.Entries {
		out.writeEntry(&b.Entries[i])
		out.endListLine(i, len(b.Entries))
	}
	out.WriteString(" ]\n}\n")
	if out.err != nil {
		return out.err
	}
	_, err := w.Write(out.Bytes())
	return err
}

// A baselineWriter writes the JSON of a baseline with one line per member, layer and descriptor.
type baselineWriter struct {
	bytes.Buffer
	err error // the first value that JSON cannot represent
}

func (out *baselineWriter) writeValue(v any) {
	j, err := json.Marshal(v)
	if out.err == nil {
		out.err = err
	}
	out.Write(j)
}

// writeMember writes a member of a JSON object and a comma on a line of its own. Another member
// must follow.
func (out *baselineWriter) writeMember(indent, name string, v any) {
	fmt.Fprintf(out, "%s%q: ", indent, name)
	out.writeValue(v)
	out.WriteString(",\n")
}

// endListLine ends the line of the i-th of n elements of a list. It writes a comma before the end
// of the line unless the element is the last one.
func (out *baselineWriter) endListLine(i, n int) {
	if i < n-1 {
		out.WriteByte(',')
	}
	out.WriteByte('\n')
}

func (out *baselineWriter) writeEntry(e *Entry) {
	out.WriteString("  {\n")
	out.writeMember("   ", "input", e.Input)
	out.writeMember("   ", "chip", e.Chip)
	if e.Constants != nil {
		out.writeMember("   ", "constants", e.Constants)
	}
	out.writeMember("   ", "total", e.Total)
	if len(e.NotModelled) > 0 {
		out.writeMember("   ", "not_modelled", e.NotModelled)
	}
	if len(e.Relocations) > 0 {
		out.writeMember("   ", "relocations", e.Relocations)
	}
	out.writeMember("   ", "outputs", emptyIfNil(e.Outputs))
	out.WriteString("   \"layers\": [\n")
	for i := range e.Layers {
		out.WriteString("    ")
		out.writeValue(&e.Layers[i])
		out.endListLine(i, len(e.Layers))
	}
	out.WriteString("   ],\n   \"descriptors\": [\n")
	for i := range e.Descriptors {
		out.WriteString("    ")
		out.writeValue(&e.Descriptors[i])
		out.endListLine(i, len(e.Descriptors))
	}
	out.WriteString("   ]\n  }")
}

func emptyIfNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Has reports whether the baseline has an entry named input.
func (b *Baseline) Has(input string) bool {
	return slices.ContainsFunc(b.Entries, func(e Entry) bool { return e.Input == input })
}

// Rename changes Input in each entry where it equals from. The new value is to.
func (b *Baseline) Rename(from, to string) {
	for i := range b.Entries {
		if b.Entries[i].Input == from {
			b.Entries[i].Input = to
		}
	}
}

// Set adds the entry e, or replaces the entry with the same name if the baseline has one.
func (b *Baseline) Set(e Entry) {
	for i := range b.Entries {
		if b.Entries[i].Input == e.Input {
			b.Entries[i] = e
			return
		}
	}
	b.Entries = append(b.Entries, e)
}
