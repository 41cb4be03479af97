package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/dma"
)

// A Run is the JSON report of a run of a compiled program or a single layer.
type Run struct {
	Header
	Program     string       `json:"program"`
	Form        string       `json:"form"`
	Chip        string       `json:"chip"`
	Host        string       `json:"host"`
	Target      string       `json:"target"`               // of the compiler's estimates; see Exe
	Parameters  []Parameter  `json:"parameters,omitempty"` // set if the program has run-time parameters
	Peak        Rates        `json:"peak"`                 // of the chip
	Descriptors []Descriptor `json:"descriptors"`
	Rest        *Rest        `json:"rest,omitempty"` // set if further descriptors are not listed
	Cycles      Cycles       `json:"cycles"`
	Total       Wall         `json:"total"`
	Power       []Span       `json:"power"`
	Outputs     []Output     `json:"outputs"`
	Repeat      *Repeat      `json:"repeat,omitempty"` // set if there are several dispatches
	State       *State       `json:"state,omitempty"`  // set if there is state
	Calls       []Call       `json:"calls,omitempty"`  // set for a program with state
	Faults      []Fault      `json:"faults"`
	Limits      []Limit      `json:"limits"`
	Synthetic   []string     `json:"synthetic_inputs,omitempty"`
	Constants   []Constant   `json:"constants,omitempty"` // set if requested
	WhatIfs     []WhatIf     `json:"what_ifs,omitempty"`  // set if registers were changed or tiles gated

	precision []PrecisionRow // of all dispatches together
}

// A Parameter is a run-time parameter of a program. Value is its value in this run. The valid
// values are From, From+Step and so on up to To.
type Parameter struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
	Step  uint64 `json:"step"`
}

// String returns the value and the valid values, such as "k=64 of 32 to 128 in steps of 32".
func (p Parameter) String() string {
	return fmt.Sprintf("%s=%d of %d to %d in steps of %d", p.Name, p.Value, p.From, p.To, p.Step)
}

// newParameters returns the run-time parameters of the program that r is about.
func newParameters(r *anesim.Result) (list []Parameter) {
	for _, x := range r.Programs[0].Program.Parameters() {
		v, bound := r.Options.Bind[x.Name]
		if !bound {
			v = x.Value
		}
		list = append(list, Parameter{x.Name, v, x.Range.Start, x.Range.Stop, x.Range.Step})
	}
	return list
}

// A Descriptor holds the costs of one descriptor, which is one task of the engine. EnergyNJ
// excludes the fixed energy of the dispatch.
type Descriptor struct {
	Index      int               `json:"index"`
	Offset     uint32            `json:"offset"`
	Op         string            `json:"op"`
	Shape      Shape             `json:"shape"`
	Engines    int               `json:"engines"`
	Tiles      int               `json:"tiles"`
	Cycles     Cycles            `json:"cycles"`
	Saved      uint64            `json:"saved_cycles"`
	Units      Units             `json:"units"`
	DMA        DMA               `json:"dma_bytes"`
	Exe        Exe               `json:"exe_cycles"`
	MACs       uint64            `json:"macs"`
	Skipped    uint64            `json:"skipped_macs"`
	Zero       uint64            `json:"zero_macs,omitempty"`
	ZeroSaves  clock.Nanojoules  `json:"zero_macs_save_nj,omitempty"`
	Bound      string            `json:"bound"`
	Advice     string            `json:"advice"`
	TimeNs     clock.Nanoseconds `json:"time_ns"`
	TimeLowNs  clock.Nanoseconds `json:"time_ns_low"`
	TimeHighNs clock.Nanoseconds `json:"time_ns_high"`
	WorkingNs  clock.Nanoseconds `json:"working_ns"`    // time that rates and power refer to
	Rows       int               `json:"interval_rows"` // number of measured rows behind the interval
	Measured   bool              `json:"measured"`      // whether measured rows cover the work
	EnergyNJ   clock.Nanojoules  `json:"energy_nj"`
	EnergyOf   Energy            `json:"energy_parts_nj"`
	PowerW     float64           `json:"power_w"`
	Counters   Counters          `json:"counters"`
	Computed   bool              `json:"computed"`
	Precision  *Precision        `json:"precision,omitempty"` // set if it was requested
	Overflow   *Overflow         `json:"overflow,omitempty"`
	Note       string            `json:"note,omitempty"`
	Caveat     string            `json:"caveat,omitempty"`
}

