package picture

import (
	"fmt"
	"strconv"
	"strings"

	"anesim/bench/report"
	"anesim/hw/clock"
	"anesim/tools/anesim/internal/view"
)

// maxSteps bounds the steps of a timeline; more spans are averaged.
const maxSteps = 20_000

// Units of the tracks' own coordinates: time across, value down. The script zooms by
// changing what of them is seen.
const (
	unitsAcross = 1e6
	unitsDown   = 1000
)

// A trackOf is a track below others on one time axis.
type trackOf struct {
	name, unit, class string
	height            float64
	scale             float64 // of a value to the unit
	of                func(*report.Span) float64
}

// Timeline draws power, and what else is known, over the wall time. It returns nil if the
// report has no power over time.
func Timeline(r *view.Report) *Picture {
	spans := make([]report.Span, 0, len(r.Power))
	bounds, l2 := false, false
	for _, s := range r.Power {
		if s.ForNs > 0 {
			spans = append(spans, s)
			bounds, l2 = bounds || s.Bound != "", l2 || s.L2Bytes > 0
		}
	}
	if len(spans) == 0 {
		return nil
	}
	first, last := spans[0].AtNs, spans[len(spans)-1].AtNs+spans[len(spans)-1].ForNs
	note := ""
	if len(spans) > maxSteps {
		note = fmt.Sprintf(" %d spans averaged over %d equal parts of the time.", len(spans), maxSteps)
		spans, bounds = averaged(spans, first, last, maxSteps), false
	}
	tracks := []trackOf{{"power", "W", "power", 150, 1, func(s *report.Span) float64 { return s.Watts }}}
	if l2 {
		tracks = append(tracks, trackOf{"L2", "MB", "l2", 80, 1e-6, func(s *report.Span) float64 { return float64(s.L2Bytes) }})
		note += " The L2 is as full as the operands of the descriptor make it, and in a network the tensors that wait there for a later one."
	}
	if r.Busy != nil {
		at := map[clock.Nanoseconds]float64{}
		for i := range r.Power {
			at[r.Power[i].AtNs] = r.Busy[i]
		}
		tracks = append(tracks, trackOf{"busy", "%", "l2", 80, 100, func(s *report.Span) float64 { return at[s.AtNs] }})
	}
	const left, right, top, gap, title, strip, axis = 60, 20, 4, 10, 14, 12, 14
	height := float64(top)
	if bounds {
		height += strip + gap
	}
	for i := range tracks {
		height += title + tracks[i].height + gap
	}
	height += 6
	c := newCanvas(height+28, "Power over wall time")
	c.attributes(fmt.Sprintf(`id="time" data-from="%s" data-to="%s" data-left="%d" data-right="%s" data-bottom="%s" data-list="%s"`,
		num(float64(first)), num(float64(last)), left, num(c.width-right), num(height), timelineOf(r)))
	c.raw(`<g id="ticks">`)
	unit, suffix := timeUnit(last - first)
	h := scale{float64(first / unit), float64(last / unit), left, c.width - right, false}
	for _, t := range h.ticks() {
		c.line(h.at(t), top, h.at(t), height-axis, "grid")
		c.text(h.at(t), height, "middle", fmt.Sprintf("%.6g", t))
	}
	c.text((left+c.width-right)/2, height+22, "middle", "wall time, "+suffix)
	c.raw(`</g>`)
	across := scale{float64(first), float64(last), 0, unitsAcross, false}
	y := float64(top)
	var names []Legend
	if bounds {
		c.text(left-6, y+strip-2, "end", "bound by")
		c.window(left, y, c.width-left-right, strip)
		for name := range new(report.Cycles).All() {
			var b strings.Builder
			for i := range spans {
				if s := &spans[i]; s.Bound == name {
					from, to := across.at(float64(s.AtNs)), across.at(float64(s.AtNs+s.ForNs))
					fmt.Fprintf(&b, "M%s 0H%sV%dH%sZ", num(from), num(to), unitsDown, num(from))
				}
			}
			if b.Len() > 0 {
				class := "c" + strconv.Itoa(causeIndex(name))
				c.outline(b.String(), class)
				names = append(names, Legend{class, report.CauseText(name)})
			}
		}
		c.closeWindow()
		y += strip + gap
	}
	for i := range tracks {
		t := &tracks[i]
		c.text(left, y+title-4, "start", t.name+", "+t.unit)
		y += title
		most := 0.0
		for k := range spans {
			most = max(most, t.of(&spans[k])*t.scale)
		}
		v := scale{0, max(most, 1e-9) * 1.06, y + t.height, y, false}
		for _, tick := range v.ticks(t.height / 28) {
			c.line(left, v.at(tick), c.width-right, v.at(tick), "grid")
			c.text(left-6, v.at(tick)+4, "end", fmt.Sprintf("%.4g", tick))
		}
		c.window(left, y, c.width-left-right, t.height)
		c.outline(steps(spans, &across, &scale{0, v.high, unitsDown, 0, false}, t), t.class)
		c.closeWindow()
		y += t.height + gap
	}
	return c.done(Picture{ID: "timeline", Title: "Timeline", Legend: names, Note: strings.TrimSpace(note), Zoom: true,
		Rests: []string{"ActivePower", "MACEnergy", "DRAMEnergy", "PlanarEnergy"}})
}

