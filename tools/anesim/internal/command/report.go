package command

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
)

// schema is the version of the JSON below: its names change only with it.
const schema = 1

type jsonReport struct {
	Schema      int              `json:"schema"`
	Program     string           `json:"program"`
	Form        string           `json:"form"`
	Chip        string           `json:"chip"`
	Host        string           `json:"host"`
	Descriptors []jsonDescriptor `json:"descriptors"`
	Total       jsonWall         `json:"total"`
	Power       []jsonSpan       `json:"power"`
	Outputs     []jsonOutput     `json:"outputs"`
	Faults      []jsonFault      `json:"faults"`
	Synthetic   []string         `json:"synthetic_inputs,omitempty"`
	Constants   []jsonConstant   `json:"constants,omitempty"`
}

type jsonDescriptor struct {
	Index    int          `json:"index"`
	Offset   uint32       `json:"offset"`
	Op       string       `json:"op"`
	Shape    jsonShape    `json:"shape"`
	Engines  int          `json:"engines"`
	Tiles    int          `json:"tiles"`
	Cycles   jsonCycles   `json:"cycles"`
	Saved    uint64       `json:"saved_cycles"`
	Units    jsonUnits    `json:"units"`
	DMA      jsonDMA      `json:"dma_bytes"`
	Exe      jsonExe      `json:"exe_cycles"`
	MACs     uint64       `json:"macs"`
	Skipped  uint64       `json:"skipped_macs"`
	Bound    string       `json:"bound"`
	Advice   string       `json:"advice"`
	TimeNs   float64      `json:"time_ns"`
	TimeLow  float64      `json:"time_ns_low"`
	TimeHigh float64      `json:"time_ns_high"`
	EnergyNJ float64      `json:"energy_nj"`
	Energy   jsonEnergy   `json:"energy_parts_nj"`
	PowerW   float64      `json:"power_w"`
	Counters jsonCounters `json:"counters"`
	Computed bool         `json:"computed"`
	Note     string       `json:"note,omitempty"`
	Caveat   string       `json:"caveat,omitempty"`
}