// A Rest sums the descriptors that the report does not list one by one. The totals of the report
// include them.
type Rest struct {
	Descriptors int               `json:"descriptors"`
	TimeNs      clock.Nanoseconds `json:"time_ns"`
	EnergyNJ    clock.Nanojoules  `json:"energy_nj"`
	Groups      []Group           `json:"-"` // sums by operation and shape, for HTML pages
}

// A Group sums unlisted descriptors that have the same operation and shape. The number of groups is
// limited. Descriptors of further shapes are summed in groups whose Shape is zero.
type Group struct {
	Op          string
	Shape       Shape
	Descriptors int
	Cycles      Cycles
	TimeNs      clock.Nanoseconds
	EnergyNJ    clock.Nanojoules
	EnergyOf    Energy
	MACs        uint64
	DMABytes    uint64
}

// A Shape holds the sizes of a descriptor's source, result and window, and its number of groups.
type Shape struct {
	Win    int `json:"win"`
	Hin    int `json:"hin"`
	Cin    int `json:"cin"`
	Wout   int `json:"wout"`
	Hout   int `json:"hout"`
	Cout   int `json:"cout"`
	Kw     int `json:"kw"`
	Kh     int `json:"kh"`
	Groups int `json:"groups"`
}

// Units holds quantities of a descriptor that Apple's compiler also prints in its cost dump.
type Units struct {
	WorkUnits   int    `json:"work_units"`
	MACCycles   int    `json:"mac_cycles_per_wu"`
	PostCycles  int    `json:"post_cycles_per_wu"`
	NESingle    uint64 `json:"ne_single"`
	NEDouble    uint64 `json:"ne_double"`
	Planar      uint64 `json:"planar"`
	L2Broadcast uint64 `json:"l2_broadcast"`
	L2Writeback uint64 `json:"l2_writeback"`
	KernelBytes uint64 `json:"kernel_bytes"`
}

// A DMA holds the bytes that a descriptor moves between the engine and memory, by data path. It
// includes the padding of buffers.
type DMA struct {
	Source1     uint64 `json:"source1"`
	Source2     uint64 `json:"source2"`
	Kernel      uint64 `json:"kernel"`
	Destination uint64 `json:"destination"`
	Total       uint64 `json:"total"`
}

// DMAOf returns the bytes of the traffic t by data path, with their total.
func DMAOf(t *dma.Traffic) DMA {
	return DMA{t.Source1, t.Source2, t.Kernel, t.Destination, t.Total()}
}

// An Exe holds two estimates of a descriptor's duration in microseconds. Stored is the estimate by
// Apple's compiler in the program, or 0 if there is none. Model is computed by the compiler's
// rules for the target of the report.
type Exe struct {
	Stored uint16 `json:"stored"`
	Model  uint16 `json:"model"`
}

// Counters holds the 24 performance counters of a descriptor. In JSON they keep the order of the
// hardware.
type Counters hw.Counters

// All returns an iterator over the names and values of the counters, in the order of the hardware.
func (c *Counters) All() iter.Seq2[string, uint64] { return (*hw.Counters)(c).All() }

