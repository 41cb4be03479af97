package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/machine"
	"anesim/internal/explain"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/view"
)

// summaryWidth is the width of a summary, in characters: that of a usual terminal.
const summaryWidth = 80

// WriteNetworkSummary writes what a user of a network asks first, in at most some fifteen lines of 80
// characters: how long a call takes, what limits it, the slowest layers and the change that helps most.
// The arguments are those of [WriteNetwork].
func WriteNetworkSummary(w io.Writer, res *anesim.Result, d *report.Network, x *explain.Explanation, explain string) error {
	p := newChipPager(w, d.Chip)
	p.printNetworkSummary(res, d, x, explain)
	return p.Err
}

func (p pager) printNetworkSummary(res *anesim.Result, d *report.Network, x *explain.Explanation, explain string) {
	p.printIncomplete(d.NotModelled)
	p.printHeadline(d.Network, res, &d.Total)
	p.printCallItem(res)
	p.printPower(res, &d.Total)
	p.printCovered(d, res)
	p.printLimits(&d.Cycles, res)
	p.printSlowest(d, max(1, res.Options.Repeat))
	p.printBestChange(x)
	p.printItem("more", explain)
}

// WriteRunSummary is like [WriteNetworkSummary], for a program or a layer. If explain is not "", it is the
// command that prints the changes that help.
func WriteRunSummary(w io.Writer, res *anesim.Result, d *report.Run, explain string) error {
	p := newChipPager(w, d.Chip)
	p.printRunSummary(res, d, explain)
	return p.Err
}

func (p pager) printRunSummary(res *anesim.Result, d *report.Run, explain string) {
	p.printHeadline(d.Program, res, &d.Total)
	p.printCallItem(res)
	p.printPower(res, &d.Total)
	p.printLimits(&d.Cycles, res)
	slowest := slices.SortedStableFunc(slices.Values(d.Descriptors), func(a, b report.Descriptor) int {
		return cmp.Compare(b.Cycles.Total, a.Cycles.Total)
	})
	if len(slowest) > 0 {
		first := &slowest[0]
		advice, _, _ := strings.Cut(first.Advice, "; ") // the reason is in the report
		n := max(1, res.Options.Repeat)
		p.printItem("slowest", fmt.Sprintf("descriptor %d of %d, %s, %.0f%%: %s", first.Index, res.Report.Count()/n, report.Printable(first.Op),
			report.Percent(first.Cycles.Total*uint64(n), d.Cycles.Total), advice))
	}
	for _, out := range res.Outputs {
		p.printItem("output", fmt.Sprintf("%s %v %s", report.Printable(out.Port.Name), out.Port.Shape, out.Summary()))
	}
	if n := len(res.Synthetic); n > 0 && res.Options.Values {
		p.printItem("inputs", fmt.Sprintf("%s pseudo-random (--in NAME=FILE gives others)", report.Printable(strings.Join(res.Synthetic[:min(n, 4)], ", "))))
	}
	for _, x := range res.Report.Faults {
		p.printItem("FAULT", report.Printable(x.String()))
	}
	if explain != "" {
		p.printItem("more", explain)
	}
}

// printItem prints a line of a summary, with continuation lines that are indented like its text. A command
// stays whole, so that it can be copied.
func (p pager) printItem(name, text string) {
	const column = 11
	width := summaryWidth - column
	label := fmt.Sprintf("  %-*s", column-2, name)
	if strings.HasPrefix(text, "anesim ") {
		p.Whole(label + text)
		return
	}
	line, used := label, 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case used == 0:
		case used+1+n > width:
			p.Whole(line)
			line, used = strings.Repeat(" ", column), 0
		default:
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	p.Whole(line)
}

// printHeadline prints the engine's time, its interval and the energy. A name that is too long for the line
// has its own.
func (p pager) printHeadline(name string, res *anesim.Result, t *report.Wall) {
	chip := res.Options.Chip.Name
	name = report.Printable(name)
	if t.TimeNs <= 0 {
		p.printf("%s on %s: nothing runs on the engine", terminal.CutMiddle(name, summaryWidth/2), chip)
		return
	}
	on, calls := " on "+chip+":", ""
	n := clock.Nanoseconds(max(1, res.Options.Repeat)) // every line is about a call
	if n > 1 {
		calls = fmt.Sprintf(", mean of %d", res.Options.Repeat)
	}
	interval := fmt.Sprintf(" (%s: %s to %s)", hw.IntervalPercent, report.TimeText(t.TimeLowNs/n), report.TimeText(t.TimeHighNs/n))
	rest := fmt.Sprintf("%s on the engine%s%s%s", report.TimeText(t.TimeNs/n), calls, interval, p.andEnergy(t.EnergyNJ/clock.Nanojoules(n)))
	if utf8.RuneCountInString(name+on+" "+rest) <= summaryWidth {
		p.Whole(name + on + " " + rest)
		return
	}
	p.Whole(terminal.CutMiddle(name, summaryWidth-len(on)) + on)
	p.Whole("  " + rest)
}

