package text

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"anesim/hw/clock"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// WriteLoad writes the results of a load, in which several clients call the engine, as text. It
// writes the latencies of each client, and the utilisation and energy of the engine.
func WriteLoad(w io.Writer, d *report.Load) error {
	p := newPager(w)
	preemption := ""
	// The default is not repeated in each report.
	if d.Preemption != "run" {
		preemption = ", preemption " + d.Preemption
	}
	p.printf("arrivals for %v, seed %d, chip %s, host %s, %s in flight%s", time.Duration(d.DurationNs), d.Seed, d.Chip, d.Host, report.Plural(d.InFlight, "command"), preemption)
	p.printf("")
	t := terminal.NewTable(
		terminal.Word("client", 0), terminal.Number("prio", 0), terminal.Word("arrival", 3), terminal.Number("calls", 0), terminal.Number("calls/s", 1),
		terminal.Number("alone", 0), terminal.Number("p50", 0), terminal.Number("p90", 2), terminal.Number("p99", 0), terminal.Number("95% CI of p99", 4), terminal.Number("p99.9", 2), terminal.Number("max", 0),
		terminal.Number("mean wait", 0), terminal.Word("program", 5),
	)
	for i := range d.Clients {
		x := &d.Clients[i]
		row := []string{report.Printable(x.Name), fmt.Sprint(x.Priority), x.Arrival, report.Thousands(uint64(x.Calls)), report.Rate(x.CallsPerS), report.TimeText(x.Alone.LatencyNs)}
		// A client none of whose calls completed has no percentiles.
		if len(x.Latency) == 0 {
			row = append(row, "-", "-", "-", "-", "-", "-", "-")
		} else {
			at := func(k int) string { return report.TimeText(x.Latency[k].LatencyNs) }
			row = append(row, at(0), at(1), at(2), fmt.Sprintf("%s to %s", report.TimeText(x.Latency[2].LowNs), report.TimeText(x.Latency[2].HighNs)), at(3), at(4), report.TimeText(x.MeanWaitNs))
		}
		t.Add(append(row, report.Printable(x.Program))...)
	}
	p.Table(t, 0)
	p.printf("")
	p.printf("engine: busy %s of %s, utilization %.2f%%, %s of descriptors", d.BusyNs.String(), d.TimeNs.String(), 100*d.Utilisation, report.Plural(int(d.Runs), "run"))
	p.printf("energy: %s for calls, %s for waiting; mean power %s W; waited %s for power domains to wake", d.EnergyNJ, d.WaitNJ, report.Rate(d.MeanW), d.WakeNs)
	p.printQueueWaits(d)
	if d.HostStages != nil {
		p.printf("host, each call: %s", formatStages(d.HostStages))
		admitted := "no other call is admitted"
		if d.InFlight > 1 {
			admitted = fmt.Sprintf("at most %d calls are admitted", d.InFlight)
		}
		p.printf("host: other calls may overlap with %s of a call's fixed time; in the rest, %s before the engine works and %s after, %s (%s)", d.HostSplit.BesideNs, d.HostSplit.BeforeNs, d.HostSplit.AfterNs, admitted, d.HostSplit.Evidence)
	}
	for i := range d.Clients {
		if x := &d.Clients[i]; x.Stuck > 0 {
			p.printf("client %s: %s never completed: on an M1 a second overlapped stream of one process hangs", report.Printable(x.Name), report.Plural(x.Stuck, "call"))
		}
	}
	for i := range d.Clients {
		if x := &d.Clients[i]; x.SavedBytes > 0 {
			p.printf("client %s: %s not copied between host and device, since another client shares the buffer", report.Printable(x.Name), report.Size(x.SavedBytes))
		}
	}
	for i := range d.Clients {
		for _, w := range d.Clients[i].Warnings {
			p.printf("client %s: warning: %s", report.Printable(d.Clients[i].Name), w)
		}
	}
	if m := d.Memory; m != nil {
		p.printf("memory at the broker: %s for %s and %s; %s stay wired while no call is pending", report.Size(m.Bytes), report.Plural(m.Models, "model"), report.Plural(m.Adapters, "adapter"), report.Size(m.Wired))
	}
	if d.Cut {
		p.printf("arrivals stopped at max_calls; the figures are of the first %v", d.TimeNs)
	}
	p.printTimeline(d)
	if len(d.Events) > 0 {
		p.printf("")
		t := terminal.NewTable(terminal.Number("at", 0), terminal.Word("client", 0), terminal.Number("call", 0), terminal.Word("event", 0), terminal.Number("for", 0))
		for _, e := range d.Events {
			what, took := e.What, ""
			if e.Run > 0 {
				what = strings.Replace(what, "run", fmt.Sprintf("run %d", e.Run), 1)
			}
			if e.ForNs > 0 {
				took = report.TimeText(e.ForNs)
			}
			t.Add(e.AtNs.String(), report.Printable(e.Client), fmt.Sprint(e.Call), what, took)
		}
		p.Table(t, 0)
	}
	return p.Err
}

