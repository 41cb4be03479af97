package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/hw"
)

// A Column describes a column of a table with one row per descriptor or layer. Name, Title and Page
// are its headings in CSV files, on a terminal and on HTML pages. An empty heading means that the
// column is left out there.
type Column[R any] struct {
	Name  string // in CSV
	Title string // on a terminal
	Page  string // on an HTML page
	Help  string // what the page says about the column

	// Order ranks the columns for a terminal or a window that is too narrow: columns of the
	// highest order are left out first, and columns of order 0 never.
	Order int
	Left  bool // on a terminal, align cells to the left

	Value func(*R) Value
}

// DescriptorColumns lists the columns of the tables with one row per descriptor.
var DescriptorColumns = slices.Concat(listWorkColumns(), listCauseColumns(), listCostColumns())

// listWorkColumns returns the columns with the position, shapes, engines and cycles of a
// descriptor.
func listWorkColumns() []Column[Descriptor] {
	type d = Descriptor
	return []Column[d]{
		{"index", "#", "#", "descriptor: its place in the chain", 0, false, func(x *d) Value { return newPositionValue(x.Index) }},
		newCSVColumn("offset", func(x *d) Value { return newPositionValue(x.Offset) }),
		{"op", "op", "op", "operation", 0, true, func(x *d) Value { return newTextValue(x.Op) }},
		{"", "in", "in", "source, C H W", 0, false, func(x *d) Value { return newTextValue(extent(x.Shape.Cin, x.Shape.Hin, x.Shape.Win)) }},
		{"", "out", "out", "result, C H W", 0, false, func(x *d) Value { return newTextValue(extent(x.Shape.Cout, x.Shape.Hout, x.Shape.Wout)) }},
		{"", "window", "window", "window, /groups", 4, false, func(x *d) Value { return newWindowValue(x) }},
		{"", "engines", "", "", 6, false, func(x *d) Value { return newTextValue(formatEngines(x)) }},
		newCSVColumn("win", func(x *d) Value { return newCountValue(x.Shape.Win) }),
		newCSVColumn("hin", func(x *d) Value { return newCountValue(x.Shape.Hin) }),
		newCSVColumn("cin", func(x *d) Value { return newCountValue(x.Shape.Cin) }),
		newCSVColumn("wout", func(x *d) Value { return newCountValue(x.Shape.Wout) }),
		newCSVColumn("hout", func(x *d) Value { return newCountValue(x.Shape.Hout) }),
		newCSVColumn("cout", func(x *d) Value { return newCountValue(x.Shape.Cout) }),
		newCSVColumn("kw", func(x *d) Value { return newCountValue(x.Shape.Kw) }),
		newCSVColumn("kh", func(x *d) Value { return newCountValue(x.Shape.Kh) }),
		newCSVColumn("groups", func(x *d) Value { return newCountValue(x.Shape.Groups) }),
		{"engines", "", "engines", "MAC engines at work", 6, false, func(x *d) Value { return newCountValue(x.Engines) }},
		newCSVColumn("tiles", func(x *d) Value { return newCountValue(x.Tiles) }),
		{"cycles", "cycles", "cycles", "engine cycles that it adds to the chain", 0, false, func(x *d) Value { return newCountValue(x.Cycles.Total) }},
		{"", "compute", "", "", 7, false, func(x *d) Value { return newShareValue(Percent(x.Cycles.Compute, x.Cycles.Total)) }},
	}
}

// listCauseColumns returns a column for each cause of cycles.
func listCauseColumns() (list []Column[Descriptor]) {
	for cause := range hw.NumCauses {
		list = append(list, newCSVColumn(cause.String(), func(x *Descriptor) Value { return newCountValue(uint64(*x.Cycles.Of(cause))) }))
	}
	return list
}

