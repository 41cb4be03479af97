package picture

import (
	"fmt"
	"strconv"
	"strings"

	"anesim/hw/clock"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/view"
)

// maxSteps is the largest number of steps in a curve. If a report has more spans, they are
// averaged.
const maxSteps = 20_000

// Size of a track in its own coordinates: time across, value down. The script zooms by
// changing the visible part.
const (
	unitsAcross = 1e6
	unitsDown   = 1000
)

// A track is a curve of a timeline, such as the power over time.
type track struct {
	name, unit, class string
	height            float64
	scale             float64 // factor from a value to the unit
	of                func(*report.Span) float64
}

// Timeline plots the power over wall time. It also shows the use of L2, the load of the engine and
// the bottleneck of each span, as far as the report has them. Timeline returns nil if the report
// has no power over time.
func Timeline(r *view.Report) *Picture {
	spans := make([]report.Span, 0, len(r.Power))
	var busy []float64 // of each of spans, if the report has loads
	bounds, l2 := false, false
	for i, s := range r.Power {
		if s.ForNs > 0 {
			spans = append(spans, s)
			if r.Busy != nil {
				busy = append(busy, r.Busy[i])
			}
			bounds, l2 = bounds || s.Bound != "", l2 || s.L2Bytes > 0
		}
	}
	if len(spans) == 0 {
		return nil
	}
	first, last := spans[0].AtNs, spans[len(spans)-1].AtNs+spans[len(spans)-1].ForNs
	note := ""
	if len(spans) > maxSteps {
		note = fmt.Sprintf(" %d spans are averaged over %d equal parts of the time.", len(spans), maxSteps)
		// An average of spans has no single bottleneck.
		spans, busy = averageSpans(spans, busy, first, last, maxSteps)
		bounds = false
	}
	tracks := []track{{"power", "W", "power", 150, 1, func(s *report.Span) float64 { return s.Watts }}}
	if l2 {
		tracks = append(tracks, track{"L2", "MB", "l2", 80, 1e-6, func(s *report.Span) float64 { return float64(s.L2Bytes) }})
		note += " L2 holds the operands of the descriptor and, in a network, tensors kept for a later one."
	}
	if len(busy) > 0 {
		// A track gets a span and not its index; the start of a span, which is unique among those with
		// a length, finds its load.
		at := map[clock.Nanoseconds]float64{}
		for i := range spans {
			at[spans[i].AtNs] = busy[i]
		}
		tracks = append(tracks, track{"busy", "%", "l2", 80, 100, func(s *report.Span) float64 { return at[s.AtNs] }})
	}
	t := &timeline{spans: spans, tracks: tracks, bounds: bounds, first: first, last: last, list: spansFieldName(r)}
	var names []Legend
	if bounds {
		names = t.newBoundLegend()
	}
	return newPicture(Picture{ID: "timeline", Title: "Timeline", Legend: names, Note: strings.TrimSpace(note), Zoom: true,
		Rests: []string{"ActivePower", "MACEnergy", "DRAMEnergy", "PlanarEnergy"}}, t.drawTimeline)
}

// A timeline holds the spans and tracks that a picture shows.
type timeline struct {
	spans       []report.Span
	tracks      []track
	bounds      bool // draw the cause that bounds each span
	first, last clock.Nanoseconds
	list        string // list of the document that holds the spans
}

// newBoundLegend returns a legend of the causes that bound a span.
func (t *timeline) newBoundLegend() (names []Legend) {
	bound := map[string]bool{}
	for i := range t.spans {
		bound[t.spans[i].Bound] = true
	}
	for name := range new(report.Cycles).All() {
		if bound[name] {
			names = append(names, Legend{"c" + strconv.Itoa(causeIndex(name)), report.CauseText(name)})
		}
	}
	return names
}

// Layout of a timeline in user units.
const (
	timeLeft, timeRight, timeTop, timeGap = 60, 20, 4, 10
	trackTitle, boundStrip, timeAxis      = 14, 12, 14
)

func (t *timeline) drawTimeline(width float64) *canvas {
	height := float64(timeTop)
	if t.bounds {
		height += boundStrip + timeGap
	}
	for i := range t.tracks {
		height += trackTitle + t.tracks[i].height + timeGap
	}
	height += 6
	c := newCanvas(width, height+28, "Power over wall time")
	// A page has two drawings of the picture, for wide and narrow windows; ids must differ in a page.
	id := "time"
	if c.isNarrow() {
		id = "time-narrow"
	}
	c.addAttributes(fmt.Sprintf(`id="%s" class="time" data-from="%s" data-to="%s" data-left="%d" data-right="%s" data-bottom="%s" data-list="%s"`,
		id, formatCoordinate(float64(t.first)), formatCoordinate(float64(t.last)), timeLeft, formatCoordinate(c.width-timeRight), formatCoordinate(height), t.list))
	c.writeRaw(`<g class="ticks">`)
	unit, suffix := chooseTimeUnit(t.last - t.first)
	h := scale{float64(t.first / unit), float64(t.last / unit), timeLeft, c.width - timeRight, false}
	for _, at := range h.listTicks() {
		c.drawLine(h.toPosition(at), timeTop, h.toPosition(at), height-timeAxis, "grid")
		c.drawText(h.toPosition(at), height, "middle", fmt.Sprintf("%.6g", at))
	}
	// The title of the axis is part of the ticks, which zooming replaces.
	c.drawText((timeLeft+c.width-timeRight)/2, height+22, "middle", "wall time, "+suffix)
	c.writeRaw(`</g>`)
	y := float64(timeTop)
	if t.bounds {
		t.drawBounds(c, y)
		y += boundStrip + timeGap
	}
	for i := range t.tracks {
		y += trackTitle
		t.drawTrack(c, i, y)
		y += t.tracks[i].height + timeGap
	}
	return c
}

