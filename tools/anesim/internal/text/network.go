package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"anesim"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/internal/explain"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/view"
)

// WriteNetwork writes the results of a network as text. The argument d is the JSON report of res.
// The argument x holds the changes that were tried to make the network faster, or is nil; explain
// is the command that prints more about such changes. WriteNetwork lists only the top slowest
// layers, or all layers if top is 0.
func WriteNetwork(w io.Writer, res *anesim.Result, d *report.Network, x *explain.Explanation, explain string, top int) error {
	p := newChipPager(w, d.Chip)
	p.printIncomplete(d.NotModelled)
	p.printf("%s  %s, %s, chip %s at %.3f GHz", report.Printable(d.Network), report.Plural(len(d.Layers), "layer"),
		report.Plural(len(d.Programs), "program"), d.Chip, res.Options.Chip.Clock.Value/1e9)
	p.printCall(res)
	p.printWhatIfs(d.WhatIfs)
	for i := range d.TooLarge {
		p.printf("%s", d.TooLarge[i].String())
	}
	p.printCoverage(&d.Coverage)
	if p.Width == 0 {
		p.printBottlenecks(d, &res.Options, res.Report.PlanarCompute(), x, explain)
	}
	p.printf("")
	if calls := inCalls(&res.Options); calls != "" {
		p.printf("layers%s:", calls)
	}
	marked := p.printLayers(d, top)
	p.printInferenceFootnotes(d, marked)
	p.printf("")
	p.printOperations(d)
	call := "the call itself"
	if len(d.Programs) != 1 {
		call = fmt.Sprintf("the calls of %d programs", len(d.Programs))
	}
	if len(d.Programs) == 0 {
		p.printf("total: no program runs on the engine; there are no cycles, time or energy of it to report")
	} else {
		p.printTotals(&d.Total, d.Peak, inCalls(&res.Options), call)
	}
	p.printUnmeasured(res.Report, &res.Options.Chip)
	p.printWallTime(res, &d.Total, d.Host)
	p.printCycles(&d.Cycles, res.Report.PlanarCompute(), d.Total.Saved)
	p.printEnergies(&d.Total)
	p.printPrograms(d)
	p.printPackedWeights(d)
	p.printSpills(d.Spilled)
	p.printPlacement(d.Placement)
	for _, note := range d.Remarks() {
		p.printf("note: %s", report.Printable(note))
	}
	p.printHostStages(d)
	p.printValues(res, d)
	if len(d.NotModelled) > 0 {
		p.printf("not modelled: %s, left out of all totals", report.Plural(len(d.NotModelled), "layer"))
	}
	for _, g := range report.GroupMissing(d.NotModelled) {
		first := g.Causes[0]
		line := fmt.Sprintf("  %s: %s", report.NameMissing(g.Causes), report.Printable(strings.TrimPrefix(first.Reason, first.Op+": ")))
		if n := len(g.Behind); n > 0 {
			line += fmt.Sprintf("; so the shapes of %s after it are unknown", report.Plural(n, "layer"))
		}
		p.printf("%s", line)
	}
	if p.Width == 0 {
		p.printTotalsAgain(d, &res.Options)
		return p.Err
	}
	// On a terminal, the start of a long report has scrolled away.
	p.printf("")
	p.printNetworkSummary(res, d, x, explain)
	return p.Err
}

