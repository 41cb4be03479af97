package text

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/machine"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// A pager prints the parts of a report.
type pager struct {
	*terminal.Pager
	noEnergy bool // only the energy of a whole call is known
}

func newPager(w io.Writer) pager { return pager{Pager: terminal.NewPager(w)} }

// newChipPager returns a pager for a report on the named chip. Of a chip of which only an M1's program is
// scaled, only the energy of a call is known: its constants are fitted to those.
func newChipPager(w io.Writer, chip string) pager {
	p := newPager(w)
	p.noEnergy = machine.IsScaledChip(chip)
	return p
}

// energy formats e, or says that it is not known.
func (p pager) energy(e clock.Nanojoules) string {
	if p.noEnergy {
		return "energy not known"
	}
	return report.EnergyText(e)
}

// andEnergy formats e to follow another figure. It returns "" if e is not known.
func (p pager) andEnergy(e clock.Nanojoules) string {
	if p.noEnergy {
		return ""
	}
	return ", " + report.EnergyText(e)
}

// formatCallEnergy returns the energy of a call with its interval, or "" if the energies of parts are known
// too.
func formatCallEnergy(res *anesim.Result) string {
	e, low, high := res.CallEnergy()
	if low <= 0 {
		return ""
	}
	return fmt.Sprintf("%s a call (%s: %s to %s)", report.EnergyText(e), hw.IntervalPercent, report.EnergyText(low), report.EnergyText(high))
}

// printf prints a line like [terminal.Pager.Printf]. Times and energies have three significant digits.
func (p pager) printf(format string, args ...any) {
	for i, x := range args {
		switch x := x.(type) {
		case clock.Nanoseconds:
			args[i] = report.TimeText(x)
		case clock.Nanojoules:
			args[i] = report.EnergyText(x)
		}
	}
	p.Pager.Printf(format, args...)
}

// RunOptions selects parts of the text that [WriteRun] omits by default.
type RunOptions struct {
	Counters  bool // print the counters of each descriptor
	Constants bool // print the constants of chip and host, which the document must contain
}

// newReportTable returns those columns of all that a terminal shows, and an empty table with these
// columns.
func newReportTable[R any](p pager, all []report.Column[R]) (columns []report.Column[R], t *terminal.Table) {
	var list []terminal.Column
	for _, c := range all {
		if c.Title != "" && !(p.noEnergy && c.Title == "energy") {
			columns = append(columns, c)
			list = append(list, terminal.Column{Title: c.Title, Order: c.Order, Left: c.Left})
		}
	}
	return columns, terminal.NewTable(list...)
}

// formatCells returns the texts of a row's cells in the given columns.
func formatCells[R any](columns []report.Column[R], row *R) []string {
	list := make([]string, len(columns))
	for i := range columns {
		list[i] = columns[i].Value(row).String()
	}
	return list
}

// WriteRun writes the results of a compiled program or a single layer as text. The argument d is
// the JSON report of res. On a terminal, a summary follows; explain is as in [WriteRunSummary].
func WriteRun(w io.Writer, res *anesim.Result, d *report.Run, o RunOptions, explain string) error {
	p := newChipPager(w, d.Chip)
	p.printf("%s  %s, %s, chip %s at %.3f GHz", report.Printable(d.Program), d.Form, report.Plural(res.Report.Count(), "descriptor"),
		d.Chip, res.Options.Chip.Clock.Value/1e9)
	for _, x := range d.Parameters {
		p.printf("run-time parameter %s; --bind %s=VALUE sets it", report.Printable(x.String()), report.Printable(x.Name))
	}
	p.printCall(res)
	p.printWhatIfs(d.WhatIfs)
	p.printf("")
	columns, t := newReportTable(p, report.DescriptorColumns)
	for i := range d.Descriptors {
		t.Add(formatCells(columns, &d.Descriptors[i])...)
	}
	p.Table(t, 0)
	if r := d.Rest; r != nil {
		p.printf("and %s more, %v and %v, in the totals; --csv lists all", report.Thousands(uint64(r.Descriptors)), r.TimeNs, p.energy(r.EnergyNJ))
	}
	if n := res.Report.Again; n > 0 {
		p.printf("calls not listed: %s, each as long as the last; the totals count them, --csv lists them", report.Thousands(uint64(n)))
	}
	for _, l := range d.Limits {
		// Limits of descriptors are printed with the values.
		if strings.HasPrefix(l.Where, "layer ") {
			p.printf("%s: %s", l.Kind, report.Printable(l.What))
		}
	}
	p.printf("")
	p.printTotals(&d.Total, d.Peak, inCalls(&res.Options), "the call itself")
	p.printUnmeasured(res.Report, &res.Options.Chip)
	p.printWallTime(res, &d.Total, d.Host)
	p.printCycles(&d.Cycles, res.Report.PlanarCompute(), d.Total.Saved)
	p.printEnergies(&d.Total)
	for _, note := range res.RelocationNotes() {
		p.printf("warning: %s", note)
	}
	p.printAdvice(d)
	if o.Counters {
		p.printCounters(d)
	}
	p.printInputsAndOutputs(res, d)
	for _, x := range res.Report.Faults {
		p.printf("FAULT: %s", report.Printable(x.String()))
	}
	if o.Constants {
		p.printConstants(d)
	}
	// On a terminal, the last lines are the ones that stay in view. In a file, the summary would repeat
	// what is above.
	if p.Width > 0 {
		p.printf("")
		p.printRunSummary(res, d, explain)
	} else if explain != "" {
		p.printf("what to change: %s", explain)
	}
	return p.Err
}

