package report

import (
	"io"
	"iter"
	"slices"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/evidence"
	"anesim/hw/host"
	"anesim/hw/machine"
)

// Schema is the version of the JSON reports. The names of fields change only together with it.
const Schema = 1

// A Header holds the first fields of every JSON report: the version of the format and the tool that
// wrote the report.
type Header struct {
	Schema int         `json:"schema"`
	Tool   anesim.Tool `json:"tool"`
}

// NewHeader returns the header of a report, with the version of the running program.
func NewHeader() Header { return Header{Schema, anesim.ThisTool()} }

// WriteJSON writes a JSON report of the result r: a [Run] for a program or a layer, or a [Network]
// for a network.
func WriteJSON(w io.Writer, r *anesim.Result) error {
	if r.Model.Kind() == anesim.KindNetwork {
		return WriteDocument(w, NewNetwork(r))
	}
	return WriteDocument(w, NewRun(r))
}

// A Total holds the costs of a layer or a run. Times are engine times, except that WallNs includes
// the host, idling and waking. EnergyNJ includes DispatchNJ for a run, but not for a layer. Rates
// are means over WorkingNs.
type Total struct {
	Cycles     uint64            `json:"cycles"`
	TimeNs     clock.Nanoseconds `json:"time_ns"`
	TimeLowNs  clock.Nanoseconds `json:"time_ns_low,omitempty"`
	TimeHighNs clock.Nanoseconds `json:"time_ns_high,omitempty"`
	Rows       int               `json:"interval_rows,omitempty"` // number of measured rows behind the interval
	Unmeasured clock.Nanoseconds `json:"unmeasured_ns"`           // part of TimeNs that no measured row covers
	WorkingNs  clock.Nanoseconds `json:"working_ns"`              // time that the rates refer to
	WallNs     clock.Nanoseconds `json:"wall_ns"`
	EnergyNJ   clock.Nanojoules  `json:"energy_nj"`
	DispatchNJ clock.Nanojoules  `json:"dispatch_energy_nj"`
	EnergyOf   Energy            `json:"energy_parts_nj"`
	Saved      uint64            `json:"saved_cycles"`
	MACs       uint64            `json:"macs"`
	DMABytes   uint64            `json:"dma_bytes"`
	Rates
}

// A Wall is the [Total] of a run, with the time and energy spent outside the engine's work.
// WallEnergyNJ is the energy of the whole run: engine, dispatches, host, idling and waking.
type Wall struct {
	Total
	IdleNs       clock.Nanoseconds `json:"idle_ns"`
	IdleNJ       clock.Nanojoules  `json:"idle_energy_nj"`
	WakeNs       clock.Nanoseconds `json:"wake_ns"`
	WakeNJ       clock.Nanojoules  `json:"wake_energy_nj"`
	HostNJ       clock.Nanojoules  `json:"host_energy_nj"`
	WallEnergyNJ clock.Nanojoules  `json:"wall_energy_nj"`
	CallNJ       clock.Nanojoules  `json:"call_energy_nj,omitempty"` // mean of a call, where it has an interval
	CallLowNJ    clock.Nanojoules  `json:"call_energy_nj_low,omitempty"`
	CallHighNJ   clock.Nanojoules  `json:"call_energy_nj_high,omitempty"`
	PeakW        float64           `json:"peak_w"`

	HostParts *HostParts `json:"host_parts,omitempty"`
}

// A HostParts breaks down the time that the host adds to a run. Stages are the steps of one
// dispatch, and their times sum to the host's fixed time per dispatch. DataNs is the rest of the
// host's time, in which it copies and converts tensors.
type HostParts struct {
	Stages     []Stage           `json:"stages"`
	Dispatches int               `json:"dispatches"`
	DataNs     clock.Nanoseconds `json:"data_ns"`
	Interrupts float64           `json:"interrupts_per_dispatch"`
}

// A Stage is one step of the host's work for a dispatch, with its duration and the evidence for it.
type Stage struct {
	Name     string            `json:"name"`
	TimeNs   clock.Nanoseconds `json:"time_ns"`
	Evidence string            `json:"evidence"`
	Source   string            `json:"source"`
}

// newStages returns the stages of the host's work for one dispatch. It returns nil if the host adds
// no fixed time.
func newStages(h *host.Host) []Stage {
	var list []Stage
	for _, s := range h.Stages() {
		list = append(list, Stage{s.Name, clock.Nanoseconds(1e3 * s.Time.Value), string(s.Time.Evidence), s.Time.Source})
	}
	return list
}