// printPower prints the mean power over the wall time, if there is any beside the engine's time.
func (p pager) printPower(res *anesim.Result, t *report.Wall) {
	if p.noEnergy || t.WallNs <= t.TimeNs || t.WallEnergyNJ <= 0 {
		return
	}
	watts, unit := float64(t.WallEnergyNJ)/float64(t.WallNs), "W"
	if watts < 1 {
		watts, unit = 1e3*watts, "mW"
	}
	n := clock.Nanoseconds(max(1, res.Options.Repeat))
	wall := t.WallNs / n
	each, idle := "", ""
	if n > 1 {
		each = " a call"
	}
	if t.IdleNs > 0 {
		idle = fmt.Sprintf(" at %s calls/s, idling and waking included", report.Rate(1e9/float64(wall)))
	}
	p.printItem("power", fmt.Sprintf("%s %s on average: %s%s in %s of wall time%s", report.Rate(watts), unit, report.EnergyText(t.WallEnergyNJ/clock.Nanojoules(n)), each, report.TimeText(wall), idle))
}

// printCallItem prints how long a call takes, and its interval, and the energy of a call if that of its parts is
// not known. Without a host, it prints the least time of
// a call on the first machine with the chip.
func (p pager) printCallItem(res *anesim.Result) {
	if res.Host() <= 0 {
		for _, m := range machine.Machines() {
			if m.Chip.Name == res.Options.Chip.Name {
				floor := clock.Nanoseconds(1e3 * m.Host.Floor.Value)
				p.printItem("a call", fmt.Sprintf("at least %s on %s, whose host takes %s or more (--machine %s)", report.TimeText(machine.Wall(res.Call(), floor)), m.Noun(), report.TimeText(floor), m.Name))
				return
			}
		}
		p.printItem("a call", "takes longer: the time of its host is not counted (--host)")
		return
	}
	on := hostNoun(res)
	call, b := res.Call(), res.CallBounds()
	most := ""
	if res.Options.Idle > 0 { // the line of the power has the rate with the gaps
		most = "at most "
	}
	text := fmt.Sprintf("%s on %s (%s: %s to %s), %s%s calls/s", report.TimeText(call), on, hw.IntervalPercent, report.TimeText(b.Low), report.TimeText(b.High), most, report.Rate(1e9/float64(call)))
	if share := report.Percent(float64(res.Host()), float64(machine.Wall(res.Report.Time, res.Host()))); share >= 50 {
		text += fmt.Sprintf("; %.0f%% of it is the host", share)
	}
	p.printItem("a call", text)
	if text := formatCallEnergy(res); text != "" {
		p.printItem("energy", text)
	}
	if m := res.Options.Machine; m != nil && m.Note() != "" {
		p.printItem("note", m.Note())
	}
}

// printCovered prints how much of the network the figures cover, and how much of the time nobody measured.
func (p pager) printCovered(d *report.Network, res *anesim.Result) {
	c := &d.Coverage
	text := fmt.Sprintf("%d of %s", c.Done, report.Plural(c.Nodes, "node"))
	if c.Done == c.Nodes {
		text = formatAllNodes(c)
		if c.Hosted == 0 {
			text += ", nothing on the host"
		}
	}
	text += formatHostNodes(c)
	if c.DoneMACs < c.MACs {
		text += fmt.Sprintf(" with %s of the multiply-accumulates", formatShare(c.DoneMACs, c.MACs))
	}
	text += ", in " + report.Plural(len(d.Programs), "program")
	if share := report.Percent(res.Report.Bounds().Unmeasured, res.Report.Time); share >= 0.5 {
		text += fmt.Sprintf("; %.0f%% of the time is unmeasured work (%s)", share, report.UnmeasuredMark)
	}
	p.printItem("covers", text)
	if groups := report.GroupMissing(d.NotModelled); len(groups) > 0 {
		first := groups[0].Causes[0]
		text := fmt.Sprintf("%s: %s", report.NameMissing(groups[0].Causes), report.Printable(strings.TrimPrefix(first.Reason, first.Op+": ")))
		if n := len(groups) - 1; n > 0 {
			text += fmt.Sprintf(" (and %s, see the report without --summary)", report.Plural(n, "other reason"))
		}
		p.printItem("missing", text)
	}
}