// printLayers prints a table of the layers, or only of the top slowest ones unless top is 0. It
// returns the footnote marks of layers with inferred figures, by the assumption behind them.
func (p pager) printLayers(d *report.Network, top int) map[string]string {
	columns, t := newReportTable(p, report.LayerColumns)
	marked := assignMarks(d)
	shown := selectLayers(d, top)
	for i := range d.Layers {
		l := &d.Layers[i]
		if !shown[i] {
			continue
		}
		row := formatCells(columns, l)
		row[0] += marked[l.Rests]
		if l.Total.Unmeasured > l.Total.TimeNs/2 {
			row[0] += " " + report.UnmeasuredMark
		}
		state, took := "", "-"
		// A layer on the host has no cycles of the engine, and a fused one has none of its own. A dash is not a
		// zero, which would say that it was measured.
		switch {
		case l.HostNs > 0:
			state, took = "host", report.TimeText(l.HostNs)
		case !l.Modelled:
			state = "not modelled"
		case l.Descriptors == 0:
			state = "fused"
		}
		for k := 0; state != "" && k < len(row); k++ {
			switch columns[k].Title {
			case "layer", "op", "in", "out", "window":
			case "bound by":
				row[k] = state
			case "time":
				row[k] = took
			default:
				row[k] = "-"
			}
		}
		t.Add(row...)
	}
	p.Table(t, 0)
	if n := len(d.Layers) - t.Rows(); n > 0 {
		p.printf("and %s, counted in the totals; omit --top to list them", report.Plural(n, "layer")+" more")
	}
	return marked
}

// printBottlenecks prints the time of a network, the kinds of layers with the most cycles, the
// causes of these cycles, and changes that help. Its lines have at most HeadWidth characters.
func (p pager) printBottlenecks(d *report.Network, o *anesim.Options, planar clock.Cycles, x *explain.Explanation, explain string) {
	const most = 5
	list := view.FromNetwork(d).Kinds()
	if len(list) == 0 {
		return
	}
	list = list[:min(most, len(list))]
	sum, layers := uint64(0), 0
	for _, k := range list {
		sum += k.Cycles
		layers += k.Count
	}
	t := &d.Total
	// All figures below are sums, but gains.
	p.printf("%v of engine time%s (%s to %s)%s; %.0f%% of the time in %s:", t.TimeNs, inCalls(o), report.TimeAs(t.TimeLowNs, t.TimeNs), report.TimeAs(t.TimeHighNs, t.TimeNs), p.andEnergy(t.EnergyNJ),
		report.Percent(sum, t.Cycles), report.Plural(layers, "layer"))
	rows := terminal.NewTable(
		terminal.Word("layer", 0), terminal.Word("op", 0), terminal.Number("layers", 0), terminal.Number("share", 0), terminal.Number("time", 0), terminal.Word("bound by", 0), terminal.Number("of its cycles", 1),
	)
	for _, k := range list {
		first := &d.Layers[k.First]
		alike := strconv.Itoa(k.Count)
		if k.Count > 1 {
			alike += " alike"
		}
		rows.Add(report.Printable(first.Name), report.Printable(first.Op), alike, fmt.Sprintf("%.1f%%", report.Percent(k.Cycles, t.Cycles)), report.TimeText(k.Time),
			report.CauseText(first.Bound), fmt.Sprintf("%.0f%%", report.Percent(k.Bound, k.Cycles)))
	}
	p.TableWithin(rows, HeadWidth, 2)
	p.printMainCauses(&d.Cycles, planar)
	p.printChanges(x, explain)
}

// glosses explains causes of cycles to readers who do not know their names.
var glosses = map[string]string{
	"input_stall": "waiting for tensors", "output_stall": "results wait to leave", "kernel_stall": "waiting for weights",
	"l2_read_stall": "waiting for L2 reads", "l2_write_stall": "waiting for L2 writes", "overhead": "starting descriptors",
	"throttle": "within the power limit", "idle": "nothing to do",
}

// printMainCauses prints the causes with the most cycles, up to three, each with at least 5% of the
// cycles. Of the cycles that count as computing, planar are those of the planar engine.
func (p pager) printMainCauses(c *report.Cycles, planar clock.Cycles) {
	const most, least = 3, 5 // causes, and per cent
	type cause struct {
		name string
		n    uint64
	}
	var list []cause
	for name, n := range c.All() {
		if report.Percent(n, c.Total) >= least {
			list = append(list, cause{name, n})
		}
	}
	slices.SortStableFunc(list, func(a, b cause) int { return cmp.Compare(b.n, a.n) })
	var words []string
	for _, x := range list[:min(most, len(list))] {
		words = append(words, formatCause(c, x.name, report.Percent(x.n, c.Total), planar))
	}
	line := "why: " + strings.Join(words, ", ")
	for len(words) > 1 && utf8.RuneCountInString(line) > HeadWidth {
		words = words[:len(words)-1]
		line = "why: " + strings.Join(words, ", ")
	}
	p.printf("%s", line)
}