type jsonShape struct {
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

type jsonCycles struct {
	Total        uint64 `json:"total"`
	Compute      uint64 `json:"compute"`
	InputStall   uint64 `json:"input_stall"`
	OutputStall  uint64 `json:"output_stall"`
	KernelStall  uint64 `json:"kernel_stall"`
	Throttle     uint64 `json:"throttle"`
	L2ReadStall  uint64 `json:"l2_read_stall"`
	L2WriteStall uint64 `json:"l2_write_stall"`
	Overhead     uint64 `json:"overhead"`
	Idle         uint64 `json:"idle"`
}

// jsonEnergy is an energy by what takes it, the dispatch in totals alone.
type jsonEnergy struct {
	MAC      float64 `json:"mac"`
	Table    float64 `json:"table"`
	L2       float64 `json:"l2"`
	DRAM     float64 `json:"dram"`
	Active   float64 `json:"active"`
	Dispatch float64 `json:"dispatch,omitempty"`
}

func energyOf(e *hw.EnergyParts, dispatch clock.Nanojoules) jsonEnergy {
	return jsonEnergy{float64(e.MAC), float64(e.Table), float64(e.L2), float64(e.DRAM), float64(e.Active), float64(dispatch)}
}

type jsonUnits struct {
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

type jsonDMA struct {
	Source1     uint64 `json:"source1"`
	Source2     uint64 `json:"source2"`
	Kernel      uint64 `json:"kernel"`
	Destination uint64 `json:"destination"`
	Total       uint64 `json:"total"`
}

type jsonExe struct {
	Stored uint16 `json:"stored"`
	Model  uint16 `json:"model"`
}

type jsonTotal struct {
	Cycles   uint64     `json:"cycles"`
	TimeNs   float64    `json:"time_ns"`
	TimeLow  float64    `json:"time_ns_low,omitempty"`
	TimeHigh float64    `json:"time_ns_high,omitempty"`
	WallNs   float64    `json:"wall_ns"`
	EnergyNJ float64    `json:"energy_nj"`
	Dispatch float64    `json:"dispatch_energy_nj"`
	Energy   jsonEnergy `json:"energy_parts_nj"`
	Saved    uint64     `json:"saved_cycles"`
	MACs     uint64     `json:"macs"`
	DMABytes uint64     `json:"dma_bytes"`
}

type jsonOutput struct {
	Name  string `json:"name"`
	Shape [4]int `json:"shape"`
	CRC32 string `json:"crc32"`
}

type jsonFault struct {
	Unit       string `json:"unit"`
	Descriptor int    `json:"descriptor"`
	Cycle      uint64 `json:"cycle"`
	What       string `json:"what"`
}

type jsonConstant struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Evidence string  `json:"evidence"`
	Source   string  `json:"source"`
}

// jsonCounters keeps the counters in their own order.
type jsonCounters hw.Counters

func (c jsonCounters) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for name, v := range (*hw.Counters)(&c).All() {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%d", name, v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func writeJSON(w io.Writer, res *anesim.Result, o *anesim.Options, f *runFlags) error {
	r := res.Report
	host := hostTime(&f.preset, res)
	line := timeline(res, host, &o.Chip)
	low, high := r.Interval()
	parts := r.Parts()
	out := jsonReport{
		Schema: schema, Program: res.Program.Name, Form: string(res.Program.Form),
		Chip: o.Chip.Name, Host: f.preset.Name, Synthetic: res.Synthetic,
		Descriptors: []jsonDescriptor{}, Outputs: []jsonOutput{}, Faults: []jsonFault{},
		Total: onTheWall(jsonTotal{
			Cycles: uint64(r.Cycles), TimeNs: float64(r.Time), TimeLow: float64(low), TimeHigh: float64(high),
			WallNs: float64(r.Time + host), EnergyNJ: float64(r.Energy), Dispatch: float64(r.Dispatch),
			MACs: r.MACs, DMABytes: r.DMA.Total(), Energy: energyOf(&parts, r.Dispatch), Saved: uint64(r.Saved()),
		}, line),
		Power: jsonSpans(line),
	}
	for i := range r.Descriptors {
		out.Descriptors = append(out.Descriptors, jsonOf(&r.Descriptors[i]))
	}
	for _, p := range res.Outputs {
		out.Outputs = append(out.Outputs, jsonOutput{p.Port.Name, p.Port.Shape, checksum(p.Data)})
	}
	for _, x := range r.Faults {
		out.Faults = append(out.Faults, jsonFault{x.Unit, x.Descriptor, uint64(x.Cycle), x.What})
	}
	if f.constants {
		for name, c := range o.Chip.Constants() {
			out.Constants = append(out.Constants, jsonConstant{name, c.Value, c.Unit, string(c.Evidence), c.Source})
		}
		for name, c := range hostConstants(&f.preset) {
			out.Constants = append(out.Constants, jsonConstant{name, c.Value, c.Unit, string(c.Evidence), c.Source})
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(out)
}

func jsonOf(d *hw.DescriptorReport) jsonDescriptor {
	a, u := &d.Cycles, &d.Units
	low, high := d.Interval()
	return jsonDescriptor{
		Index: d.Index, Offset: d.Offset, Op: d.Op.String(), Shape: jsonShape(d.Shape),
		Engines: d.Engines, Tiles: d.Tiles,
		Cycles: jsonCycles{
			uint64(a.Total()), uint64(a.Compute), uint64(a.InputStall), uint64(a.OutputStall), uint64(a.KernelStall),
			uint64(a.Throttle), uint64(a.L2ReadStall), uint64(a.L2WriteStall), uint64(a.Overhead), uint64(a.Idle),
		},
		Saved: uint64(d.Saved),
		Units: jsonUnits{
			u.WorkUnits, u.MACCyclesPerWU, u.PostCyclesPerWU, uint64(u.NESingle), uint64(u.NEDouble),
			uint64(u.Planar), uint64(u.L2Broadcast), uint64(u.L2Writeback), u.KernelBytes,
		},
		DMA:      jsonDMA{d.DMA.Source1, d.DMA.Source2, d.DMA.Kernel, d.DMA.Destination, d.DMA.Total()},
		Exe:      jsonExe(d.Exe),
		MACs:     d.MACs,
		Skipped:  d.Skipped,
		Bound:    a.Bound(),
		Advice:   d.Advice(),
		TimeNs:   float64(d.Time),
		TimeLow:  float64(low),
		TimeHigh: float64(high),
		EnergyNJ: float64(d.Energy),
		Energy:   energyOf(&d.Parts, 0),
		PowerW:   watts(d),
		Counters: jsonCounters(d.Counters),
		Computed: d.Computed,
		Note:     d.Note,
		Caveat:   d.Caveat,
	}
}

// checksum is the CRC-32 (IEEE) of the halves in N, C, H, W order, little-endian.
func checksum(data []float16.Float16) string {
	b := make([]byte, 0, 2*len(data))
	for _, h := range data {
		b = binary.LittleEndian.AppendUint16(b, uint16(h))
	}
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(b))
}

// writeCSV writes the descriptors, a row each.
func writeCSV(w io.Writer, res *anesim.Result) error {
	c := csv.NewWriter(w)
	c.Write([]string{
		"index", "offset", "op", "win", "hin", "cin", "wout", "hout", "cout", "kw", "kh", "groups", "engines", "tiles",
		"cycles", "compute", "input_stall", "output_stall", "kernel_stall", "throttle", "l2_read_stall", "l2_write_stall", "overhead", "idle",
		"work_units", "mac_cycles_per_wu", "post_cycles_per_wu", "ne_single", "ne_double", "planar", "l2_broadcast", "l2_writeback", "kernel_bytes",
		"dma_source1", "dma_source2", "dma_kernel", "dma_destination", "dma_total", "exe_stored", "exe_model",
		"macs", "bound", "time_ns", "energy_nj", "computed", "time_ns_low", "time_ns_high", "saved_cycles", "power_w",
	})
	for i := range res.Report.Descriptors {
		d := jsonOf(&res.Report.Descriptors[i])
		row := []string{strconv.Itoa(d.Index), strconv.Itoa(int(d.Offset)), d.Op}
		for _, n := range [...]int{d.Shape.Win, d.Shape.Hin, d.Shape.Cin, d.Shape.Wout, d.Shape.Hout, d.Shape.Cout, d.Shape.Kw, d.Shape.Kh, d.Shape.Groups, d.Engines, d.Tiles} {
			row = append(row, strconv.Itoa(n))
		}
		y, u, m := d.Cycles, d.Units, d.DMA
		for _, n := range [...]uint64{
			y.Total, y.Compute, y.InputStall, y.OutputStall, y.KernelStall, y.Throttle, y.L2ReadStall, y.L2WriteStall, y.Overhead, y.Idle,
			uint64(u.WorkUnits), uint64(u.MACCycles), uint64(u.PostCycles), u.NESingle, u.NEDouble, u.Planar, u.L2Broadcast, u.L2Writeback, u.KernelBytes,
			m.Source1, m.Source2, m.Kernel, m.Destination, m.Total, uint64(d.Exe.Stored), uint64(d.Exe.Model), d.MACs,
		} {
			row = append(row, strconv.FormatUint(n, 10))
		}
		c.Write(append(row, d.Bound, number(d.TimeNs), number(d.EnergyNJ), strconv.FormatBool(d.Computed),
			number(d.TimeLow), number(d.TimeHigh), strconv.FormatUint(d.Saved, 10), number(d.PowerW)))
	}
	c.Flush()
	return c.Error()
}

// number prints a float the same on every machine, without more digits than it has.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) }
