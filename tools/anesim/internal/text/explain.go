package text

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/explain"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/view"
)

// ExplanationWidth is the width of the sentences in an explanation that is not printed on a terminal.
// Commands are not wrapped, so that they can be copied. The table has [terminal.PipeWidth].
const ExplanationWidth = 100

// WriteExplanation writes the bottlenecks of a model and the changes that were tried to make it
// faster. Parts of the model that do the same work and have the same bottleneck share a row. There
// are at most max(top, 5) rows, those with the most cycles first.
func WriteExplanation(w io.Writer, d *explain.Explanation, top int) error {
	p := newChipPager(w, d.Chip)
	width := p.Width
	p.Width = cmp.Or(width, ExplanationWidth)
	p.printIncomplete(d.NotModelled)
	if len(d.Parts) == 0 {
		p.printf("%s  %s on chip %s: nothing runs on the engine, so there is nothing to explain", report.Printable(d.Model), d.Kind, d.Chip)
		return p.Err
	}
	// Descriptors have numbers and no names.
	what := "layer"
	if d.Kind != "network" {
		what = "#"
	}
	p.printf("%s  %s on chip %s: %s cycles, %v%s%s, %s moved", report.Printable(d.Model), d.Kind, d.Chip,
		report.Thousands(d.Now.Cycles), d.Now.TimeNs, p.andEnergy(d.Now.EnergyNJ+d.DispatchNJ), p.dispatchShare(d.DispatchNJ, "the call itself"), report.Size(d.Now.DMABytes))
	p.printf("")
	// On a narrow terminal, columns go before names are shortened, which could not be searched in the network.
	columns := []terminal.Column{terminal.Word(what, 0), terminal.Word("op", 1)}
	if d.Kind == "network" {
		columns = append(columns, terminal.Number("layers", 0))
	}
	t := terminal.NewTable(append(columns,
		terminal.Number("cycles", 3), terminal.Number("share", 0), terminal.Word("bound by", 0), terminal.Number("of its cycles", 2),
		terminal.Number("works for", 4), terminal.Number("array needs", 4), terminal.Number("memory needs", 4))...)
	kinds := d.Kinds()
	shown := kinds[:min(len(kinds), max(top, 5))]
	for i := range shown {
		x := &shown[i]
		name := report.Printable(strings.TrimPrefix(x.Name, "td "))
		if x.Unmeasured {
			name += " " + report.UnmeasuredMark
		}
		row := []string{name, report.Printable(x.Op)}
		if d.Kind == "network" {
			row = append(row, strconv.Itoa(x.Alike))
		}
		t.Add(append(row, report.Thousands(x.Cycles.Total), fmt.Sprintf("%.1f%%", 100*x.Share), report.CauseText(x.Bound),
			fmt.Sprintf("%.0f%%", report.Percent(x.BoundCycles, x.Cycles.Total)), report.Thousands(x.WorkingCycles), formatMinimumCycles(x.ArrayCycles), formatMinimumCycles(x.MemoryCycles))...)
	}
	// Without a terminal, text is wrapped, but a table keeps all of its columns.
	p.Width = width
	p.Table(t, 0)
	p.Width = cmp.Or(width, ExplanationWidth)
	if rest := kinds[len(shown):]; len(rest) > 0 {
		n := 0
		for i := range rest {
			n += rest[i].Alike
		}
		p.printf("and %d more, %.1f%% of the cycles", n, 100*sumShares(rest))
	}
	p.printAssumptions(d.Parts)
	if part := d.Now.Unmeasured; part > 0 {
		p.printf("%s %.1f%% of the time is unmeasured work, so its times are less certain", report.UnmeasuredMark, report.Percent(part, d.Now.TimeNs))
	}
	p.printf("")
	for i := range d.Trials {
		p.printChange(i+1, &d.Trials[i], d.Now.TimeNs)
	}
	n := d.Tried
	p.printf("%s tried: %s", report.Plural(n.All, "change"), view.Outcomes(&n))
	const most = 12 // lines of what did not help
	for _, text := range d.Useless[:min(most, len(d.Useless))] {
		p.printf("  no gain: %s", report.Printable(text))
	}
	if n := len(d.Useless) - most; n > 0 {
		p.printf("  and %d more without a gain", n)
	}
	if n.Left > 0 {
		p.printf("%s", formatUntried(&n))
	}
	if d.Kind == "network" && waitsForWeights(d) {
		p.printf("not tried, as it changes values: weights in fewer bits, which anesim model --weights int8 times")
	}
	p.printMachines(d.Machines)
	return p.Err
}