// formatCause returns the name of a cause with its share of the cycles in percent and its meaning, such as
// "weight stall 28% (waiting for weights)". For computing, it says which engines compute.
func formatCause(c *report.Cycles, name string, share float64, planar clock.Cycles) string {
	meaning := glosses[name]
	if name == hw.CauseCompute.String() {
		meaning = formatEngines(c, planar, "", 0)
	}
	text := fmt.Sprintf("%s %.0f%%", report.CauseText(name), share)
	if meaning != "" {
		text += " (" + meaning + ")"
	}
	return text
}

// printChanges prints the changes that were tried on the slowest layers, with their gains, and
// the command that explains more. If x is nil, it prints the command only.
func (p pager) printChanges(x *explain.Explanation, command string) {
	const most = 5 // lines
	if x == nil {
		p.Whole("what to change: " + command)
		return
	}
	var within, alone []string
	unmeasured, printed := false, 0
	for i := range x.Trials {
		c := &x.Trials[i]
		if printed == most {
			break
		}
		where := "all layers"
		if c.Part != "" {
			where = report.Printable(c.Part)
		}
		if c.Alike > 1 {
			where += fmt.Sprintf(" and %d more", c.Alike-1)
		}
		gain := p.formatGain(c, x.Now.TimeNs)
		if isMostlyUnmeasured(c) {
			gain += " " + report.UnmeasuredMark
			unmeasured = true
		}
		lines := formatAdvice(where, c.Change, gain)
		printed++
		if !c.Alone {
			within = append(within, lines...)
		} else {
			alone = append(alone, lines...)
		}
	}
	tried := report.Plural(x.Tried.All, "change")
	if n := x.Tried.Left; n > 0 {
		if x.Tried.All == 0 {
			p.printf("what to change: each of %s would take longer to try than the run; to try them:", report.Plural(n, "change"))
			p.Whole("  " + command)
			return
		}
		defer func() { p.printf("%d more not tried, to take no longer than the run; explain tries more", n) }()
	}
	if len(within)+len(alone) == 0 {
		line := "what to change: none of the " + tried + " tried makes it faster"
		if x.Tried.All == 1 {
			line = "what to change: the one change tried does not make it faster"
		}
		if len(x.Kinds()) <= explain.DefaultTop {
			p.printf("%s; to see what limits it:", line)
			p.Whole("  " + command)
			return
		}
		p.printf("%s; to try them on more layers:", line)
		p.Whole("  " + command + " --top 20")
		return
	}
	if len(within) > 0 {
		p.printf("what to change (%s tried), with the gain for the whole network:", tried)
		p.Lines(within)
	}
	if len(alone) > 0 {
		if len(within) > 0 {
			p.printf("tried on the layer alone with its tensors in memory; in the network it may gain less:")
		} else {
			p.printf("what to change (%s tried, each on the layer alone; in the network it may gain less):", tried)
		}
		p.Lines(alone)
	}
	if unmeasured {
		p.printf("%s %s", report.UnmeasuredMark, unmeasuredRemark)
	}
	p.printf("how, and what each change needs:")
	p.Whole("  " + command)
}

// formatGain returns text with the share and the time of the whole network that a change saves. For
// a change that gates tiles, the text gives the effect on energy and time.
func (p pager) formatGain(c *explain.Change, whole clock.Nanoseconds) string {
	if c.Kind == "gating" {
		return fmt.Sprintf("  energy %s, time %s", p.energyChange(c), view.Change(float64(c.Before.TimeNs), float64(c.After.TimeNs)))
	}
	return fmt.Sprintf("  -%.1f%%, %s less", 100*c.SavedNs/float64(whole), report.TimeText(clock.Nanoseconds(c.SavedNs)))
}

