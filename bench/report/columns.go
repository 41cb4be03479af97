package report

import (
	"fmt"
	"strconv"
	"strings"

	"anesim/hw"
)

// A Column describes a column of a table of descriptors or layers. A format has the columns that
// have a name for it, in the order of the list.
type Column[R any] struct {
	Name  string // in CSV
	Title string // for people

	// Order ranks the columns for a line that is too narrow: columns of the highest order are
	// left out first, and columns of order 0 never.
	Order int
	Left  bool // text: numbers stand to the right

	Value func(*R) Value
}

// DescriptorColumns lists the columns of tables of descriptors.
var DescriptorColumns = descriptorColumns()

func descriptorColumns() []Column[Descriptor] {
	type d = Descriptor
	list := []Column[d]{
		{"index", "td", 0, false, func(x *d) Value { return placeOf(x.Index) }},
		{"offset", "", 0, false, func(x *d) Value { return placeOf(x.Offset) }},
		{"op", "op", 0, true, func(x *d) Value { return textOf(x.Op) }},
		{"", "in", 0, false, func(x *d) Value { return textOf(Extent(x.Shape.Cin, x.Shape.Hin, x.Shape.Win)) }},
		{"", "out", 0, false, func(x *d) Value { return textOf(Extent(x.Shape.Cout, x.Shape.Hout, x.Shape.Wout)) }},
		{"", "kernel", 4, false, func(x *d) Value { return kernelOf(x) }},
		{"", "engines", 6, false, func(x *d) Value { return textOf(enginesOf(x)) }},
		{"win", "", 0, false, func(x *d) Value { return countOf(x.Shape.Win) }},
		{"hin", "", 0, false, func(x *d) Value { return countOf(x.Shape.Hin) }},
		{"cin", "", 0, false, func(x *d) Value { return countOf(x.Shape.Cin) }},
		{"wout", "", 0, false, func(x *d) Value { return countOf(x.Shape.Wout) }},
		{"hout", "", 0, false, func(x *d) Value { return countOf(x.Shape.Hout) }},
		{"cout", "", 0, false, func(x *d) Value { return countOf(x.Shape.Cout) }},
		{"kw", "", 0, false, func(x *d) Value { return countOf(x.Shape.Kw) }},
		{"kh", "", 0, false, func(x *d) Value { return countOf(x.Shape.Kh) }},
		{"groups", "", 0, false, func(x *d) Value { return countOf(x.Shape.Groups) }},
		{"engines", "", 0, false, func(x *d) Value { return countOf(x.Engines) }},
		{"tiles", "", 0, false, func(x *d) Value { return countOf(x.Tiles) }},
		{"cycles", "cycles", 0, false, func(x *d) Value { return countOf(x.Cycles.Total) }},
		{"", "compute", 7, false, func(x *d) Value { return shareOf(Percent(x.Cycles.Compute, x.Cycles.Total)) }},
	}
	for cause := range hw.NumCauses {
		list = append(list, Column[d]{Name: cause.String(), Value: func(x *d) Value { return countOf(uint64(*x.Cycles.Of(cause))) }})
	}
	return append(list, []Column[d]{
		{"work_units", "", 0, false, func(x *d) Value { return countOf(x.Units.WorkUnits) }},
		{"mac_cycles_per_wu", "", 0, false, func(x *d) Value { return countOf(x.Units.MACCycles) }},
		{"post_cycles_per_wu", "", 0, false, func(x *d) Value { return countOf(x.Units.PostCycles) }},
		{"ne_single", "", 0, false, func(x *d) Value { return countOf(x.Units.NESingle) }},
		{"ne_double", "", 0, false, func(x *d) Value { return countOf(x.Units.NEDouble) }},
		{"planar", "", 0, false, func(x *d) Value { return countOf(x.Units.Planar) }},
		{"l2_broadcast", "", 0, false, func(x *d) Value { return countOf(x.Units.L2Broadcast) }},
		{"l2_writeback", "", 0, false, func(x *d) Value { return countOf(x.Units.L2Writeback) }},
		{"kernel_bytes", "", 0, false, func(x *d) Value { return sizeOf(x.Units.KernelBytes) }},
		{"dma_source1", "", 0, false, func(x *d) Value { return sizeOf(x.DMA.Source1) }},
		{"dma_source2", "", 0, false, func(x *d) Value { return sizeOf(x.DMA.Source2) }},
		{"dma_kernel", "", 0, false, func(x *d) Value { return sizeOf(x.DMA.Kernel) }},
		{"dma_destination", "", 0, false, func(x *d) Value { return sizeOf(x.DMA.Destination) }},
		{"", "bound by", 0, true, func(x *d) Value { return causeOf(x.Bound) }},
		{"dma_total", "moved", 2, false, func(x *d) Value { return sizeOf(x.DMA.Total) }},
		{"", "GB/s", 5, false, func(x *d) Value { return rateOf(rates(0, x.DMA.Total, x.WorkingNs).GBPerS) }},
		{"exe_stored", "", 0, false, func(x *d) Value { return countOf(x.Exe.Stored) }},
		{"exe_model", "", 0, false, func(x *d) Value { return countOf(x.Exe.Model) }},
		{"macs", "", 0, false, func(x *d) Value { return countOf(x.MACs) }},
		{"bound", "", 0, false, func(x *d) Value { return causeOf(x.Bound) }},
		{"time_ns", "time", 0, false, func(x *d) Value { return timeOf(x.TimeNs) }},
		{"", "interval", 8, false, func(x *d) Value { return intervalOf(x) }},
		{"energy_nj", "energy", 3, false, func(x *d) Value { return energyOf(x.EnergyNJ) }},
		{"computed", "", 0, false, func(x *d) Value { return textOf(strconv.FormatBool(x.Computed)) }},
		{"time_ns_low", "", 0, false, func(x *d) Value { return timeOf(x.TimeLowNs) }},
		{"time_ns_high", "", 0, false, func(x *d) Value { return timeOf(x.TimeHighNs) }},
		{"saved_cycles", "", 0, false, func(x *d) Value { return countOf(x.Saved) }},
		{"power_w", "", 0, false, func(x *d) Value { return numberOf(x.PowerW) }},
		{"working_ns", "", 0, false, func(x *d) Value { return timeOf(x.WorkingNs) }},
		{"measured", "", 0, false, func(x *d) Value { return textOf(strconv.FormatBool(x.Measured)) }},
		{"", "vendor us", 9, false, func(x *d) Value { return textOf(vendorOf(x)) }},
	}...)
}