// newHostParts divides the time that the host adds to a run into its parts. It returns nil if the
// host adds no fixed time.
func newHostParts(r *anesim.Result) *HostParts {
	list := newStages(&r.Options.Host)
	if list == nil {
		return nil
	}
	d := &HostParts{Stages: list, Interrupts: host.Interrupts().Value}
	for i := range r.Programs {
		p := &r.Programs[i]
		d.Dispatches += len(p.Dispatches) + p.Again
	}
	d.DataNs = max(0, r.Host()-r.Stages()-clock.Nanoseconds(float64(1e3*float64(d.Dispatches)*r.Options.Host.Floor.Value)))
	return d
}

// An Energy breaks an energy down by the units that draw it. Dispatch, the fixed energy of
// dispatches, is 0 for a layer or a descriptor.
type Energy struct {
	MAC      clock.Nanojoules `json:"mac"`
	Table    clock.Nanojoules `json:"table"`
	L2       clock.Nanojoules `json:"l2"`
	DRAM     clock.Nanojoules `json:"dram"`
	Planar   clock.Nanojoules `json:"planar"`
	Active   clock.Nanojoules `json:"active"`
	Dispatch clock.Nanojoules `json:"dispatch,omitempty"`
}

// All returns an iterator over the parts of the energy and the names that reports use for them. It
// includes parts that are 0.
func (e *Energy) All() iter.Seq2[string, clock.Nanojoules] {
	return func(yield func(string, clock.Nanojoules) bool) {
		for _, part := range [...]struct {
			name   string
			energy clock.Nanojoules
		}{
			{"multiply-accumulates", e.MAC}, {"table look-ups", e.Table}, {"L2", e.L2}, {"memory", e.DRAM},
			{"planar engine", e.Planar}, {"powered engines", e.Active}, {"the call itself", e.Dispatch},
		} {
			if !yield(part.name, part.energy) {
				return
			}
		}
	}
}

// EnergyOf returns an Energy with the parts in p and the given fixed energy of dispatches.
func EnergyOf(p *hw.EnergyParts, dispatch clock.Nanojoules) Energy {
	return Energy{p.MAC, p.Table, p.L2, p.DRAM, p.Planar, p.Active, dispatch}
}

// A Cycles breaks a number of cycles down by cause, such as computing or waiting for input. Each
// cycle counts for exactly one cause, so the causes sum to Total.
type Cycles struct {
	Total uint64 `json:"total"`
	hw.Accounting
}

// All returns an iterator over the causes, named as in JSON, such as "input_stall", and their
// numbers of cycles. It includes causes without cycles, but not the total.
func (c *Cycles) All() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for cause, n := range c.Accounting.All() {
			if !yield(cause.String(), uint64(n)) {
				return
			}
		}
	}
}

// A Span is an interval of a run's wall time in which the engine draws constant power. What names
// the engine's activity, such as "idle" or a descriptor.
type Span struct {
	AtNs     clock.Nanoseconds `json:"at_ns"`
	ForNs    clock.Nanoseconds `json:"for_ns"`
	Watts    float64           `json:"watts"`
	EnergyNJ clock.Nanojoules  `json:"energy_nj"`
	What     string            `json:"what"`
	Bound    string            `json:"bound,omitempty"` // for a descriptor, the cause with the most cycles
	L2Bytes  int               `json:"l2_bytes"`        // bytes of L2 that a descriptor uses for tensors and tiles
}

// newPowerSpans converts the spans of the timeline l for the report. Spans of descriptors also get
// their bottleneck and their use of L2.
func newPowerSpans(r *anesim.Result, l *anesim.Timeline) []Span {
	list := make([]Span, len(l.Spans))
	for i := range l.Spans {
		s := &l.Spans[i]
		list[i] = Span{AtNs: s.At, ForNs: s.For, Watts: s.Watts(), EnergyNJ: s.Energy, What: s.What}
	}
	occupied := map[*anesim.ProgramResult][]int{}
	at := 0
	for d, p := range r.Dispatches() {
		if _, ok := occupied[p]; !ok {
			occupied[p] = p.Occupancy()
		}
		for at < len(list) && list[at].What != anesim.SpanHost && list[at].What != anesim.SpanDispatch {
			at++ // what comes before a dispatch
		}
		at++
		counted := r.Counted(p, d)
		for i := range counted.Descriptors {
			x := &counted.Descriptors[i]
			if at < len(list) {
				list[at].Bound = x.Cycles.Bound()
				if x.Index < len(occupied[p]) {
					list[at].L2Bytes = occupied[p][x.Index]
				}
			}
			at++
		}
	}
	return list
}

