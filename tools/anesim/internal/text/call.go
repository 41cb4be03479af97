package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"anesim"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/machine"
	"anesim/internal/explain"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// printCall prints the time of a call. Without a host, it prints the least time of a call on a
// machine with the chip.
func (p pager) printCall(res *anesim.Result) {
	if res.Host() <= 0 {
		for _, m := range machine.Machines() {
			if m.Chip.Name == res.Options.Chip.Name {
				floor := clock.Nanoseconds(1e3 * m.Host.Floor.Value)
				p.printf("a call: at least %v on %s (--machine %s)", machine.Wall(res.Call(), floor), m.Noun(), m.Name)
				return
			}
		}
		return
	}
	on := hostNoun(res)
	call := res.Call()
	b := res.CallBounds()
	p.printf("a call: %v on %s (%s: %s to %s), %s calls/s, %.1f%% of it the host", call, on, hw.IntervalPercent,
		report.TimeAs(b.Low, call), report.TimeAs(b.High, call), report.Rate(1e9/float64(call)), 100*float64(res.Host())/float64(machine.Wall(res.Report.Time, res.Host())))
	wake := clock.Nanoseconds(res.Options.Chip.WakeTime.Value)
	p.printf("  the first call after a pause of %v: %v", clock.Nanoseconds(res.Options.Chip.WakeGap.Value), call+wake)
	if text := formatCallEnergy(res); text != "" {
		p.printf("  energy: %s", text)
	}
	if m := res.Options.Machine; m != nil && m.Note() != "" {
		p.printf("  note: %s", m.Note())
	}
}

// hostNoun names the machine or the host on which a call of res is timed. Without either, only layers that
// the host computes take time outside the engine.
func hostNoun(res *anesim.Result) string {
	switch m := res.Options.Machine; {
	case m != nil:
		return m.Noun()
	case res.Options.Host.Name == "none":
		return "a host whose calls cost nothing (--machine)"
	}
	return "host " + res.Options.Host.Name
}

// WriteHostShare writes the time of a call of an explained model and the host's share of it, which changes
// to the model hardly save. It writes nothing if o has no host.
func WriteHostShare(w io.Writer, d *explain.Explanation, o *anesim.Options) error {
	if d.CallNs <= 0 {
		return nil
	}
	on := "host " + o.Host.Name
	if o.Machine != nil {
		on = o.Machine.Noun()
	}
	p := newPager(w)
	share := float64(100 * (1 - d.Now.TimeNs/d.CallNs))
	p.printf("a call: %v on %s (%s: %s to %s), %.1f%% of it the host", d.CallNs, on, hw.IntervalPercent, report.TimeAs(d.CallLowNs, d.CallNs), report.TimeAs(d.CallHighNs, d.CallNs), share)
	if share >= 90 {
		p.printf("  no change to the model saves more than %.1f%% of a call; fewer calls do: a batch, or a larger network", 100-share)
	}
	if o.Machine != nil && o.Machine.Note() != "" {
		p.printf("  note: %s", o.Machine.Note())
	}
	return p.Err
}

// WriteMachines writes the time of a call on several machines, a row each. All results are of one
// model. Without a terminal, the table is as wide as a summary.
func WriteMachines(w io.Writer, results []*anesim.Result) error {
	p := newPager(w)
	p.Width = cmp.Or(p.Width, summaryWidth)
	const interval, found, rows = hw.IntervalPercent + " of calls", "how", "rows"
	t := terminal.NewTable(terminal.Word("machine", 0), terminal.Number("engine", 1), terminal.Number("host", 3), terminal.Number("a call", 0),
		terminal.Number(interval, 0), terminal.Word(found, 0), terminal.Number(rows, 2))
	scaled := false
	for _, res := range results {
		m, call, b := res.Options.Machine, res.Call(), res.CallBounds()
		n := clock.Nanoseconds(max(1, res.Options.Repeat))
		scaled = scaled || m.Scaled
		how, _, _ := strings.Cut(m.Found(), " ") // the rest is below the table
		t.Add(m.Name, report.TimeText(res.Report.Time/n), report.TimeText(res.Host()/n), report.TimeText(call),
			fmt.Sprintf("%s to %s", report.TimeText(b.Low), report.TimeText(b.High)), how, fmt.Sprint(b.Rows))
	}
	p.printf("%s: a call, mean of a loop", report.Printable(results[0].Model.Name()))
	p.Table(t, 0)
	omitted := t.Omitted(p.Width)
	p.printf("%s: %s calls should fall in this range", interval, hw.IntervalWords)
	if !slices.Contains(omitted, rows) {
		p.printf("%s: published calls on whose errors the range rests; the fit had not seen their machine, session or network", rows)
	}
	if scaled {
		p.printf("scaled: programs of that generation are not modelled; the time is that of an M1's program at the clock and the memory rate of the machine")
	}
	return p.Err
}