// formatAdvice returns the lines that describe a change, with its gain at the end, in at most
// HeadWidth characters per line if the words allow. It may shorten the name of the layer, but never
// the change.
func formatAdvice(where, change, gain string) (lines []string) {
	const least = 30 // characters of the name
	room := HeadWidth - utf8.RuneCountInString("  : "+change+gain)
	line := fmt.Sprintf("  %s: %s", terminal.CutMiddle(where, max(least, room)), change)
	if utf8.RuneCountInString(line+gain) <= HeadWidth {
		return []string{line + gain}
	}
	const indent = "    "
	line = fmt.Sprintf("  %s: %s", where, change)
	for utf8.RuneCountInString(line) > HeadWidth {
		end := strings.LastIndexByte(string([]rune(line)[:HeadWidth]), ' ')
		if strings.TrimSpace(line[:max(0, end)]) == "" {
			break
		}
		lines = append(lines, line[:end])
		line = indent + strings.TrimLeft(line[end:], " ")
	}
	if utf8.RuneCountInString(line+gain) <= HeadWidth {
		return append(lines, line+gain)
	}
	return append(lines, line, indent+strings.TrimLeft(gain, " "))
}

// HeadWidth is the largest width, in characters, of the summary at the start of a report.
const HeadWidth = 100

// printIncomplete prints a warning about layers without a cost. It is called before any figure that
// excludes them is printed.
func (p pager) printIncomplete(list []report.Missing) {
	if line := report.Incomplete(list); line != "" {
		p.printf("%s", line)
	}
}

// printCoverage prints which shares of the network's nodes, multiply-accumulates and bytes the
// figures include.
func (p pager) printCoverage(c *report.Coverage) {
	if c.Hosted > 0 && c.Hosted == c.Done {
		p.printf("covers: nothing runs on the engine: %d of %s on the host", c.Hosted, report.Plural(c.Nodes, "node"))
		return
	}
	if c.Done == c.Nodes {
		p.printf("covers: %s%s, %s multiply-accumulates needed, %s if nothing is kept in L2", formatAllNodes(c), formatHostNodes(c), report.Thousands(c.MACs), report.Size(c.Bytes))
		return
	}
	if c.Unsized > 0 && c.Unsized == c.Nodes-c.Done {
		hosted := ""
		if c.Hosted > 0 {
			hosted = fmt.Sprintf(" (%d of them on the host)", c.Hosted)
		}
		others, have := "the others have", "their work is"
		if c.Unsized == 1 {
			others, have = "the other one has", "its work is"
		}
		p.printf("covers: %d of %s%s; %s an unknown shape, so %s not counted", c.Done, report.Plural(c.Nodes, "node"), hosted, others, have)
		p.printMissingOutputs(c)
		return
	}
	line := fmt.Sprintf("covers: %d of %s (%s%s), %s of multiply-accumulates, %s of bytes", c.Done, report.Plural(c.Nodes, "node"),
		formatShare(uint64(c.Done), uint64(c.Nodes)), formatHostNodes(c), formatShareOrNone(c.DoneMACs, c.MACs), formatShareOrNone(c.DoneBytes, c.Bytes))
	if c.Unsized > 0 {
		line += fmt.Sprintf("; %s of unknown shape not counted in either", report.Plural(c.Unsized, "node"))
	}
	p.printf("%s", line)
	p.printMissingOutputs(c)
}