// printQueueWaits prints how long calls of each priority waited in their task queue, and what stopped
// runs cost, if two calls ever were in the queues.
func (p pager) printQueueWaits(d *report.Load) {
	// With one command in flight, the driver holds all others back and the queues never have two.
	if d.InFlight == 1 {
		return
	}
	var parts []string
	priorities := make(map[uint8]bool)
	for i := range d.Clients {
		priorities[d.Clients[i].Priority] = true
	}
	for _, priority := range slices.Sorted(maps.Keys(priorities)) {
		calls, total, longest := 0, 0.0, clock.Nanoseconds(0)
		for i := range d.Clients {
			if x := &d.Clients[i]; x.Priority == priority && x.Calls > 0 {
				calls += x.Calls
				// The mean over clients is weighted by their calls, so that it is that of all calls of the priority.
				total += float64(float64(x.Calls) * float64(x.MeanQueueNs))
				longest = max(longest, x.LongestNs)
			}
		}
		if calls > 0 {
			parts = append(parts, fmt.Sprintf("priority %d %s, at most %s", priority, report.TimeText(clock.Nanoseconds(total/float64(calls))), report.TimeText(longest)))
		}
	}
	p.printf("mean wait in the task queue: %s", strings.Join(parts, "; "))
	if d.StoredNs > 0 {
		p.printf("note: calls took the engine from others between runs; %s of its time passed until the others' results were in memory. The energy of that, and of what they fetch again, is not counted, as no document has a figure: a call has the energy of one that keeps the engine", d.StoredNs)
	}
	if d.Preemption != "abort" {
		return
	}
	p.printf("preemption: %s stopped in vain, which cost %s of engine time and %s", report.Plural(int(d.Stops), "run"), d.LostNs, d.LostNJ)
	for i := range d.Clients {
		if x := &d.Clients[i]; x.Stops > 0 {
			p.printf("client %s: %s stopped, %s of engine time lost", report.Printable(x.Name), report.Plural(int(x.Stops), "run"), x.LostNs)
		}
	}
}

// printTimeline draws each client's share of the engine and the engine's power over time, with one
// character per interval.
func (p pager) printTimeline(d *report.Load) {
	width := ""
	longest := len("power")
	for _, c := range d.Clients {
		longest = max(longest, len([]rune(report.Printable(c.Name))))
	}
	lines := make([]strings.Builder, len(d.Clients)+1)
	peak := 0
	for i := range d.Timeline {
		if d.Timeline[i].Watts > d.Timeline[peak].Watts {
			peak = i
		}
	}
	for i := range d.Timeline {
		b := &d.Timeline[i]
		if b.Clients == nil {
			continue // after the end of the arrivals
		}
		if width == "" { // the last may be shorter
			width = report.TimeText(b.ForNs)
		}
		for k, share := range b.Clients {
			lines[k].WriteByte(shareToDigit(share))
		}
		lines[len(d.Clients)].WriteByte(shareToDigit(b.Watts / max(1e-12, d.Timeline[peak].Watts)))
	}
	if width == "" {
		return
	}
	p.printf("")
	p.printf("timeline, %s per column: each client's share of the engine, and its power as a share of the highest (. below 5%%, 1 is 10%%, 9 is 90%%, # is 100%%)", width)
	for k, c := range d.Clients {
		p.printf("%-*s |%s|", longest, report.Printable(c.Name), lines[k].String())
	}
	b := &d.Timeline[peak]
	p.printf("%-*s |%s| of %s W, the highest, at %s", longest, "power", lines[len(d.Clients)].String(), report.Rate(b.Watts), b.AtNs)
}

// shareToDigit returns a character that shows a share in tenths: a space for 0, a point for less
// than a twentieth, '1' to '9', and '#' for the whole.
func shareToDigit(share float64) byte {
	switch n := int(math.Round(10 * share)); {
	case share <= 0:
		return ' '
	case n == 0:
		return '.'
	case n > 9:
		return '#'
	default:
		return '0' + byte(n)
	}
}