// An Output describes an output tensor. Shape is in the order N, C, H, W, or as declared in the
// network's file. CRC32 is the IEEE checksum of the fp16 values in little-endian order, as eight
// hexadecimal digits.
type Output struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	CRC32 string `json:"crc32"`
	Type  string `json:"type,omitempty"` // numpy name of the element type in a network's file
}

// Equal reports whether o and other have the same name, shape and checksum. It does not compare
// element types.
func (o Output) Equal(other Output) bool {
	return o.Name == other.Name && slices.Equal(o.Shape, other.Shape) && o.CRC32 == other.CRC32
}

// A Fault is an error that the modelled engine raises. It ends the running program.
type Fault struct {
	Unit       string `json:"unit"`
	Descriptor int    `json:"descriptor"`
	Cycle      uint64 `json:"cycle"`
	What       string `json:"what"`
}

// A Limit is something that the model omits or does not know. Where is the part of the run that it
// affects, or empty.
type Limit struct {
	Kind  string `json:"kind"`
	What  string `json:"what"`
	Where string `json:"where,omitempty"`
}

// A Constant is a constant of a chip or a host. Evidence is the kind of evidence for its value, and
// Source is the origin of the value.
type Constant struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Evidence string  `json:"evidence"`
	Source   string  `json:"source"`
}

// ConstantsOf returns the constants of the run's chip, followed by those of its host. The host
// "none" has no constants.
func ConstantsOf(r *anesim.Result) []Constant {
	var list []Constant
	add := func(name string, c evidence.Constant) {
		list = append(list, Constant{name, c.Value, c.Unit, string(c.Evidence), c.Source})
	}
	for name, c := range r.Options.Chip.Constants() {
		add(name, c)
	}
	if r.Options.Host.Name != "none" {
		for name, c := range r.Options.Host.Constants() {
			add(name, c)
		}
	}
	return list
}

// newTotal returns the sum of the costs of all descriptors and dispatches of a report. The wall
// time is set to the engine time.
func newTotal(r *hw.Report) Total {
	b := r.Bounds()
	p := r.Parts()
	return Total{
		Cycles: uint64(r.Cycles), TimeNs: r.Time, TimeLowNs: b.Low, TimeHighNs: b.High, Rows: b.Rows, Unmeasured: b.Unmeasured, WorkingNs: r.Working(), WallNs: r.Time,
		EnergyNJ: r.Energy, DispatchNJ: r.Dispatch,
		EnergyOf: EnergyOf(&p, r.Dispatch),
		Saved:    uint64(r.Saved()), MACs: r.MACs, DMABytes: r.DMA.Total(), Rates: RatesOf(r),
	}
}

// newWall returns the costs of a run. The time and energy of the host, of idling and of waking are
// those in the timeline l.
func newWall(r *anesim.Result, l *anesim.Timeline) Wall {
	t := newTotal(r.Report)
	t.WallNs = machine.Wall(t.TimeNs, r.Host()) + l.Idle.Time + l.Wake.Time
	call, low, high := r.CallEnergy()
	if low <= 0 {
		call = 0
	}
	return Wall{
		CallNJ: call, CallLowNJ: low, CallHighNJ: high,
		Total:  t,
		IdleNs: l.Idle.Time, IdleNJ: l.Idle.Energy,
		WakeNs: l.Wake.Time, WakeNJ: l.Wake.Energy,
		HostNJ:       l.Host.Energy,
		WallEnergyNJ: t.EnergyNJ + l.Idle.Energy + l.Wake.Energy + l.Host.Energy,
		PeakW:        l.Peak(),
		HostParts:    newHostParts(r),
	}
}

// CyclesOf returns a Cycles with the causes in a and their total.
func CyclesOf(a *hw.Accounting) Cycles { return Cycles{uint64(a.Total()), *a} }

// OutputsOf describes the outputs of a run. The result is empty but not nil if no values were
// computed.
func OutputsOf(r *anesim.Result) []Output { return newOutputs(r.Outputs) }

func newOutputs(outputs []anesim.Output) []Output {
	list := []Output{}
	for _, o := range outputs {
		list = append(list, Output{o.Port.Name, o.Shape(), engine.Checksum(o.Data), o.Type})
	}
	return list
}

func newFaults(r *anesim.Result) []Fault {
	list := []Fault{}
	for _, f := range r.Report.Faults {
		list = append(list, Fault{f.Unit, f.Descriptor, uint64(f.Cycle), f.What})
	}
	return list
}

func newLimits(r *anesim.Result) []Limit {
	list := []Limit{}
	for _, l := range r.Limits() {
		list = append(list, Limit{string(l.Kind), l.What, l.Where})
	}
	return list
}
