package view

import (
	"fmt"
	"slices"

	"anesim/hw"
	"anesim/internal/report"
)

// FromRun converts the JSON report of a run to the form that pages and pictures use. Its items are
// the descriptors.
func FromRun(d *report.Run) *Report {
	r := &Report{
		Kind: "program", Name: d.Program, Chip: d.Chip, Host: d.Host, Tool: d.Tool, Peak: d.Peak, Of: "descriptor",
		Energy: d.Total.EnergyOf, Power: d.Power, Limits: d.Limits, Faults: d.Faults, WhatIfs: d.WhatIfs, Document: d,
	}
	r.setHeadline(&d.Total, d.Peak)
	computed := 0
	for i := range d.Descriptors {
		x := &d.Descriptors[i]
		if x.Computed {
			computed++
		}
		r.Items = append(r.Items, Item{
			Name: fmt.Sprintf("descriptor %d", x.Index), Op: x.Op, Bound: x.Bound, Advice: x.Advice, Cycles: x.Cycles,
			Time: x.TimeNs, Working: x.WorkingNs, Low: x.TimeLowNs, High: x.TimeHighNs, Energy: x.EnergyNJ, Parts: x.EnergyOf, MACs: x.MACs, Bytes: x.DMA.Total,
		})
	}
	all := len(d.Descriptors)
	if d.Rest != nil {
		all += d.Rest.Descriptors
		r.addUnlistedGroups(d.Rest, len(d.Descriptors))
	}
	r.Facts = append(r.Facts, Fact{
		Label: "Coverage", Text: fmt.Sprintf("%d of %d", all, all),
		Name: "descriptors", Value: float64(all), Note: fmt.Sprintf("descriptors timed; values of %d computed", computed),
	})
	r.Table = newDescriptorTable(d.Descriptors, d.Rest, d.Total.Cycles)
	return r
}

// addUnlistedGroups adds an item for each operation and shape among the descriptors that are not
// listed one by one. A report that was read from a file has no such groups; addUnlistedGroups then
// adds a note instead.
func (r *Report) addUnlistedGroups(d *report.Rest, listed int) {
	if len(d.Groups) == 0 { // the document was read from a file
		r.Notes = append(r.Notes, fmt.Sprintf("Of %d descriptors the first %d are listed. The other %d are in every total.", listed+d.Descriptors, listed, d.Descriptors))
		return
	}
	for i := range d.Groups {
		g := &d.Groups[i]
		r.Items = append(r.Items, Item{
			Name: fmt.Sprintf("%d more", g.Descriptors), Op: g.Op, Bound: g.Cycles.Bound(), Cycles: g.Cycles,
			Time: g.TimeNs, Energy: g.EnergyNJ, Parts: g.EnergyOf, MACs: g.MACs, Bytes: g.DMABytes,
		})
	}
	r.Notes = append(r.Notes, fmt.Sprintf("Of %d descriptors the first %d are listed one by one. The other %d are added up by operation and shape, in the last %d of the list: "+
		"cycles by cause, time, energy, multiply-accumulates and bytes are the sums of each. anesim run --csv lists all of them.",
		listed+d.Descriptors, listed, d.Descriptors, len(d.Groups)))
}

// FromNetwork converts the JSON report of a network to the form that pages and pictures use. Its
// items are the layers.
func FromNetwork(d *report.Network) *Report {
	r := &Report{
		Kind: "network", Name: d.Network, Chip: d.Chip, Host: d.Host, Tool: d.Tool, Peak: d.Peak, Of: "layer",
		Energy: d.Total.EnergyOf, Power: d.Power, Limits: d.Limits, Missing: d.NotModelled, Faults: d.Faults, WhatIfs: d.WhatIfs, Document: d,
	}
	for _, note := range d.Notes {
		if !slices.ContainsFunc(d.Limits, func(l report.Limit) bool { return l.What == note }) {
			r.Notes = append(r.Notes, note)
		}
	}
	r.setHeadline(&d.Total, d.Peak)
	modelled := 0
	for i := range d.Layers {
		x := &d.Layers[i]
		if x.Modelled {
			modelled++
		}
		t := &x.Total
		r.Items = append(r.Items, Item{
			Name: x.Name, Op: x.Op, Work: x.Work(), Bound: x.Bound, Cycles: x.Cycles, Time: t.TimeNs, Working: t.WorkingNs, Low: t.TimeLowNs, High: t.TimeHighNs,
			Energy: t.EnergyNJ, Parts: t.EnergyOf, MACs: t.MACs, Bytes: t.DMABytes,
		})
	}
	r.Facts = append(r.Facts, Fact{
		Label: "Coverage", Text: fmt.Sprintf("%d of %d", modelled, len(d.Layers)),
		Name: "layers", Value: float64(len(d.Layers)), Note: formatCoverageNote(len(d.Layers) - modelled),
	})
	r.Table = newTable(report.LayerColumns, d.Layers, d.Total.Cycles)
	return r
}

// formatCoverageNote returns a note on how many layers the totals leave out.
func formatCoverageNote(others int) string {
	if others == 0 {
		return "layers modelled"
	}
	return fmt.Sprintf("layers modelled; the other %d are in no total", others)
}

