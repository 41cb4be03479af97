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
)

// Schema is the version of the JSON documents: their names change only with it.
const Schema = 1

// A Header starts every JSON document.
type Header struct {
	Schema int         `json:"schema"`
	Tool   anesim.Tool `json:"tool"`
}

// NewHeader is the header of the documents that this build of the module writes.
func NewHeader() Header { return Header{Schema, anesim.ThisTool()} }

// WriteJSON writes the result as the document of its kind: a [Run] of a program or
// a layer, a [Network] of a network.
func WriteJSON(w io.Writer, r *anesim.Result) error {
	if r.Model.Kind() == anesim.KindNetwork {
		return WriteDocument(w, NewNetwork(r))
	}
	return WriteDocument(w, NewRun(r))
}

// A Total is what a layer or a run takes. Times are the engine's but for WallNs,
// which has the host's part, idling and waking. EnergyNJ of a layer leaves the dispatch's
// own energy out, that of a run has it; DispatchNJ says how much it is. Rates are over the
// engine's time.
type Total struct {
	Cycles     uint64            `json:"cycles"`
	TimeNs     clock.Nanoseconds `json:"time_ns"`
	TimeLowNs  clock.Nanoseconds `json:"time_ns_low,omitempty"`
	TimeHighNs clock.Nanoseconds `json:"time_ns_high,omitempty"`
	Rows       int               `json:"interval_rows,omitempty"` // measured rows that the interval rests on
	WorkingNs  clock.Nanoseconds `json:"working_ns"`              // what the rates are of
	WallNs     clock.Nanoseconds `json:"wall_ns"`
	EnergyNJ   clock.Nanojoules  `json:"energy_nj"`
	DispatchNJ clock.Nanojoules  `json:"dispatch_energy_nj"`
	EnergyOf   Energy            `json:"energy_parts_nj"`
	Saved      uint64            `json:"saved_cycles"`
	MACs       uint64            `json:"macs"`
	DMABytes   uint64            `json:"dma_bytes"`
	Rates
}

// A Wall is a run's total with what the wall clock adds to the engine's.
// WallEnergyNJ has all: the engine's, the dispatches', the host's, idling and waking.
type Wall struct {
	Total
	IdleNs       clock.Nanoseconds `json:"idle_ns"`
	IdleNJ       clock.Nanojoules  `json:"idle_energy_nj"`
	WakeNs       clock.Nanoseconds `json:"wake_ns"`
	WakeNJ       clock.Nanojoules  `json:"wake_energy_nj"`
	HostNJ       clock.Nanojoules  `json:"host_energy_nj"`
	WallEnergyNJ clock.Nanojoules  `json:"wall_energy_nj"`
	PeakW        float64           `json:"peak_w"`

	HostParts *HostParts `json:"host_parts,omitempty"`
}

// A HostParts is the host's part of a run: each dispatch takes the stages, which sum
// to the host's floor, and DataNs is what is left, copies and conversions of the tensors.
type HostParts struct {
	Stages     []Stage           `json:"stages"`
	Dispatches int               `json:"dispatches"`
	DataNs     clock.Nanoseconds `json:"data_ns"`
	Interrupts float64           `json:"interrupts_per_dispatch"`
}

// A Stage is a stage of what each dispatch costs outside the engine.
type Stage struct {
	Name     string            `json:"name"`
	TimeNs   clock.Nanoseconds `json:"time_ns"`
	Evidence string            `json:"evidence"`
	Source   string            `json:"source"`
}

// stages are those of a host, nil for one without a floor.
func stages(h *host.Host) []Stage {
	var list []Stage
	for _, s := range h.Stages() {
		list = append(list, Stage{s.Name, clock.Nanoseconds(1e3 * s.Time.Value), string(s.Time.Evidence), s.Time.Source})
	}
	return list
}

// hostPartsOf returns the host's part of a run, or nil if the host has no stages.
func hostPartsOf(r *anesim.Result) *HostParts {
	list := stages(&r.Options.Host)
	if list == nil {
		return nil
	}
	d := &HostParts{Stages: list, Interrupts: host.Interrupts().Value}
	for i := range r.Programs {
		p := &r.Programs[i]
		d.Dispatches += len(p.Dispatches) + p.Again
	}
	d.DataNs = max(0, r.Host()-r.Stages()-clock.Nanoseconds(1e3*float64(d.Dispatches)*r.Options.Host.Floor.Value))
	return d
}

// An Energy is an energy by what takes it, the dispatch in totals alone.
type Energy struct {
	MAC      clock.Nanojoules `json:"mac"`
	Table    clock.Nanojoules `json:"table"`
	L2       clock.Nanojoules `json:"l2"`
	DRAM     clock.Nanojoules `json:"dram"`
	Planar   clock.Nanojoules `json:"planar"`
	Active   clock.Nanojoules `json:"active"`
	Dispatch clock.Nanojoules `json:"dispatch,omitempty"`
}

