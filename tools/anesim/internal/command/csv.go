package command

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"anesim/bench/report"
	"anesim/hw"
)

// runColumns are those of a descriptor's row.
func runColumns() []string {
	list := []string{
		"index", "offset", "op", "win", "hin", "cin", "wout", "hout", "cout", "kw", "kh", "groups", "engines", "tiles", "cycles",
	}
	for cause := range new(report.Cycles).All() {
		list = append(list, cause)
	}
	return append(list,
		"work_units", "mac_cycles_per_wu", "post_cycles_per_wu", "ne_single", "ne_double", "planar", "l2_broadcast", "l2_writeback", "kernel_bytes",
		"dma_source1", "dma_source2", "dma_kernel", "dma_destination", "dma_total", "exe_stored", "exe_model",
		"macs", "bound", "time_ns", "energy_nj", "computed", "time_ns_low", "time_ns_high", "saved_cycles", "power_w", "working_ns",
	)
}

// A runCSV writes descriptors, a row each; with the program's name first where there are
// several. Names of a file become cells, see [report.Cell].
type runCSV struct {
	w      *csv.Writer
	name   []string
	header []string // to be written before the first row
	row    []string
	text   []byte // of the row's fields, one after the other
	ends   []int  // of the fields in text
}

func newRunCSV(w io.Writer, program string, several, header bool) *runCSV {
	c := &runCSV{w: csv.NewWriter(w)}
	if header {
		c.header = runColumns()
	}
	if several {
		c.name = []string{report.Cell(program)}
		if header {
			c.header = append([]string{"program"}, c.header...)
		}
	}
	return c
}

// begin writes the header.
func (c *runCSV) begin() {
	if c.header != nil {
		c.w.Write(c.header)
		c.header = nil
	}
}

// descriptor writes a row.
func (c *runCSV) descriptor(d *report.Descriptor) {
	c.begin()
	c.text, c.ends = c.text[:0], c.ends[:0]
	end := func() { c.ends = append(c.ends, len(c.text)) }
	text := func(s string) { c.text = append(c.text, s...); end() }
	integer := func(n uint64) { c.text = strconv.AppendUint(c.text, n, 10); end() }
	float := func(v float64) { c.text = report.AppendNumber(c.text, v); end() }

	integer(uint64(d.Index))
	integer(uint64(d.Offset))
	text(d.Op)
	for _, n := range [...]int{d.Shape.Win, d.Shape.Hin, d.Shape.Cin, d.Shape.Wout, d.Shape.Hout, d.Shape.Cout, d.Shape.Kw, d.Shape.Kh, d.Shape.Groups, d.Engines, d.Tiles} {
		c.text = strconv.AppendInt(c.text, int64(n), 10)
		end()
	}
	integer(d.Cycles.Total)
	for _, n := range d.Cycles.All() {
		integer(n)
	}
	u, m := &d.Units, &d.DMA
	for _, n := range [...]uint64{
		uint64(u.WorkUnits), uint64(u.MACCycles), uint64(u.PostCycles), u.NESingle, u.NEDouble, u.Planar, u.L2Broadcast, u.L2Writeback, u.KernelBytes,
		m.Source1, m.Source2, m.Kernel, m.Destination, m.Total, uint64(d.Exe.Stored), uint64(d.Exe.Model), d.MACs,
	} {
		integer(n)
	}
	text(d.Bound)
	float(float64(d.TimeNs))
	float(float64(d.EnergyNJ))
	text(strconv.FormatBool(d.Computed))
	float(float64(d.TimeLowNs))
	float(float64(d.TimeHighNs))
	integer(d.Saved)
	float(d.PowerW)
	float(float64(d.WorkingNs))

	c.row = append(c.row[:0], c.name...)
	all, from := string(c.text), 0
	for _, to := range c.ends {
		c.row = append(c.row, all[from:to])
		from = to
	}
	c.w.Write(c.row)
}

// repeat writes the rows of the dispatches that a report counts and does not list: those of
// the last listed dispatch, again and again.
func (c *runCSV) repeat(listed []report.Descriptor, r *hw.Report) {
	last := listed[len(listed)-min(r.Per, len(listed)):]
	for range r.Again {
		for i := range last {
			c.descriptor(&last[i])
		}
	}
}

// end writes what is left.
func (c *runCSV) end() error {
	c.begin()
	c.w.Flush()
	return c.w.Error()
}

// writeNetworkCSV writes the layers, a row each.
func writeNetworkCSV(w io.Writer, d *report.Network) error {
	c := csv.NewWriter(w)
	c.Write([]string{
		"name", "op", "in", "out", "kernel", "folded", "descriptors", "cycles", "bound", "dma_bytes",
		"time_ns", "energy_nj", "macs", "tflops", "not_modelled", "program",
	})
	missing := d.NotModelled
	for i := range d.Layers {
		l := &d.Layers[i]
		row := []string{report.Cell(l.Name), report.Cell(l.Op), report.Dims(l.In), report.Dims(l.Out), l.Kernel, report.Cell(strings.Join(l.Folded, " "))}
		reason := ""
		if l.Modelled {
			row = append(row, strconv.Itoa(l.Descriptors), strconv.FormatUint(l.Total.Cycles, 10), l.Bound,
				strconv.FormatUint(l.Total.DMABytes, 10), report.Number(l.Total.TimeNs), report.Number(l.Total.EnergyNJ),
				strconv.FormatUint(l.Total.MACs, 10), report.Number(l.TFLOPS))
		} else {
			row = append(row, make([]string, 8)...)
			reason, missing = report.Cell(missing[0].Reason), missing[1:]
		}
		c.Write(append(row, reason, strconv.Itoa(l.Program)))
	}
	c.Flush()
	return c.Error()
}
