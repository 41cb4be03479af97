package anesim

import (
	"io"
	"iter"
	"slices"

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
	Schema int  `json:"schema"`
	Tool   Tool `json:"tool"`
}

// NewHeader is the header of the documents that this build of the module writes.
func NewHeader() Header { return Header{Schema, ThisTool()} }

// WriteJSON writes the result as the document of its kind: a [RunDocument] of a program or
// a layer, a [NetworkDocument] of a network.
func (r *Result) WriteJSON(w io.Writer) error {
	if r.Model.kind == KindNetwork {
		return WriteDocument(w, r.NetworkDocument())
	}
	return WriteDocument(w, r.RunDocument())
}

// A TotalDocument is what a layer or a run takes. Times are the engine's but for WallNs,
// which has the host's part, idling and waking. EnergyNJ of a layer leaves the dispatch's
// own energy out, that of a run has it; DispatchNJ says how much it is. Rates are over the
// engine's time.
type TotalDocument struct {
	Cycles     uint64            `json:"cycles"`
	TimeNs     clock.Nanoseconds `json:"time_ns"`
	TimeLowNs  clock.Nanoseconds `json:"time_ns_low,omitempty"`
	TimeHighNs clock.Nanoseconds `json:"time_ns_high,omitempty"`
	Rows       int               `json:"interval_rows,omitempty"` // measured rows that the interval rests on
	WallNs     clock.Nanoseconds `json:"wall_ns"`
	EnergyNJ   clock.Nanojoules  `json:"energy_nj"`
	DispatchNJ clock.Nanojoules  `json:"dispatch_energy_nj"`
	EnergyOf   EnergyDocument    `json:"energy_parts_nj"`
	Saved      uint64            `json:"saved_cycles"`
	MACs       uint64            `json:"macs"`
	DMABytes   uint64            `json:"dma_bytes"`
	Rates
}

// A WallDocument is a run's total with what the wall clock adds to the engine's.
// WallEnergyNJ has all: the engine's, the dispatches', the host's, idling and waking.
type WallDocument struct {
	TotalDocument
	IdleNs       clock.Nanoseconds `json:"idle_ns"`
	IdleNJ       clock.Nanojoules  `json:"idle_energy_nj"`
	WakeNs       clock.Nanoseconds `json:"wake_ns"`
	WakeNJ       clock.Nanojoules  `json:"wake_energy_nj"`
	HostNJ       clock.Nanojoules  `json:"host_energy_nj"`
	WallEnergyNJ clock.Nanojoules  `json:"wall_energy_nj"`
	PeakW        float64           `json:"peak_w"`

	HostParts *HostPartsDocument `json:"host_parts,omitempty"`
}

// A HostPartsDocument is the host's part of a run: each dispatch takes the stages, which sum
// to the host's floor, and DataNs is what is left, copies and conversions of the tensors.
type HostPartsDocument struct {
	Stages     []StageDocument   `json:"stages"`
	Dispatches int               `json:"dispatches"`
	DataNs     clock.Nanoseconds `json:"data_ns"`
	Interrupts float64           `json:"interrupts_per_dispatch"`
}

// A StageDocument is a stage of what each dispatch costs outside the engine.
type StageDocument struct {
	Name     string            `json:"name"`
	TimeNs   clock.Nanoseconds `json:"time_ns"`
	Evidence string            `json:"evidence"`
	Source   string            `json:"source"`
}

// stages are those of a host, nil for one without a floor.
func stages(h *host.Host) []StageDocument {
	var list []StageDocument
	for _, s := range h.Stages() {
		list = append(list, StageDocument{s.Name, clock.Nanoseconds(1e3 * s.Time.Value), string(s.Time.Evidence), s.Time.Source})
	}
	return list
}

// hostParts are those of the run, nil without a host that has stages.
func (r *Result) hostParts() *HostPartsDocument {
	list := stages(&r.Options.Host)
	if list == nil {
		return nil
	}
	d := &HostPartsDocument{Stages: list, Interrupts: host.Interrupts().Value}
	for i := range r.Programs {
		p := &r.Programs[i]
		d.Dispatches += len(p.Dispatches) + p.Again
	}
	d.DataNs = max(0, r.Host()-r.Stages()-clock.Nanoseconds(1e3*float64(d.Dispatches)*r.Options.Host.Floor.Value))
	return d
}

// An EnergyDocument is an energy by what takes it, the dispatch in totals alone.
type EnergyDocument struct {
	MAC      clock.Nanojoules `json:"mac"`
	Table    clock.Nanojoules `json:"table"`
	L2       clock.Nanojoules `json:"l2"`
	DRAM     clock.Nanojoules `json:"dram"`
	Planar   clock.Nanojoules `json:"planar"`
	Active   clock.Nanojoules `json:"active"`
	Dispatch clock.Nanojoules `json:"dispatch,omitempty"`
}