// printLimits prints the causes with at least 5% of the cycles, most first.
func (p pager) printLimits(c *report.Cycles, res *anesim.Result) {
	const least = 5 // per cent
	type cause struct {
		name  string
		share float64
	}
	var list []cause
	for name, n := range c.All() {
		if share := report.Percent(n, c.Total); share >= least {
			list = append(list, cause{name, share})
		}
	}
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b cause) int { return cmp.Compare(b.share, a.share) })
	var words []string
	for _, x := range list {
		text := fmt.Sprintf("%s %.0f%%", report.CauseText(x.name), x.share)
		if engines := formatEngines(c, res.Report.PlanarCompute(), "", 0); engines != "" && x.name == hw.CauseCompute.String() {
			text += " (" + engines + ")"
		}
		words = append(words, text)
	}
	p.printItem("limits", strings.Join(words, ", "))
}

// printSlowest prints the five kinds of layers with the most time.
func (p pager) printSlowest(d *report.Network, calls int) {
	const most = 5
	list := view.FromNetwork(d).Kinds()
	if len(list) == 0 {
		return
	}
	p.Whole("  slowest")
	t := terminal.NewTable(
		terminal.Word("layer", 0), terminal.Word("op", 0), terminal.Number("alike", 1), terminal.Number("share", 0), terminal.Number("time", 0), terminal.Word("bound by", 0))
	for _, k := range list[:min(most, len(list))] {
		first := &d.Layers[k.First]
		name := terminal.CutMiddle(report.Printable(first.Name), 26)
		if first.Total.Unmeasured > first.Total.TimeNs/2 {
			name += " " + report.UnmeasuredMark
		}
		t.Add(name, report.Printable(first.Op), fmt.Sprint(k.Count), fmt.Sprintf("%.0f%%", report.Percent(k.Cycles, d.Total.Cycles)), report.TimeText(k.Time/clock.Nanoseconds(calls)),
			fmt.Sprintf("%s %.0f%%", report.CauseText(first.Bound), report.Percent(k.Bound, k.Cycles)))
	}
	p.TableWithin(t, summaryWidth, 4)
}

// printBestChange prints the change that saves the most time.
func (p pager) printBestChange(x *explain.Explanation) {
	switch {
	case x == nil:
	case len(x.Trials) == 0 && x.Tried.All == 1:
		p.printItem("faster", "the one change tried does not help")
	case len(x.Trials) == 0 && x.Tried.All > 0:
		p.printItem("faster", fmt.Sprintf("none of %s tried helps", report.Plural(x.Tried.All, "change")))
	case len(x.Trials) > 0:
		c := &x.Trials[0]
		where := cmp.Or(report.Printable(c.Part), "all layers")
		if c.Alike > 1 {
			where += fmt.Sprintf(" and %d more", c.Alike-1)
		}
		// The gain is that of a call, as the changes are, whatever --repeat is.
		p.printItem("faster", fmt.Sprintf("%s: %s:%s", where, c.Change, p.formatGain(c, x.Now.TimeNs)))
	}
}

// WriteGain writes how the time of the engine and its energy differ from those of the result before, for the
// change that the words name.
func WriteGain(w io.Writer, change string, before, after *anesim.Result) error {
	p := newChipPager(w, after.Options.Chip.Name)
	if before.Report.Time <= 0 {
		return p.Err
	}
	n := clock.Nanoseconds(max(1, after.Options.Repeat))
	text := fmt.Sprintf("%s: %s instead of %s on the engine (%+.1f%%)", change, report.TimeText(after.Report.Time/n), report.TimeText(before.Report.Time/n),
		100*float64(after.Report.Time/before.Report.Time-1))
	p.printItem("what-if", text+"; times only: whether the values are good enough, only the network with such weights can tell")
	return p.Err
}