// MarshalJSON returns a JSON object with one member per counter, in the order of [Counters.All].
func (c Counters) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for name, v := range c.All() {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%d", name, v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON sets all counters from a JSON object. Counters without a member become 0. It
// returns an error if a member does not name a counter.
func (c *Counters) UnmarshalJSON(b []byte) error {
	var values map[string]uint64
	if err := json.Unmarshal(b, &values); err != nil {
		return err
	}
	i := 0
	for name := range c.All() {
		c[i] = values[name]
		delete(values, name)
		i++
	}
	for name := range values {
		return fmt.Errorf("unknown counter %q", name)
	}
	return nil
}

// NewRun converts r, the result of a compiled program or a single layer, to its JSON report.
func NewRun(r *anesim.Result) *Run {
	p, line, a := r.Programs[0].Program, r.Timeline(), r.Causes()
	d := &Run{
		Header: NewHeader(), Program: p.Name, Form: string(p.Form), Chip: r.Options.Chip.Name, Host: r.Options.Host.Name, Target: r.Target().String(), Parameters: newParameters(r), Peak: Peak(&r.Options.Chip),
		Descriptors: []Descriptor{}, Cycles: CyclesOf(&a), Total: newWall(r, line), Power: newPowerSpans(r, line),
		Outputs: OutputsOf(r), Repeat: newRepeat(r), State: newState(r), Calls: newCalls(r), Faults: newFaults(r), Limits: newLimits(r), Synthetic: r.Synthetic,
		WhatIfs: newWhatIfs(r),
	}
	for i := range r.Report.Descriptors {
		d.Descriptors = append(d.Descriptors, NewDescriptor(&r.Report.Descriptors[i]))
	}
	d.setPrecisions(r)
	if x := &r.Report.Rest; x.Count > 0 {
		d.Rest = &Rest{Descriptors: x.Count, TimeNs: x.Time, EnergyNJ: x.Energy}
		for i := range x.Groups {
			g := &x.Groups[i]
			d.Rest.Groups = append(d.Rest.Groups, Group{
				g.Op.String(), Shape(g.Shape), g.Count, CyclesOf(&g.Cycles), g.Time, g.Energy, EnergyOf(&g.Parts, 0), g.MACs, g.DMA.Total(),
			})
		}
	}
	return d
}

// An Overflow describes the first result of a dispatch that contains an infinity or a NaN. Infinite
// and NaN count these among the Elements of the result. Largest is the largest finite magnitude in
// the result, and Read the largest among the elements that were read from memory. Given is true if
// these already contained an infinity or a NaN.
type Overflow struct {
	Infinite uint64  `json:"infinite"`
	NaN      uint64  `json:"nan"`
	Elements uint64  `json:"elements"`
	Largest  float64 `json:"largest"`
	Read     float64 `json:"read"`
	Given    bool    `json:"given"`
}

// NewDescriptor converts the report of a descriptor to the form that it has in a JSON report.
func NewDescriptor(d *hw.DescriptorReport) Descriptor {
	a, u, e := &d.Cycles, &d.Units, &d.Parts
	b := d.Bounds()
	return Descriptor{
		Index: d.Index, Offset: d.Offset, Op: d.Op.String(), Shape: Shape(d.Shape),
		Engines: d.Engines, Tiles: d.Tiles,
		Cycles: CyclesOf(a), Saved: uint64(d.Saved),
		Units: Units{
			u.WorkUnits, u.MACCyclesPerWU, u.PostCyclesPerWU, uint64(u.NESingle), uint64(u.NEDouble),
			uint64(u.Planar), uint64(u.L2Broadcast), uint64(u.L2Writeback), u.KernelBytes,
		},
		DMA:  DMAOf(&d.DMA),
		Exe:  Exe(d.Exe),
		MACs: d.MACs, Skipped: d.Skipped, Zero: d.ZeroMACs, ZeroSaves: d.ZeroSaves,
		Bound: a.Bound(), Advice: Advice(d),
		TimeNs: d.Time, TimeLowNs: b.Low, TimeHighNs: b.High, WorkingNs: d.Working(), Rows: b.Rows, Measured: d.Measured(),
		EnergyNJ: d.Energy,
		EnergyOf: EnergyOf(e, 0),
		PowerW:   d.Watts(), Counters: Counters(d.Counters),
		Computed: d.Computed, Overflow: newOverflow(d.Overflow), Note: d.Note(), Caveat: d.Caveat(),
	}
}

func newOverflow(o *hw.Overflow) *Overflow {
	if o == nil {
		return nil
	}
	return &Overflow{o.Infinite, o.NaN, o.Elements, o.Largest, o.Read, o.Given}
}