func energyDocument(p *hw.EnergyParts, dispatch clock.Nanojoules) EnergyDocument {
	return EnergyDocument{p.MAC, p.Table, p.L2, p.DRAM, p.Planar, p.Active, dispatch}
}

// A CyclesDocument is cycles by cause, under the causes' names. They sum to the total.
type CyclesDocument struct {
	Total uint64 `json:"total"`
	hw.Accounting
}

// All yields the causes by name, without the total.
func (c *CyclesDocument) All() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for cause, n := range c.Accounting.All() {
			if !yield(cause.String(), uint64(n)) {
				return
			}
		}
	}
}

// A SpanDocument is a stretch of wall time at one power.
type SpanDocument struct {
	AtNs     clock.Nanoseconds `json:"at_ns"`
	ForNs    clock.Nanoseconds `json:"for_ns"`
	Watts    float64           `json:"watts"`
	EnergyNJ clock.Nanojoules  `json:"energy_nj"`
	What     string            `json:"what"`
	Bound    string            `json:"bound,omitempty"` // of a descriptor, the cause with the most cycles
	L2Bytes  int               `json:"l2_bytes"`        // of the L2, that a descriptor has tensors and tiles in
}

// An OutputDocument is a tensor that came out: its shape (N, C, H, W, or what a network's
// file says) and the CRC-32 (IEEE) of its fp16 values in that order, little-endian.
type OutputDocument struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	CRC32 string `json:"crc32"`
	Type  string `json:"type,omitempty"` // of the elements in a network's file, as numpy names it
}

func (o OutputDocument) equal(other OutputDocument) bool {
	return o.Name == other.Name && slices.Equal(o.Shape, other.Shape) && o.CRC32 == other.CRC32
}

// A FaultDocument is what the modelled device would not survive.
type FaultDocument struct {
	Unit       string `json:"unit"`
	Descriptor int    `json:"descriptor"`
	Cycle      uint64 `json:"cycle"`
	What       string `json:"what"`
}

// A LimitDocument is something the model does not know or do, and where the run met it.
type LimitDocument struct {
	Kind  string `json:"kind"`
	What  string `json:"what"`
	Where string `json:"where,omitempty"`
}

// A ConstantDocument is a constant of the chip or the host with what it rests on.
type ConstantDocument struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Evidence string  `json:"evidence"`
	Source   string  `json:"source"`
}

// Constants are the chip's and the host's; the engine alone has no host's.
func (r *Result) Constants() []ConstantDocument {
	var list []ConstantDocument
	add := func(name string, c evidence.Constant) {
		list = append(list, ConstantDocument{name, c.Value, c.Unit, string(c.Evidence), c.Source})
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

// total is what a report's descriptors take.
func total(r *hw.Report) TotalDocument {
	b := r.Bounds()
	p := r.Parts()
	return TotalDocument{
		Cycles: uint64(r.Cycles), TimeNs: r.Time, TimeLowNs: b.Low, TimeHighNs: b.High, Rows: b.Rows, WallNs: r.Time,
		EnergyNJ: r.Energy, DispatchNJ: r.Dispatch,
		EnergyOf: energyDocument(&p, r.Dispatch),
		Saved:    uint64(r.Saved()), MACs: r.MACs, DMABytes: r.DMA.Total(), Rates: rates(r.MACs, r.DMA.Total(), r.Time),
	}
}

// wall is the run's total, with the parts of its timeline.
func (r *Result) wall(l *Timeline) WallDocument {
	t := total(r.Report)
	t.WallNs += r.Host() + l.Idle.Time + l.Wake.Time
	return WallDocument{
		TotalDocument: t,
		IdleNs:        l.Idle.Time, IdleNJ: l.Idle.Energy,
		WakeNs: l.Wake.Time, WakeNJ: l.Wake.Energy,
		HostNJ:       l.Host.Energy,
		WallEnergyNJ: t.EnergyNJ + l.Idle.Energy + l.Wake.Energy + l.Host.Energy,
		PeakW:        l.Peak(),
		HostParts:    r.hostParts(),
	}
}

func cycles(a *hw.Accounting) CyclesDocument { return CyclesDocument{uint64(a.Total()), *a} }

func (r *Result) outputs() []OutputDocument { return outputDocuments(r.Outputs) }

func outputDocuments(outputs []Output) []OutputDocument {
	list := []OutputDocument{}
	for _, o := range outputs {
		list = append(list, OutputDocument{o.Port.Name, o.Shape(), engine.Checksum(o.Data), o.Type})
	}
	return list
}

func (r *Result) faults() []FaultDocument {
	list := []FaultDocument{}
	for _, f := range r.Report.Faults {
		list = append(list, FaultDocument{f.Unit, f.Descriptor, uint64(f.Cycle), f.What})
	}
	return list
}

func (r *Result) limits() []LimitDocument {
	list := []LimitDocument{}
	for _, l := range r.Limits() {
		list = append(list, LimitDocument{string(l.Kind), l.What, l.Where})
	}
	return list
}