// waitsForWeights reports whether the model waits for weights in at least 5% of its cycles.
func waitsForWeights(d *explain.Explanation) bool {
	var stall uint64
	for i := range d.Parts {
		for cause, n := range d.Parts[i].Cycles.All() {
			if cause == hw.CauseKernelStall.String() {
				stall += n
			}
		}
	}
	return report.Percent(stall, d.Now.Cycles) >= 5
}

// andEnergyChange returns the energy that c adds or saves after a separator, or "" if that of the chip is not
// known.
func (p pager) andEnergyChange(separator string, c *explain.Change) string {
	if p.noEnergy {
		return ""
	}
	return separator + "energy " + view.Energy(c)
}

// energyChange returns the energy that c adds or saves, if that of the chip is known.
func (p pager) energyChange(c *explain.Change) string {
	if p.noEnergy {
		return "not known"
	}
	return view.Energy(c)
}

// formatUntried returns a sentence that says how many changes were not tried, and why.
func formatUntried(n *explain.Tried) string {
	return fmt.Sprintf("%d more not tried: reached the limit of %s timed descriptors", n.Left, report.Thousands(uint64(n.Work)))
}

// printMachines prints how fast the model is on variants of the chip, because the constants of
// faster variants limit the model. Variants without a gain share a line.
func (p pager) printMachines(list []explain.Change) {
	if len(list) == 0 {
		return
	}
	p.printf("")
	p.printf("Which parts of the chip limit it, found by timing the same work on variants of it:")
	var none []string
	for i := range list {
		c := &list[i]
		if c.Gain < explain.LeastGain {
			none = append(none, c.Change)
			continue
		}
		p.printf("  %-22s %v -> %v (%+.1f%%)%s", c.Change, c.Before.TimeNs, c.After.TimeNs, -100*c.Gain, p.andEnergyChange(", ", c))
	}
	if len(none) < len(list) {
		p.Whole("  to reproduce the first: " + list[0].Command)
	}
	if len(none) > 0 {
		p.printf("  no gain: %s", strings.Join(none, ", "))
	}
}

// formatMinimumCycles returns the number of cycles that a unit needs at least. It returns "-" for a
// unit that has no part in the work.
func formatMinimumCycles(cycles uint64) string {
	if cycles == 0 {
		return "-"
	}
	return report.Thousands(cycles)
}

func sumShares(parts []explain.Part) (sum float64) {
	for i := range parts {
		sum += parts[i].Share
	}
	return sum
}

// printChange prints a change that was tried as entry n of a list. The argument whole is the time
// of the whole model.
func (p pager) printChange(n int, c *explain.Change, whole clock.Nanoseconds) {
	where := ""
	if c.Part != "" {
		where = report.Printable(c.Part) + ": "
	}
	if c.Alike > 1 {
		where = fmt.Sprintf("%s and %d more alike: ", report.Printable(c.Part), c.Alike-1)
	}
	p.printf("%d. %s%s", n, where, c.Change)
	gain := fmt.Sprintf("%+.1f%%", -100*c.Gain)
	if c.Before.TimeNs == c.After.TimeNs {
		gain = "same"
	}
	bytes := view.Change(float64(c.Before.DMABytes), float64(c.After.DMABytes))
	// A layer by itself reads and writes memory. What it gains there is an upper bound for the network,
	// where its tensors may stay in L2, so both figures are given.
	if c.Alone {
		p.printf("   alone, with its tensors in memory: %v -> %v (%s), bytes moved %s; %v in the network", c.Before.TimeNs, c.After.TimeNs, gain, bytes, c.NetworkNs)
		p.printf("   of the call at most %+.1f%%: %v less, if it gains as much in the network%s", -100*c.SavedNs/float64(whole), clock.Nanoseconds(c.SavedNs), p.andEnergyChange("; ", c))
	} else {
		p.printf("   %v -> %v (%s)%s, bytes moved %s", c.Before.TimeNs, c.After.TimeNs, gain, p.andEnergyChange(", ", c), bytes)
	}
	if isMostlyUnmeasured(c) {
		p.printf("   %s %s", report.UnmeasuredMark, unmeasuredRemark)
	}
	p.printf("   needs %s", c.Needs)
	p.printf("   results %s", c.Results)
	// Commands are not wrapped: they are there to be copied.
	p.Whole("   before: " + c.CommandBefore)
	if c.Command != "" {
		p.Whole("   after:  " + c.Command)
	} else {
		p.printf("   after:  no command, since it needs weights that are not available")
	}
	p.printf("")
}

// dispatchShare returns the part of an energy that calls take, in parentheses, or "" if they
// take nothing of their own, as on the chips with a preset.
func (p pager) dispatchShare(energy clock.Nanojoules, what string) string {
	if energy == 0 || p.noEnergy {
		return ""
	}
	return fmt.Sprintf(" (%s of it %s)", report.EnergyText(energy), what)
}
