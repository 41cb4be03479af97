package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"anesim"
	"anesim/hw/machine"
	"anesim/internal/explain"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// notedShare is the share of the time above which inferred figures are marked in a report.
const notedShare = 0.05

// assignMarks returns the footnote mark, such as " [1]", for each assumption behind layers without
// an example program. Assumptions that affect at most notedShare of the time have no mark.
func assignMarks(d *report.Network) map[string]string {
	marks := map[string]string{}
	for _, what := range listNotedAssumptions(d) {
		marks[what] = fmt.Sprintf(" [%d]", len(marks)+1)
	}
	return marks
}

// listNotedAssumptions returns the assumptions whose layers cause more than notedShare of the time,
// in the order of the layers.
func listNotedAssumptions(d *report.Network) (list []string) {
	share := map[string]float64{}
	for i := range d.Layers {
		l := &d.Layers[i]
		if l.Rests == "" || d.Total.TimeNs <= 0 {
			continue
		}
		before := share[l.Rests]
		share[l.Rests] += float64(l.Total.TimeNs / d.Total.TimeNs)
		if before <= notedShare && share[l.Rests] > notedShare {
			list = append(list, l.Rests)
		}
	}
	return list
}

// printInferenceFootnotes prints the footnotes below a network's table: each marked assumption with
// the share of the time that depends on it.
func (p pager) printInferenceFootnotes(d *report.Network, marks map[string]string) {
	for _, what := range listNotedAssumptions(d) {
		share := 0.0
		for i := range d.Layers {
			if d.Layers[i].Rests == what {
				share += float64(d.Layers[i].Total.TimeNs / d.Total.TimeNs)
			}
		}
		p.printf("%s %.1f%% of the time is inferred:", marks[what][1:], 100*share)
		p.printf("    %s", what)
	}
}

// selectLayers returns, for each layer, whether the table has a row for it. The table has rows for
// the top slowest layers, or for all layers if top is 0.
func selectLayers(d *report.Network, top int) []bool {
	shown := make([]bool, len(d.Layers))
	order := make([]int, len(d.Layers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &d.Layers[a], &d.Layers[b]
		return cmp.Compare(machine.Wall(y.Total.TimeNs, y.HostNs), machine.Wall(x.Total.TimeNs, x.HostNs))
	})
	for k, i := range order {
		shown[i] = top == 0 || k < top
	}
	return shown
}

// printOperations prints a table with the sums of each operation. It prints nothing if the network
// has fewer than two operations.
func (p pager) printOperations(d *report.Network) {
	if len(d.Operations) < 2 {
		return
	}
	columns := []terminal.Column{
		terminal.Word("operation", 0), terminal.Number("layers", 0), terminal.Number("time", 0), terminal.Number("share", 0), terminal.Number("moved", 2), terminal.Number("MACs", 3), terminal.Number("energy", 1),
	}
	if p.noEnergy {
		columns = columns[:len(columns)-1]
	}
	t := terminal.NewTable(columns...)
	for i := range d.Operations {
		o := &d.Operations[i]
		row := []string{report.Printable(o.Op), strconv.Itoa(o.Layers), report.TimeText(o.TimeNs), fmt.Sprintf("%.1f%%", 100*o.Share), report.Size(o.DMABytes), report.Thousands(o.MACs), report.EnergyText(o.EnergyNJ)}
		t.Add(row[:len(columns)]...)
	}
	p.Table(t, 0)
	p.printf("")
}

// printTotalsAgain prints the totals of a network again, because the first lines of a long report
// may have scrolled away.
func (p pager) printTotalsAgain(d *report.Network, o *anesim.Options) {
	t := &d.Total
	if t.TimeNs <= 0 {
		return
	}
	calls := 1
	if d.Repeat != nil {
		calls = d.Repeat.Dispatches
	}
	made := ""
	if d.Memory.MadeUp {
		made = " (pseudo-random, shared by layers of equal shape)"
	}
	wall, rate := "", ""
	if t.WallNs > t.TimeNs {
		wall = fmt.Sprintf("%s of wall time, ", report.TimeText(t.WallNs))
	}
	if d.Host != "" && d.Host != "none" { // without a host, nothing says how often one can call
		rate = ", " + report.Rate(float64(calls)*1e9/float64(t.WallNs)) + " calls/s"
	}
	p.printf("in all%s: %s%v of engine time (%s to %s)%s%s; %s of weights%s, %s of device memory",
		inCalls(o), wall, t.TimeNs, report.TimeAs(t.TimeLowNs, t.TimeNs), report.TimeAs(t.TimeHighNs, t.TimeNs), rate, p.andEnergy(t.WallEnergyNJ), report.Size(d.Memory.WeightBytes), made, report.Size(d.Memory.AllBytes))
}

// printAssumptions prints the assumptions behind parts without an example program, if the parts
// have more than notedShare of the cycles.
func (p pager) printAssumptions(parts []explain.Part) {
	share := map[string]float64{}
	names := map[string][]string{}
	var order []string
	for i := range parts {
		x := &parts[i]
		if x.Rests == "" {
			continue
		}
		if names[x.Rests] == nil {
			order = append(order, x.Rests)
		}
		share[x.Rests] += x.Share
		names[x.Rests] = append(names[x.Rests], report.Printable(x.Name))
	}
	for _, what := range order {
		if share[what] <= notedShare {
			continue
		}
		which := names[what][0]
		if n := len(names[what]); n > 1 {
			which += fmt.Sprintf(" and %d more", n-1)
		}
		p.printf("inferred, of %.1f%% of the cycles (%s): %s", 100*share[what], which, what)
	}
}