// printWhatIfs prints the settings that change the run, such as register overrides, and their
// effect.
func (p pager) printWhatIfs(list []report.WhatIf) {
	for _, w := range list {
		p.printf("what-if: %s", w)
	}
}

// printTotals prints the cycles, time and energy of a run, and its rates next to the chip's peak
// rates. The phrase calls says of how many calls these are the sums, and dispatch names the dispatches, which
// draw a fixed energy.
func (p pager) printTotals(t *report.Wall, peak report.Rates, calls, dispatch string) {
	p.printf("total%s: %s cycles, %v of engine time (%s to %s)%s%s",
		calls, report.Thousands(t.Cycles), t.TimeNs, report.TimeAs(t.TimeLowNs, t.TimeNs), report.TimeAs(t.TimeHighNs, t.TimeNs), p.andEnergy(t.EnergyNJ), p.dispatchShare(t.DispatchNJ, dispatch))
	share := func(rate, peak float64, unit string) string {
		return fmt.Sprintf("%s %s (%.1f%% of peak)", report.Rate(rate), unit, report.Percent(rate, peak))
	}
	line := fmt.Sprintf("rates: %s moved", report.Size(t.DMABytes))
	if t.DMABytes > 0 && t.TimeNs > 0 {
		line += ", " + share(t.GBPerS, peak.GBPerS, "GB/s")
	}
	if t.MACs > 0 && t.TimeNs > 0 {
		line += fmt.Sprintf("; %s MACs, %s", report.Thousands(t.MACs), share(t.TFLOPS, peak.TFLOPS, "TFLOP/s"))
	}
	p.printf("%s", line)
}

// inCalls returns words that follow the name of a sum over several calls, such as " in 3 calls". It returns
// "" for a single call.
func inCalls(o *anesim.Options) string {
	if o.Repeat <= 1 {
		return ""
	}
	return " in " + report.Thousands(uint64(o.Repeat)) + " calls"
}

// printWallTime prints the wall time of a run, with the times of the host, of idling and of waking
// up, if it differs from the engine's time.
func (p pager) printWallTime(res *anesim.Result, t *report.Wall, preset string) {
	switch host := res.Host(); {
	case host > 0:
		p.printf("wall%s: %v, %v of it %s", inCalls(&res.Options), t.WallNs, host, formatHostSources(res, preset))
		if note := res.Options.Host.ChipNote(res.Options.Chip.Name); note != "" {
			p.printf("note: %s", note)
		}
	case t.IdleNs > 0:
		p.printf("wall%s: %v", inCalls(&res.Options), t.WallNs)
	}
	if h := t.HostParts; h != nil {
		p.printf("host, each call: %s; tensors and weights %v in all; about %g interrupts", formatStages(h.Stages), h.DataNs, h.Interrupts*float64(h.Dispatches))
	}
	if t.IdleNs > 0 {
		off := fmt.Sprintf("rails off after %s of a gap", report.TimeText(res.RailsOff()))
		if math.IsInf(float64(res.RailsOff()), 1) {
			off = "the rails stay on"
		}
		if p.noEnergy {
			p.printf("idle: %v (%s); wake: %v", t.IdleNs, off, t.WakeNs)
			return
		}
		p.printf("idle: %v, %s (%s); wake: %v, %s; in all %s over the wall time",
			t.IdleNs, p.energy(t.IdleNJ), off, t.WakeNs, p.energy(t.WakeNJ), p.energy(t.WallEnergyNJ))
	}
}