// LayerColumns lists the columns of tables of layers. A layer that is not modelled has no Cost.
var LayerColumns = []Column[Layer]{
	{"name", "layer", 0, true, func(x *Layer) Value { return nameOf(x.Name) }},
	{"op", "", 0, true, func(x *Layer) Value { return nameOf(x.Op) }},
	{"", "op", 0, true, func(x *Layer) Value { return nameOf(x.work()) }},
	{"in", "in", 4, false, func(x *Layer) Value { return textOf(Dims(x.In)) }},
	{"out", "out", 2, false, func(x *Layer) Value { return textOf(Dims(x.Out)) }},
	{"kernel", "kernel", 5, false, func(x *Layer) Value { return textOf(x.Kernel) }},
	{"folded", "", 0, false, func(x *Layer) Value { return nameOf(strings.Join(x.Folded, " ")) }},
	{"descriptors", "tds", 6, false, cost(func(x *Layer) Value { return placeOf(x.Descriptors) })},
	{"cycles", "cycles", 3, false, cost(func(x *Layer) Value { return countOf(x.Total.Cycles) })},
	{"bound", "bound by", 0, true, cost(func(x *Layer) Value { return causeOf(x.Bound) })},
	{"dma_bytes", "moved", 3, false, cost(func(x *Layer) Value { return sizeOf(x.Total.DMABytes) })},
	{"", "GB/s", 7, false, cost(func(x *Layer) Value { return rateOf(x.Total.GBPerS) })},
	{"time_ns", "time", 0, false, cost(func(x *Layer) Value { return timeOf(x.Total.TimeNs) })},
	{"energy_nj", "energy", 1, false, cost(func(x *Layer) Value { return energyOf(x.Total.EnergyNJ) })},
	{"macs", "", 0, false, cost(func(x *Layer) Value { return countOf(x.Total.MACs) })},
	{"tflops", "TFLOP/s", 7, false, cost(func(x *Layer) Value { return rateOf(x.TFLOPS) })},
}

// cost returns a function that calls value for a modelled layer and returns None for any other.
func cost(value func(*Layer) Value) func(*Layer) Value {
	return func(x *Layer) Value {
		if !x.Modelled {
			return None
		}
		return value(x)
	}
}

// work returns the layer's operation, followed by the operations that are fused into it.
func (l *Layer) work() string {
	if l.Activation != "" {
		return l.Op + "+" + l.Activation
	}
	return l.Op
}

// kernelOf returns the window of a convolution or a matmul, or None.
func kernelOf(d *Descriptor) Value {
	if d.Op != "conv" && d.Op != "matmul" {
		return None
	}
	k := fmt.Sprintf("%dx%d", d.Shape.Kh, d.Shape.Kw)
	if d.Shape.Groups > 1 {
		k += fmt.Sprintf("/%d", d.Shape.Groups)
	}
	return textOf(k)
}

func enginesOf(d *Descriptor) string {
	if d.Engines == 0 {
		return "planar"
	}
	return fmt.Sprintf("%d (%d tiles)", d.Engines, d.Tiles)
}

// UnmeasuredMark follows intervals and names of work that no measured row covers.
const UnmeasuredMark = "*"

// intervalOf returns the descriptor's interval as percentages below and above its time.
func intervalOf(d *Descriptor) Value {
	if d.TimeNs == 0 {
		return None
	}
	mark := ""
	if !d.Measured {
		mark = UnmeasuredMark
	}
	return textOf(fmt.Sprintf("-%.0f +%.0f%%%s", 100*(1-float64(d.TimeLowNs/d.TimeNs)), 100*(float64(d.TimeHighNs/d.TimeNs)-1), mark))
}

// vendorOf returns the vendor's stored estimate, followed in parentheses by the estimate of its
// rule if that differs or none is stored.
func vendorOf(d *Descriptor) string {
	if d.Exe.Stored == 0 {
		return fmt.Sprintf("(%d)", d.Exe.Model)
	}
	if d.Exe.Stored != d.Exe.Model {
		return fmt.Sprintf("%d (%d)", d.Exe.Stored, d.Exe.Model)
	}
	return fmt.Sprint(d.Exe.Stored)
}