// listCostColumns returns the columns with the units, bytes, time and energy of a descriptor.
func listCostColumns() []Column[Descriptor] {
	type d = Descriptor
	return []Column[d]{
		newCSVColumn("work_units", func(x *d) Value { return newCountValue(x.Units.WorkUnits) }),
		newCSVColumn("mac_cycles_per_wu", func(x *d) Value { return newCountValue(x.Units.MACCycles) }),
		newCSVColumn("post_cycles_per_wu", func(x *d) Value { return newCountValue(x.Units.PostCycles) }),
		newCSVColumn("ne_single", func(x *d) Value { return newCountValue(x.Units.NESingle) }),
		newCSVColumn("ne_double", func(x *d) Value { return newCountValue(x.Units.NEDouble) }),
		newCSVColumn("planar", func(x *d) Value { return newCountValue(x.Units.Planar) }),
		newCSVColumn("l2_broadcast", func(x *d) Value { return newCountValue(x.Units.L2Broadcast) }),
		newCSVColumn("l2_writeback", func(x *d) Value { return newCountValue(x.Units.L2Writeback) }),
		newCSVColumn("kernel_bytes", func(x *d) Value { return newSizeValue(x.Units.KernelBytes) }),
		newCSVColumn("dma_source1", func(x *d) Value { return newSizeValue(x.DMA.Source1) }),
		newCSVColumn("dma_source2", func(x *d) Value { return newSizeValue(x.DMA.Source2) }),
		newCSVColumn("dma_kernel", func(x *d) Value { return newSizeValue(x.DMA.Kernel) }),
		newCSVColumn("dma_destination", func(x *d) Value { return newSizeValue(x.DMA.Destination) }),
		// Columns without a CSV name are for people only: a text table leaves out what CSV gives in
		// several columns.
		{"", "bound by", "bound by", "the cause with the most cycles", 0, true, func(x *d) Value { return newCauseValue(x.Bound) }},
		{"dma_total", "moved", "moved", "bytes between device memory and the engine", 2, false, func(x *d) Value { return newSizeValue(x.DMA.Total) }},
		{"", "GB/s", "GB/s", "bytes over working time", 5, false, func(x *d) Value { return newRateValue(NewRates(0, x.DMA.Total, x.WorkingNs).GBPerS) }},
		newCSVColumn("exe_stored", func(x *d) Value { return newCountValue(x.Exe.Stored) }),
		newCSVColumn("exe_model", func(x *d) Value { return newCountValue(x.Exe.Model) }),
		newCSVColumn("macs", func(x *d) Value { return newCountValue(x.MACs) }),
		newCSVColumn("bound", func(x *d) Value { return newCauseValue(x.Bound) }),
		{"time_ns", "time", "time", "engine time", 0, false, func(x *d) Value { return newTimeValue(x.TimeNs) }},
		{"", "interval", "", "", 8, false, func(x *d) Value { return newIntervalValue(x) }},
		{"energy_nj", "energy", "energy", "without what the call itself costs", 3, false, func(x *d) Value { return newEnergyValue(x.EnergyNJ) }},
		newCSVColumn("computed", func(x *d) Value { return newTextValue(strconv.FormatBool(x.Computed)) }),
		{"time_ns_low", "", "low", "lower end of the time's " + hw.IntervalPercent + " interval", 9, false, func(x *d) Value { return newTimeValue(x.TimeLowNs) }},
		{"time_ns_high", "", "high", "upper end of the time's " + hw.IntervalPercent + " interval", 9, false, func(x *d) Value { return newTimeValue(x.TimeHighNs) }},
		newCSVColumn("saved_cycles", func(x *d) Value { return newCountValue(x.Saved) }),
		newCSVColumn("power_w", func(x *d) Value { return newNumberValue(x.PowerW) }),
		newCSVColumn("working_ns", func(x *d) Value { return newTimeValue(x.WorkingNs) }),
		newCSVColumn("measured", func(x *d) Value { return newTextValue(strconv.FormatBool(x.Measured)) }),
		{"", "", "TFLOP/s", "operations over working time; a multiply-accumulate is two", 8, false, func(x *d) Value { return newRateValue(NewRates(x.MACs, 0, x.WorkingNs).TFLOPS) }},
		{"", "Apple us", "", "", 9, false, func(x *d) Value { return newTextValue(formatVendorEstimates(x)) }},
	}
}