// formatHostSources returns a phrase that names the sources of the host's time. These are the
// overhead of calls on the host named preset, and the layers that the host computes.
func formatHostSources(res *anesim.Result, preset string) string {
	const layers = "layers that the host computes"
	switch stages := res.Stages(); {
	case stages == 0:
		return "host " + preset
	case stages == res.Host():
		return "in " + layers
	default:
		return fmt.Sprintf("host %s, including %s in %s", preset, report.TimeText(stages), layers)
	}
}

// formatStages returns text with the stages of a host's work, their times and the evidence for
// them.
func formatStages(list []report.Stage) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, fmt.Sprintf("%s %s", s.Name, report.TimeText(s.TimeNs)))
	}
	why, _, _ := strings.Cut(list[0].Source, ":")
	return fmt.Sprintf("%s (%s: %s)", strings.Join(parts, ", "), list[0].Evidence, why)
}

// printCycles prints the cycles of a run by cause, and the number of cycles that overlapping saves.
// Of the cycles that count as computing, planar are those of the planar engine.
func (p pager) printCycles(c *report.Cycles, planar clock.Cycles, saved uint64) {
	var parts []string
	for name, n := range c.All() {
		if n > 0 {
			engines := ""
			if name == hw.CauseCompute.String() {
				engines = formatEngines(c, planar, ": ", 1)
			}
			parts = append(parts, fmt.Sprintf("%s %s (%.1f%%%s)", report.CauseText(name), report.Thousands(n), report.Percent(n, c.Total), engines))
		}
	}
	if len(parts) == 0 {
		return
	}
	line := "cycles: " + strings.Join(parts, ", ")
	if saved > 0 {
		line += fmt.Sprintf("; overlap with the previous descriptor saves %s cycles", report.Thousands(saved))
	}
	p.printf("%s", line)
}

// formatEngines returns text with the shares of all cycles in which the array and the planar engine
// compute, such as ": array 50.0%, planar engine 20.0%", with the given separator and number of
// decimals. It returns "" if the planar engine does not work.
func formatEngines(c *report.Cycles, planar clock.Cycles, separator string, decimals int) string {
	switch {
	case planar == 0:
		return ""
	case planar == c.Compute:
		return separator + "planar engine"
	}
	return fmt.Sprintf("%sarray %.*f%%, planar engine %.*f%%", separator,
		decimals, report.Percent(uint64(c.Compute-planar), c.Total), decimals, report.Percent(uint64(planar), c.Total))
}

// printEnergies prints the energy of a run by its consumers.
func (p pager) printEnergies(t *report.Wall) {
	if p.noEnergy {
		return
	}
	var parts []string
	var all clock.Nanojoules
	for _, e := range t.EnergyOf.All() {
		all += e
	}
	for name, e := range t.EnergyOf.All() {
		if share := report.Percent(e, all); share > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%.1f%%)", name, report.EnergyText(e), share))
		}
	}
	if len(parts) > 0 {
		p.printf("energy: %s", strings.Join(parts, ", "))
	}
}

// printAdvice prints a line about the main cause of cycles for each descriptor with at least a
// tenth of all cycles. If several descriptors have the same main cause, it prints only one of them.
func (p pager) printAdvice(d *report.Run) {
	const least = 10 // per cent of the cycles
	list := make([]*report.Descriptor, len(d.Descriptors))
	for i := range list {
		list[i] = &d.Descriptors[i]
	}
	slices.SortStableFunc(list, func(a, b *report.Descriptor) int { return cmp.Compare(b.Cycles.Total, a.Cycles.Total) })
	said := make(map[string]bool)
	for _, x := range list {
		share := report.Percent(x.Cycles.Total, d.Cycles.Total)
		if share < least {
			return
		}
		if !said[x.Bound] {
			p.printf("descriptor %d (%.0f%% of cycles): %s", x.Index, share, x.Advice)
		}
		said[x.Bound] = true
	}
}

