package picture

import (
	"fmt"
	"math"

	"anesim/hw/clock"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/view"
)

// A segment is a part of a bar: its CSS class, its name and text in a tooltip, and its length.
type segment struct {
	class, name, text string
	value             float64
}

// drawBar draws a bar that is divided into parts. Parts that are wide enough show their share as
// text.
func drawBar(width float64, name string, parts []segment) *canvas {
	const height = 26
	c := newCanvas(width, height, name)
	sum := 0.0
	for _, s := range parts {
		sum += s.value
	}
	x, at := scale{high: sum, from: 0, to: c.width}, 0.0
	for _, s := range parts {
		from, to := x.toPosition(at), x.toPosition(at+s.value)
		at += s.value
		if s.value <= 0 || sum <= 0 {
			continue
		}
		share := fmt.Sprintf("%.1f%%", 100*s.value/sum)
		c.drawRect(from, 0, to-from, height, s.class, fmt.Sprintf("%s: %s, %s", s.name, s.text, share))
		const room = 44 // width of a printed share
		if to-from > room {
			c.drawTextOn((from+to)/2, height/2+4, "middle", share)
		}
	}
	return c
}

// Causes draws all cycles of a report as one bar, divided by cause.
func Causes(r *view.Report) *Picture {
	var sum report.Cycles
	for i := range r.Items {
		sum.Add(&r.Items[i].Cycles.Accounting)
	}
	sum.Total = uint64(sum.Accounting.Total())
	var parts []segment
	var names []Legend
	for name, n := range sum.All() {
		class := fmt.Sprintf("c%d", len(parts))
		parts = append(parts, segment{class, report.CauseText(name), report.Thousands(n) + " cycles", float64(n)})
		if n > 0 {
			names = append(names, Legend{class, report.CauseText(name)})
		}
	}
	return newPicture(Picture{ID: "causes", Title: "Where the cycles go", Legend: names,
		Note: "Each cycle has one cause. The table below has a bar for each " + r.Of + "."},
		func(width float64) *canvas { return drawBar(width, "All cycles by cause", parts) })
}

// listEnergySegments returns a segment of a bar for each part of the energy e.
func listEnergySegments(e *report.Energy) (list []segment) {
	for name, part := range e.All() {
		list = append(list, segment{fmt.Sprintf("e%d", len(list)), name, part.String(), float64(part)})
	}
	return list
}

// Latencies draws the latencies of each client on a logarithmic axis. A line extends from the
// median to the longest call, with a dot at each percentile. A ring marks the latency of a call
// that has the engine to itself. Latencies returns nil if no client has a latency.
func Latencies(d *report.Load) *Picture {
	low, high := math.Inf(1), 0.0
	n := 0
	for i := range d.Clients {
		x := &d.Clients[i]
		for _, p := range x.Latency {
			low, high = min(low, float64(p.LatencyNs)), max(high, float64(p.LatencyNs))
		}
		if len(x.Latency) > 0 {
			n++
			low = min(low, float64(x.Alone.LatencyNs))
		}
	}
	if n == 0 || low <= 0 {
		return nil
	}
	return newPicture(Picture{ID: "latencies", Title: "Latency of the calls", Legend: newLatencyLegend()}, func(width float64) *canvas {
		return drawLatencies(width, d, n, low, high)
	})
}

// drawLatencies draws the latencies of n clients on an axis from low to high.
func drawLatencies(width float64, d *report.Load, n int, low, high float64) *canvas {
	const pitch = 34
	c := newCanvas(width, float64(pitch*n+50), "Latency of each client's calls")
	left, letters, label := 150.0, 22, 40.0 // label is the least distance between two labels of the axis
	if c.isNarrow() {
		left, letters = 80, 11
	}
	h := scale{low / 1.3, high * 1.3, left, c.width - 30, true}
	bottom := float64(pitch*n + 12)
	last := math.Inf(-1)
	for _, t := range h.listDenseTicks() {
		c.drawLine(h.toPosition(t), 6, h.toPosition(t), bottom, "grid")
		if h.toPosition(t) >= last+label {
			last = h.toPosition(t)
			c.drawText(last, bottom+15, "middle", formatTime(t))
		}
	}
	row := 0
	for i := range d.Clients {
		x := &d.Clients[i]
		if len(x.Latency) == 0 {
			continue
		}
		y := float64(pitch*row) + 24
		row++
		c.drawText(left-10, y+4, "end", shortenMiddle(x.Name, letters))
		last := len(x.Latency) - 1
		c.drawLine(h.toPosition(float64(x.Latency[0].LatencyNs)), y, h.toPosition(float64(x.Latency[last].LatencyNs)), y, "range")
		for k, p := range x.Latency {
			name := fmt.Sprintf("p%g", 100*p.Share)
			if k == last {
				name = "longest"
			}
			c.drawDot(h.toPosition(float64(p.LatencyNs)), y, 4.5, fmt.Sprintf("q%d", k), fmt.Sprintf("%s, %s: %v (%v to %v)", x.Name, name, p.LatencyNs, p.LowNs, p.HighNs))
		}
		c.drawDot(h.toPosition(float64(x.Alone.LatencyNs)), y, 5.5, "alone", fmt.Sprintf("%s, with the engine to itself: %v", x.Name, x.Alone.LatencyNs))
	}
	return c
}

// formatTime formats a time in nanoseconds for an axis.
func formatTime(t float64) string {
	unit, name := chooseTimeUnit(clock.Nanoseconds(t))
	return fmt.Sprintf("%g %s", t/float64(unit), name)
}

// newLatencyLegend returns the legend of the dots in a picture of latencies.
func newLatencyLegend() []Legend {
	return []Legend{{"alone", "alone"}, {"q0", "median"}, {"q1", "90%"}, {"q2", "99%"}, {"q3", "99.9%"}, {"q4", "longest"}}
}

// shortenMiddle shortens s to at most n characters by replacing its middle by "…". It does not cut
// the end, because names of layers often begin with the same text.
func shortenMiddle(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	tail := (n - 1) / 2
	return string(runes[:n-1-tail]) + "…" + string(runes[len(runes)-tail:])
}