// printMissingOutputs prints the outputs that are not computed, in one line for each layer that they
// depend on and that is not modelled, and in at most three lines.
func (p pager) printMissingOutputs(c *report.Coverage) {
	const most = 3 // lines, and names in a line
	outputs := map[string][]string{}
	var layers []string
	for _, x := range c.Lost {
		if outputs[x.Layer] == nil {
			layers = append(layers, x.Layer)
		}
		outputs[x.Layer] = append(outputs[x.Layer], report.Printable(x.Output))
	}
	others := 0
	for i, l := range layers {
		switch names := outputs[l]; {
		case i >= most:
			others += len(names)
		case len(names) == 1:
			p.printf("output %s needs %s, which is not modelled", names[0], report.Printable(l))
		default:
			text := strings.Join(names[:min(most, len(names))], ", ")
			if n := len(names) - most; n > 0 {
				text += fmt.Sprintf(" and %d more", n)
			}
			p.printf("%s need %s, which is not modelled: %s", report.Plural(len(names), "output"), report.Printable(l), text)
		}
	}
	if others > 0 {
		p.printf("further outputs that need other layers which are not modelled: %d", others)
	}
}

// formatAllNodes returns a phrase for all nodes of a network.
func formatAllNodes(c *report.Coverage) string {
	if c.Nodes == 1 {
		return "its one node"
	}
	return "all " + report.Plural(c.Nodes, "node")
}

// formatHostNodes returns a phrase with the number of nodes that run on the host, or "" if none do.
func formatHostNodes(c *report.Coverage) string {
	if c.Hosted == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them on the host", c.Hosted)
}

// formatShare returns part/whole in percent. It returns 100% only if part equals whole, so that a
// missing part is never rounded away.
func formatShare(part, whole uint64) string {
	if part == whole {
		return "100%"
	}
	return fmt.Sprintf("%.1f%%", min(99.9, report.Percent(part, whole)))
}

// formatShareOrNone is like formatShare, but returns "none" if whole is 0.
func formatShareOrNone(part, whole uint64) string {
	if whole == 0 {
		return "none"
	}
	return formatShare(part, whole)
}

// printPrograms prints the layers of each program and why a new program begins there.
func (p pager) printPrograms(d *report.Network) {
	for k, x := range d.Programs {
		line := fmt.Sprintf("program %d: %s", k+1, report.Printable(x.First))
		if x.Layers > 1 {
			line += " to " + report.Printable(x.Last)
		}
		line += fmt.Sprintf(", %s, %s, %s of scratch", report.Plural(x.Layers, "layer"), report.Plural(x.Descriptors, "descriptor"), report.Size(uint64(x.ScratchBytes)))
		if x.Why != "" {
			line += "; separate from the program before: " + report.Printable(x.Why)
		}
		if x.File != "" {
			line += "; written to " + report.Printable(x.File)
		}
		p.printf("%s", line)
	}
}

// printPackedWeights prints the form in which the engine reads weights that are packed in the
// model's file.
func (p pager) printPackedWeights(d *report.Network) {
	type form struct{ as, in string }
	layers := map[form][]string{}
	var order []form
	for i := range d.Layers {
		l := &d.Layers[i]
		if l.PackedAs == "" || l.Weights == "" {
			continue
		}
		f := form{l.PackedAs, l.Weights}
		if layers[f] == nil {
			order = append(order, f)
		}
		layers[f] = append(layers[f], l.Name)
	}
	for _, f := range order {
		names := layers[f]
		where := report.Printable(names[0])
		if len(names) > 1 {
			where += fmt.Sprintf(" and %d more", len(names)-1)
		}
		why := ""
		if f.in == "fp16" {
			why = ", since no packed form keeps the same values in fewer bytes"
		}
		p.printf("weights: %s of %s in the file, %s in the engine%s", where, f.as, f.in, why)
	}
}