func EnergyOf(p *hw.EnergyParts, dispatch clock.Nanojoules) Energy {
	return Energy{p.MAC, p.Table, p.L2, p.DRAM, p.Planar, p.Active, dispatch}
}

// A Cycles is cycles by cause, under the causes' names. They sum to the total.
type Cycles struct {
	Total uint64 `json:"total"`
	hw.Accounting
}

// All yields the causes by name, without the total.
func (c *Cycles) All() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for cause, n := range c.Accounting.All() {
			if !yield(cause.String(), uint64(n)) {
				return
			}
		}
	}
}

// A Span is a stretch of wall time at one power.
type Span struct {
	AtNs     clock.Nanoseconds `json:"at_ns"`
	ForNs    clock.Nanoseconds `json:"for_ns"`
	Watts    float64           `json:"watts"`
	EnergyNJ clock.Nanojoules  `json:"energy_nj"`
	What     string            `json:"what"`
	Bound    string            `json:"bound,omitempty"` // of a descriptor, the cause with the most cycles
	L2Bytes  int               `json:"l2_bytes"`        // of the L2, that a descriptor has tensors and tiles in
}

// An Output is a tensor that came out: its shape (N, C, H, W, or what a network's
// file says) and the CRC-32 (IEEE) of its fp16 values in that order, little-endian.
type Output struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	CRC32 string `json:"crc32"`
	Type  string `json:"type,omitempty"` // of the elements in a network's file, as numpy names it
}

// Equal reports whether o and other have the same name, shape and values. Types are not
// compared.
func (o Output) Equal(other Output) bool {
	return o.Name == other.Name && slices.Equal(o.Shape, other.Shape) && o.CRC32 == other.CRC32
}

// A Fault is what the modelled device would not survive.
type Fault struct {
	Unit       string `json:"unit"`
	Descriptor int    `json:"descriptor"`
	Cycle      uint64 `json:"cycle"`
	What       string `json:"what"`
}

// A Limit is something the model does not know or do, and where the run met it.
type Limit struct {
	Kind  string `json:"kind"`
	What  string `json:"what"`
	Where string `json:"where,omitempty"`
}

// A Constant is a constant of the chip or the host with what it rests on.
type Constant struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Evidence string  `json:"evidence"`
	Source   string  `json:"source"`
}

// ConstantsOf returns the constants of the run's chip, and of its host if it has one.
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

// totalOf adds up the descriptors of a report.
func totalOf(r *hw.Report) Total {
	b := r.Bounds()
	p := r.Parts()
	return Total{
		Cycles: uint64(r.Cycles), TimeNs: r.Time, TimeLowNs: b.Low, TimeHighNs: b.High, Rows: b.Rows, WorkingNs: r.Working(), WallNs: r.Time,
		EnergyNJ: r.Energy, DispatchNJ: r.Dispatch,
		EnergyOf: EnergyOf(&p, r.Dispatch),
		Saved:    uint64(r.Saved()), MACs: r.MACs, DMABytes: r.DMA.Total(), Rates: RatesOf(r),
	}
}

// wallOf adds the parts of the timeline l that are outside the engine to the run's total.
func wallOf(r *anesim.Result, l *anesim.Timeline) Wall {
	t := totalOf(r.Report)
	t.WallNs += r.Host() + l.Idle.Time + l.Wake.Time
	return Wall{
		Total:  t,
		IdleNs: l.Idle.Time, IdleNJ: l.Idle.Energy,
		WakeNs: l.Wake.Time, WakeNJ: l.Wake.Energy,
		HostNJ:       l.Host.Energy,
		WallEnergyNJ: t.EnergyNJ + l.Idle.Energy + l.Wake.Energy + l.Host.Energy,
		PeakW:        l.Peak(),
		HostParts:    hostPartsOf(r),
	}
}

func CyclesOf(a *hw.Accounting) Cycles { return Cycles{uint64(a.Total()), *a} }

func OutputsOf(r *anesim.Result) []Output { return outputDocuments(r.Outputs) }

func outputDocuments(outputs []anesim.Output) []Output {
	list := []Output{}
	for _, o := range outputs {
		list = append(list, Output{o.Port.Name, o.Shape(), engine.Checksum(o.Data), o.Type})
	}
	return list
}

func faultsOf(r *anesim.Result) []Fault {
	list := []Fault{}
	for _, f := range r.Report.Faults {
		list = append(list, Fault{f.Unit, f.Descriptor, uint64(f.Cycle), f.What})
	}
	return list
}

func limitsOf(r *anesim.Result) []Limit {
	list := []Limit{}
	for _, l := range r.Limits() {
		list = append(list, Limit{string(l.Kind), l.What, l.Where})
	}
	return list
}