// LayerColumns lists the columns of the tables with one row per layer. Cells with costs are empty
// for a layer that is not modelled.
var LayerColumns = []Column[Layer]{
	{"name", "layer", "layer", "name in the network", 0, true, func(x *Layer) Value { return newNameValue(x.Name) }},
	newCSVColumn("op", func(x *Layer) Value { return newNameValue(x.Op) }),
	{"", "op", "op", "operation", 0, true, func(x *Layer) Value { return newNameValue(x.operationName()) }},
	{"in", "in", "in", "N C H W", 4, false, func(x *Layer) Value { return newTextValue(dims(x.In)) }},
	{"out", "out", "out", "N C H W", 2, false, func(x *Layer) Value { return newTextValue(dims(x.Out)) }},
	{"kernel", "window", "window", "taps, /stride and :groups", 5, false, func(x *Layer) Value { return newTextValue(x.Kernel) }},
	newCSVColumn("folded", func(x *Layer) Value { return newNameValue(strings.Join(x.Folded, " ")) }),
	{"descriptors", "descriptors", "descriptors", "descriptors of its own", 6, false, valueIfModelled(func(x *Layer) Value { return newPositionValue(x.Descriptors) })},
	{"cycles", "cycles", "cycles", "engine cycles that it adds to the chain", 3, false, valueIfModelled(func(x *Layer) Value { return newCountValue(x.Total.Cycles) })},
	{"bound", "bound by", "bound by", "the cause with the most cycles", 0, true, valueIfModelled(func(x *Layer) Value { return newCauseValue(x.Bound) })},
	{"dma_bytes", "moved", "moved", "bytes between device memory and the engine", 3, false, valueIfModelled(func(x *Layer) Value { return newSizeValue(x.Total.DMABytes) })},
	{"", "GB/s", "GB/s", "bytes over working time", 7, false, valueIfModelled(func(x *Layer) Value { return newRateValue(x.Total.GBPerS) })},
	{"time_ns", "time", "time", "engine time", 0, false, valueIfModelled(func(x *Layer) Value { return newTimeValue(x.Total.TimeNs) })},
	{"energy_nj", "energy", "energy", "without what the call itself costs", 1, false, valueIfModelled(func(x *Layer) Value { return newEnergyValue(x.Total.EnergyNJ) })},
	newCSVColumn("macs", valueIfModelled(func(x *Layer) Value { return newCountValue(x.Total.MACs) })),
	{"", "", "low", "lower end of the time's " + hw.IntervalPercent + " interval", 9, false, valueIfModelled(func(x *Layer) Value { return newTimeValue(x.Total.TimeLowNs) })},
	{"", "", "high", "upper end of the time's " + hw.IntervalPercent + " interval", 9, false, valueIfModelled(func(x *Layer) Value { return newTimeValue(x.Total.TimeHighNs) })},
	{"tflops", "TFLOP/s", "TFLOP/s", "operations over working time; a multiply-accumulate is two", 7, false, valueIfModelled(func(x *Layer) Value { return newRateValue(x.TFLOPS) })},
}

// newCSVColumn returns a column that only CSV files have, with the given name.
func newCSVColumn[R any](name string, value func(*R) Value) Column[R] {
	return Column[R]{Name: name, Value: value}
}

// valueIfModelled returns a function that returns value(l) if layer l is modelled, and none
// otherwise.
func valueIfModelled(value func(*Layer) Value) func(*Layer) Value {
	return func(x *Layer) Value {
		if !x.Modelled {
			return none
		}
		return value(x)
	}
}

// operationName returns the layer's operation, followed by the activation that is fused into it, as
// in "conv+relu".
func (l *Layer) operationName() string {
	if l.Activation != "" {
		return l.Op + "+" + l.Activation
	}
	return l.Op
}

// newWindowValue returns the window of a convolution or matmul, followed by the number of groups,
// such as "3x3/32". It returns none for other operations.
func newWindowValue(d *Descriptor) Value {
	if d.Op != "conv" && d.Op != "matmul" {
		return none
	}
	k := fmt.Sprintf("%dx%d", d.Shape.Kh, d.Shape.Kw)
	if d.Shape.Groups > 1 {
		k += fmt.Sprintf("/%d", d.Shape.Groups)
	}
	return newTextValue(k)
}

func formatEngines(d *Descriptor) string {
	if d.Engines == 0 {
		return "planar"
	}
	return fmt.Sprintf("%d (%d tiles)", d.Engines, d.Tiles)
}

// UnmeasuredMark is appended to a time interval or a layer's name if no measurement covers that
// kind of work.
const UnmeasuredMark = "*"

// newIntervalValue returns the prediction interval of the descriptor's time, relative to the time,
// such as "-24 +40%". It returns none if the time is 0.
func newIntervalValue(d *Descriptor) Value {
	if d.TimeNs == 0 {
		return none
	}
	mark := ""
	if !d.Measured {
		mark = UnmeasuredMark
	}
	return newTextValue(fmt.Sprintf("-%.0f +%.0f%%%s", 100*(1-float64(d.TimeLowNs/d.TimeNs)), 100*(float64(d.TimeHighNs/d.TimeNs)-1), mark))
}

// formatVendorEstimates returns the time in microseconds that the program stores for the
// descriptor. If the vendor's rule gives another time, that follows in parentheses.
func formatVendorEstimates(d *Descriptor) string {
	if d.Exe.Stored == 0 {
		return fmt.Sprintf("(%d)", d.Exe.Model)
	}
	if d.Exe.Stored != d.Exe.Model {
		return fmt.Sprintf("%d (%d)", d.Exe.Stored, d.Exe.Model)
	}
	return fmt.Sprint(d.Exe.Stored)
}