// setHeadline sets the headline of a page to the totals of a run.
func (r *Report) setHeadline(t *report.Wall, peak report.Rates) {
	interval := "no interval"
	if t.TimeHighNs > 0 {
		interval = fmt.Sprintf("%s interval %s to %s, from the errors of %d measured rows", hw.IntervalPercent, report.TimeAs(t.TimeLowNs, t.TimeNs), report.TimeAs(t.TimeHighNs, t.TimeNs), t.Rows)
		if t.Unmeasured > 0 {
			interval += fmt.Sprintf("; no row covers %.1f%% of the time", report.Percent(t.Unmeasured, t.TimeNs))
		}
	}
	r.Facts = []Fact{
		{"Engine time", t.TimeNs.String(), "total.time_ns", float64(t.TimeNs), interval},
		{"Wall time", t.WallNs.String(), "total.wall_ns", float64(t.WallNs), "host " + r.Host},
		{"Cycles", newCountCell(t.Cycles).Text, "total.cycles", float64(t.Cycles), newCountCell(t.Saved).Text + " saved by overlap"},
		{"Energy", t.EnergyNJ.String(), "total.energy_nj", float64(t.EnergyNJ), "of all dispatches"},
		{"Moved", report.Size(t.DMABytes), "total.dma_bytes", float64(t.DMABytes), fmt.Sprintf("%s GB/s of %s", FormatRate(t.GBPerS), FormatRate(peak.GBPerS))},
		{"Rate", FormatRate(t.TFLOPS) + " TFLOP/s", "total.tflops", t.TFLOPS, formatShare(t.TFLOPS, peak.TFLOPS) + " of peak"},
	}
}

// FromLoad converts the JSON report of a load to the form that pages and pictures use. Its items
// are the clients.
func FromLoad(d *report.Load) *Report {
	r := &Report{Kind: "load", Name: "load", Chip: d.Chip, Host: d.Host, Tool: d.Tool, Of: "client", Document: d}
	r.Facts = []Fact{
		{"Time", d.TimeNs.String(), "time_ns", float64(d.TimeNs), fmt.Sprintf("arrivals for %v, seed %d", d.DurationNs, d.Seed)},
		{"Utilization", formatShare(d.Utilisation, 1), "utilisation", d.Utilisation, d.BusyNs.String() + " busy"},
		{"Energy", d.EnergyNJ.String(), "energy_nj", float64(d.EnergyNJ), "and " + d.WaitNJ.String() + " for waiting"},
		{"Mean power", fmt.Sprintf("%.3g W", d.MeanW), "mean_w", d.MeanW, ""},
		{"Runs", newCountCell(d.Runs).Text, "runs", float64(d.Runs), "of descriptors without a change of program"},
	}
	if d.Cut {
		r.Notes = append(r.Notes, fmt.Sprintf("arrivals stopped at max_calls; the figures are of the first %v", d.TimeNs))
	}
	for i := range d.Timeline {
		b := &d.Timeline[i]
		r.Power = append(r.Power, report.Span{AtNs: b.AtNs, ForNs: b.ForNs, Watts: b.Watts, EnergyNJ: b.EnergyNJ, What: "busy " + formatShare(b.Utilisation, 1)})
		r.Busy = append(r.Busy, b.Utilisation)
	}
	r.Table.Columns = []Column{
		{Title: "client", Help: "name in the script"}, {Title: "program", Help: "what it calls"}, {Title: "priority", Help: "0 is the most urgent", Number: true}, {Title: "arrival", Help: "when it makes calls"},
		{Title: "calls", Help: "that were made", Number: true}, {Title: "calls/s", Help: "over the simulated time", Number: true}, {Title: "alone", Help: "latency with the engine to itself", Number: true},
		{Title: "p50", Help: "median latency", Number: true}, {Title: "p90", Help: "latency", Number: true}, {Title: "p99", Help: "latency", Number: true}, {Title: "p99 low", Help: "lower end of its 95% interval", Number: true},
		{Title: "p99 high", Help: "upper end of its 95% interval", Number: true}, {Title: "max", Help: "latency", Number: true}, {Title: "mean wait", Help: "for the driver to admit the call, and in the task queue", Number: true}, {Title: "stuck", Help: "calls that never completed", Number: true},
	}
	// Indices in the document's list, which has p99.9 at 3.
	const p50, p90, p99, most = 0, 1, 2, 4
	for i := range d.Clients {
		c := &d.Clients[i]
		r.Items = append(r.Items, Item{Name: c.Name, Op: c.Program, Time: c.MeanNs})
		row := []Cell{
			newTextCell(c.Name), newTextCell(c.Program), newCountCell(int(c.Priority)), newTextCell(c.Arrival), newCountCell(c.Calls), {FormatRate(c.CallsPerS), c.CallsPerS},
			{c.Alone.LatencyNs.String(), float64(c.Alone.LatencyNs)},
		}
		if len(c.Latency) > most {
			for _, k := range [...]int{p50, p90, p99} {
				row = append(row, Cell{c.Latency[k].LatencyNs.String(), float64(c.Latency[k].LatencyNs)})
			}
			low, high, last := c.Latency[p99].LowNs, c.Latency[p99].HighNs, c.Latency[most].LatencyNs
			row = append(row, Cell{low.String(), float64(low)}, Cell{high.String(), float64(high)}, Cell{last.String(), float64(last)})
		} else {
			for range 6 {
				row = append(row, newTextCell("-"))
			}
		}
		r.Table.Rows = append(r.Table.Rows, append(row, Cell{c.MeanWaitNs.String(), float64(c.MeanWaitNs)}, newCountCell(c.Stuck)))
	}
	return r
}