func (p pager) printCounters(d *report.Run) {
	for i := range d.Descriptors {
		x := &d.Descriptors[i]
		p.printf("")
		p.printf("counters of descriptor %d", x.Index)
		t := terminal.NewTable(terminal.Word("counter", 0), terminal.Number("value", 0))
		for name, v := range x.Counters.All() {
			t.Add(name, report.Thousands(v))
		}
		p.Table(t, 2)
	}
}

// printInputsAndOutputs prints the inputs of a run, its outputs, and caveats about their values.
func (p pager) printInputsAndOutputs(res *anesim.Result, d *report.Run) {
	if !res.Options.Values {
		p.printf("values: not computed (--timing-only)")
		return
	}
	for _, in := range res.Inputs {
		how := "given"
		_, given := res.Options.Inputs[in.Port.Name]
		switch {
		case slices.Contains(res.Synthetic, in.Port.Name):
			how = fmt.Sprintf("pseudo-random (--seed %d)", res.Options.Seed)
		// Inputs that are neither given nor made up were left by the call before.
		case !given:
			how = "state, zero at first"
		}
		p.printf("input   %s %v  %s", report.Printable(in.Port.Name), in.Port.Shape, how)
	}
	if len(res.Outputs) == 0 {
		// A fault is printed elsewhere, and is the reason.
		if len(res.Report.Faults) == 0 {
			p.printf("values: none: %s", report.WhyNoOutputs(res))
		}
		return
	}
	for i := range res.Report.Descriptors {
		if d := &res.Report.Descriptors[i]; d.Caveat() != "" {
			p.printf("caveat  descriptor %d: %s", d.Index, d.Caveat())
		}
	}
	for _, note := range res.PrecisionNotes() {
		p.printf("note: %s", report.Printable(note))
	}
	p.printCalls(res, d.State)
	for _, out := range res.Outputs {
		p.printf("output  %s %v  crc32 %s  %s%s", report.Printable(out.Port.Name), out.Port.Shape, engine.Checksum(out.Data), out.Summary(), describeIdentity(res, out))
	}
}

// printCalls prints the outputs of each dispatch of a program with state, or of the first and last
// eight if there are more, and the copies that the state saves.
func (p pager) printCalls(res *anesim.Result, state *report.State) {
	if state == nil {
		return
	}
	const shown = 8 // at each end
	list := res.Programs[0].Dispatches
	for n := range list {
		if n == shown && len(list) > 2*shown {
			p.printf("call    ... %d more", len(list)-2*shown)
		}
		if n >= shown && n < len(list)-shown {
			continue
		}
		for _, out := range list[n].Outputs {
			p.printf("call %-3d %s  crc32 %s  %s", n+1, report.Printable(out.Port.Name), engine.Checksum(out.Data), (&anesim.Output{Port: out.Port, Data: out.Data}).Summary())
		}
	}
	for _, a := range state.Aliases {
		p.printf("state   %s is %s of the next call, %s", report.Printable(a.Output), report.Printable(a.Input), report.Size(a.Bytes))
	}
	if state.HostCopyBytes > 0 {
		p.printf("state saves %s of host copies; %s fewer are moved", report.Size(state.HostCopyBytes), report.Size(state.DRAMBytes))
	}
}

// describeIdentity returns a note if the output out equals one of the inputs bit for bit, as for an
// identity layer. It returns "" otherwise.
func describeIdentity(res *anesim.Result, out anesim.Output) string {
	for _, in := range res.Inputs {
		if len(in.Data) == len(out.Data) && len(out.Data) > 0 && slices.Equal(in.Data, out.Data) {
			return fmt.Sprintf("  equals %s in all %d elements", report.Printable(in.Port.Name), len(in.Data))
		}
	}
	return ""
}

func (p pager) printConstants(d *report.Run) {
	p.printf("")
	p.printf("constants of %s", d.Chip)
	for _, k := range d.Constants {
		p.printf("  %-16s  %s  %s  %s  %s", k.Name, report.Number(k.Value), k.Unit, k.Evidence, k.Source)
	}
}