// printValues prints the inputs and outputs of a network, and the caveats of layers whose values
// are not exact or not computed.
func (p pager) printValues(res *anesim.Result, d *report.Network) {
	p.printInputs(res, d)
	p.printCalls(res, d.State)
	for _, o := range res.Outputs {
		kind := ""
		if o.Numbers != nil {
			kind = o.Type + "  "
		}
		p.printf("output  %s %v  %scrc32 %s  %s", report.Printable(o.Port.Name), o.Shape(), kind, engine.Checksum(o.Data), o.Summary())
	}
	if res.Options.Values && len(res.Report.Faults) == 0 {
		for i := range res.Programs {
			x := &res.Programs[i]
			if why := report.WhyNoValues(x); len(x.Outputs) == 0 && why != "" {
				p.printf("values: none of program %d: %s", i+1, why)
			}
		}
	}
	p.printLayersByText("caveat ", d, func(l *report.Layer) string { return l.Caveat })
	p.printLayersByText("no values:", d, func(l *report.Layer) string { return l.Note })
}

// printInputs prints the shape and the source of each input whose values were used.
func (p pager) printInputs(res *anesim.Result, d *report.Network) {
	if !res.Options.Values {
		return
	}
	listed := map[string]bool{}
	for _, in := range res.Model.Network().Inputs {
		listed[in.Name] = true
		shape := in.Dims
		if shape == nil {
			shape = []int{in.Shape.N, in.Shape.C, in.Shape.H, in.Shape.W}
		}
		how := ""
		isCopied := func(c anesim.CopiedState) bool { return c.Input == in.Name }
		// Copied states are given as inputs of the last call, so they are asked for before inputs that
		// the user gave.
		if slices.ContainsFunc(res.CopiedStates, isCopied) {
			how = "state, copied from the call before"
		} else if _, given := res.Options.Inputs[in.Name]; given {
			how = "given"
		} else if in.State != "" || slices.ContainsFunc(res.Options.State, func(a anesim.StateAlias) bool { return a.Input == in.Name }) {
			how = "state, zero at first"
		} else if slices.Contains(d.Synthetic, in.Name) {
			how = fmt.Sprintf("pseudo-random (--seed %d)", res.Options.Seed)
		}
		if how != "" {
			p.printf("input   %s %v  %s", report.Printable(in.Name), shape, how)
		}
	}
	// Operands of a layer that has no cost are made up as well, and are not inputs of the network.
	for _, name := range d.Synthetic {
		if !listed[name] {
			p.printf("input   %s  pseudo-random (--seed %d)", report.Printable(name), res.Options.Seed)
		}
	}
}

// printLayersByText calls text for each layer of d and prints a line for each distinct result. A
// line names the first three layers with that result and counts the others.
func (p pager) printLayersByText(label string, d *report.Network, text func(*report.Layer) string) {
	const named = 3
	layers := map[string][]string{}
	var order []string
	for i := range d.Layers {
		what := text(&d.Layers[i])
		if what == "" {
			continue
		}
		if layers[what] == nil {
			order = append(order, what)
		}
		layers[what] = append(layers[what], report.Printable(d.Layers[i].Name))
	}
	for _, what := range order {
		names := layers[what]
		where := strings.Join(names[:min(named, len(names))], ", ")
		if n := len(names) - named; n > 0 {
			where = fmt.Sprintf("%s and %d more", where, n)
		}
		if len(names) > 1 {
			where = fmt.Sprintf("%d layers (%s)", len(names), where)
		}
		p.printf("%s %s: %s", label, where, what)
	}
}

// printHostStages prints the layers that run on the host, and the reasons why the engine cannot run
// them.
func (p pager) printHostStages(d *report.Network) {
	n := 0
	for i := range d.Layers {
		if d.Layers[i].HostNs > 0 {
			n++
		}
	}
	if n == 0 {
		return
	}
	p.printf("on the host: %s, %v of wall time at rates assumed for a CPU, not part of engine time", report.Plural(n, "layer"), d.StagesNs)
	for i := range d.Layers {
		if l := &d.Layers[i]; l.HostNs > 0 {
			p.printf("  %s (%s): %s", report.Printable(l.Name), report.Printable(l.Op), report.Printable(strings.TrimPrefix(l.HostWhy, l.Op+": ")))
		}
	}
}
