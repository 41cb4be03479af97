package command

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"anesim"
)

// runColumns are those of a descriptor's row.
func runColumns() []string {
	list := []string{
		"index", "offset", "op", "win", "hin", "cin", "wout", "hout", "cout", "kw", "kh", "groups", "engines", "tiles", "cycles",
	}
	for cause := range new(anesim.CyclesDocument).All() {
		list = append(list, cause)
	}
	return append(list,
		"work_units", "mac_cycles_per_wu", "post_cycles_per_wu", "ne_single", "ne_double", "planar", "l2_broadcast", "l2_writeback", "kernel_bytes",
		"dma_source1", "dma_source2", "dma_kernel", "dma_destination", "dma_total", "exe_stored", "exe_model",
		"macs", "bound", "time_ns", "energy_nj", "computed", "time_ns_low", "time_ns_high", "saved_cycles", "power_w",
	)
}

// writeRunCSV writes the descriptors, a row each; with the program's name first where
// there are several. Names of a file are escaped.
func writeRunCSV(w io.Writer, doc *anesim.RunDocument, several, header bool) error {
	c := csv.NewWriter(w)
	var name []string
	if several {
		name = []string{"program"}
	}
	if header {
		c.Write(append(name, runColumns()...))
	}
	if several {
		name = []string{escaped(doc.Program)}
	}
	for i := range doc.Descriptors {
		d := &doc.Descriptors[i]
		row := append(name[:len(name):len(name)], strconv.Itoa(d.Index), strconv.Itoa(int(d.Offset)), d.Op)
		for _, n := range [...]int{d.Shape.Win, d.Shape.Hin, d.Shape.Cin, d.Shape.Wout, d.Shape.Hout, d.Shape.Cout, d.Shape.Kw, d.Shape.Kh, d.Shape.Groups, d.Engines, d.Tiles} {
			row = append(row, strconv.Itoa(n))
		}
		u, m := d.Units, d.DMA
		row = append(row, strconv.FormatUint(d.Cycles.Total, 10))
		for _, n := range d.Cycles.All() {
			row = append(row, strconv.FormatUint(n, 10))
		}
		for _, n := range [...]uint64{
			uint64(u.WorkUnits), uint64(u.MACCycles), uint64(u.PostCycles), u.NESingle, u.NEDouble, u.Planar, u.L2Broadcast, u.L2Writeback, u.KernelBytes,
			m.Source1, m.Source2, m.Kernel, m.Destination, m.Total, uint64(d.Exe.Stored), uint64(d.Exe.Model), d.MACs,
		} {
			row = append(row, strconv.FormatUint(n, 10))
		}
		c.Write(append(row, d.Bound, number(d.TimeNs), number(d.EnergyNJ), strconv.FormatBool(d.Computed),
			number(d.TimeLowNs), number(d.TimeHighNs), strconv.FormatUint(d.Saved, 10), number(d.PowerW)))
	}
	c.Flush()
	return c.Error()
}

// writeNetworkCSV writes the layers, a row each.
func writeNetworkCSV(w io.Writer, d *anesim.NetworkDocument) error {
	c := csv.NewWriter(w)
	c.Write([]string{
		"name", "op", "in", "out", "kernel", "folded", "descriptors", "cycles", "bound", "dma_bytes",
		"time_ns", "energy_nj", "macs", "tflops", "not_modelled", "program",
	})
	missing := d.NotModelled
	for i := range d.Layers {
		l := &d.Layers[i]
		row := []string{escaped(l.Name), escaped(l.Op), dims(l.In), dims(l.Out), l.Kernel, escaped(strings.Join(l.Folded, " "))}
		reason := ""
		if l.Modelled {
			row = append(row, strconv.Itoa(l.Descriptors), strconv.FormatUint(l.Total.Cycles, 10), l.Bound,
				strconv.FormatUint(l.Total.DMABytes, 10), number(l.Total.TimeNs), number(l.Total.EnergyNJ),
				strconv.FormatUint(l.Total.MACs, 10), number(l.TFLOPS))
		} else {
			row = append(row, make([]string, 8)...)
			reason, missing = escaped(missing[0].Reason), missing[1:]
		}
		c.Write(append(row, reason, strconv.Itoa(l.Program)))
	}
	c.Flush()
	return c.Error()
}