// newTimeScale returns the scale that converts times to the tracks' own coordinates.
func (t *timeline) newTimeScale() scale {
	return scale{float64(t.first), float64(t.last), 0, unitsAcross, false}
}

// drawBounds draws a strip at y that shows the cause that bounds each span.
func (t *timeline) drawBounds(c *canvas, y float64) {
	across := t.newTimeScale()
	c.drawText(timeLeft-6, y+boundStrip-2, "end", "bound by")
	c.openWindow(timeLeft, y, c.width-timeLeft-timeRight, boundStrip)
	for name := range new(report.Cycles).All() {
		var b strings.Builder
		for i := range t.spans {
			if s := &t.spans[i]; s.Bound == name {
				from, to := across.toPosition(float64(s.AtNs)), across.toPosition(float64(s.AtNs+s.ForNs))
				fmt.Fprintf(&b, "M%s 0H%sV%dH%sZ", formatCoordinate(from), formatCoordinate(to), unitsDown, formatCoordinate(from))
			}
		}
		if b.Len() > 0 {
			class := "c" + strconv.Itoa(causeIndex(name))
			c.fillPath("bound-"+class, b.String(), class)
		}
	}
	c.closeWindow()
}

// drawTrack draws track i with its upper edge at y.
func (t *timeline) drawTrack(c *canvas, i int, y float64) {
	x, across := &t.tracks[i], t.newTimeScale()
	c.drawText(timeLeft, y-4, "start", x.name+", "+x.unit)
	most := 0.0
	for k := range t.spans {
		most = max(most, x.of(&t.spans[k])*x.scale)
	}
	v := scale{0, max(most, 1e-9) * 1.06, y + x.height, y, false}
	for _, tick := range v.listTicks(x.height / 28) {
		c.drawLine(timeLeft, v.toPosition(tick), c.width-timeRight, v.toPosition(tick), "grid")
		c.drawText(timeLeft-6, v.toPosition(tick)+4, "end", fmt.Sprintf("%.4g", tick))
	}
	c.openWindow(timeLeft, y, c.width-timeLeft-timeRight, x.height)
	c.fillPath("track-"+x.name, formatStepPath(t.spans, &across, &scale{0, v.high, unitsDown, 0, false}, x), x.class)
	c.closeWindow()
}

// spansFieldName returns the name of the list in the JSON report that holds the spans of a timeline.
func spansFieldName(r *view.Report) string {
	if r.Kind == "load" {
		return "timeline"
	}
	return "power"
}

// causeIndex returns the position of a cause in the list of all causes. The position determines the
// color of the cause.
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

// chooseTimeUnit returns a unit in which a duration of t is easy to read, and the name of the unit.
func chooseTimeUnit(t clock.Nanoseconds) (clock.Nanoseconds, string) {
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

// formatStepPath returns the outline of the track's values as an SVG path that begins and ends at
// the bottom edge.
func formatStepPath(spans []report.Span, h, v *scale, t *track) string {
	var b strings.Builder
	at := -1.0 // value at the current point of the path
	for i := range spans {
		s := &spans[i]
		if i == 0 {
			fmt.Fprintf(&b, "M%s %d", formatCoordinate(h.toPosition(float64(s.AtNs))), unitsDown)
		}
		if x := t.of(s) * t.scale; x != at {
			fmt.Fprintf(&b, "H%sV%s", formatCoordinate(h.toPosition(float64(s.AtNs))), formatCoordinate(v.toPosition(x)))
			at = x
		}
	}
	last := &spans[len(spans)-1]
	fmt.Fprintf(&b, "H%sV%dZ", formatCoordinate(h.toPosition(float64(last.AtNs+last.ForNs))), unitsDown)
	return b.String()
}

// averageSpans divides the time into n equal parts and returns a span for each, with the mean
// power, the energy that falls in the part, and the largest use of L2. busy holds the load of each of
// spans, or is nil; averageSpans also returns the mean load of each part, or nil.
func averageSpans(spans []report.Span, busy []float64, first, last clock.Nanoseconds, n int) ([]report.Span, []float64) {
	step := (last - first) / clock.Nanoseconds(n)
	list := make([]report.Span, n)
	var load []float64
	if busy != nil {
		load = make([]float64, n)
	}
	for i := range list {
		list[i] = report.Span{AtNs: first + clock.Nanoseconds(clock.Nanoseconds(i)*step), ForNs: step, What: "mean"}
	}
	for k, s := range spans {
		for i := min(n-1, max(0, int((s.AtNs-first)/step))); i < n; i++ {
			from, to := max(s.AtNs, list[i].AtNs), min(s.AtNs+s.ForNs, list[i].AtNs+step)
			if from >= to && list[i].AtNs >= s.AtNs+s.ForNs {
				break
			}
			if to > from {
				list[i].EnergyNJ += clock.Nanojoules(s.Watts * float64(to-from))
				list[i].L2Bytes = max(list[i].L2Bytes, s.L2Bytes)
				if busy != nil {
					load[i] += busy[k] * float64((to-from)/step)
				}
			}
		}
	}
	for i := range list {
		list[i].Watts = float64(list[i].EnergyNJ) / float64(step)
	}
	return list, load
}