// timelineOf is the document's list that a timeline's spans are.
func timelineOf(r *view.Report) string {
	if r.Kind == "load" {
		return "timeline"
	}
	return "power"
}

// causeIndex is a cause's place, which is its colour.
func causeIndex(name string) int {
	i := 0
	for cause := range new(report.Cycles).All() {
		if cause == name {
			return i
		}
		i++
	}
	return i
}

// timeUnit is a unit that a length of time reads well in.
func timeUnit(t clock.Nanoseconds) (clock.Nanoseconds, string) {
	switch {
	case t >= 1e9:
		return 1e9, "s"
	case t >= 1e6:
		return 1e6, "ms"
	case t >= 1e3:
		return 1e3, "us"
	}
	return 1, "ns"
}

// steps is the outline of a track's values, from the bottom line and back to it.
func steps(spans []report.Span, h, v *scale, t *trackOf) string {
	var b strings.Builder
	at := -1.0 // the value that the pen is at
	for i := range spans {
		s := &spans[i]
		if i == 0 {
			fmt.Fprintf(&b, "M%s %d", num(h.at(float64(s.AtNs))), unitsDown)
		}
		if x := t.of(s) * t.scale; x != at {
			fmt.Fprintf(&b, "H%sV%s", num(h.at(float64(s.AtNs))), num(v.at(x)))
			at = x
		}
	}
	last := &spans[len(spans)-1]
	fmt.Fprintf(&b, "H%sV%dZ", num(h.at(float64(last.AtNs+last.ForNs))), unitsDown)
	return b.String()
}

// averaged is power over n equal parts of the time; energy is what falls into each, and the
// L2 is as full as it is at its fullest.
func averaged(spans []report.Span, first, last clock.Nanoseconds, n int) []report.Span {
	step := (last - first) / clock.Nanoseconds(n)
	list := make([]report.Span, n)
	for i := range list {
		list[i] = report.Span{AtNs: first + clock.Nanoseconds(i)*step, ForNs: step, What: "mean"}
	}
	for _, s := range spans {
		for i := min(n-1, max(0, int((s.AtNs-first)/step))); i < n; i++ {
			from, to := max(s.AtNs, list[i].AtNs), min(s.AtNs+s.ForNs, list[i].AtNs+step)
			if from >= to && list[i].AtNs >= s.AtNs+s.ForNs {
				break
			}
			if to > from {
				list[i].EnergyNJ += clock.Nanojoules(s.Watts * float64(to-from))
				list[i].L2Bytes = max(list[i].L2Bytes, s.L2Bytes)
			}
		}
	}
	for i := range list {
		list[i].Watts = float64(list[i].EnergyNJ) / float64(step)
	}
	return list
}
