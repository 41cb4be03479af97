package page

import (
	"fmt"
	"html/template"
	"math"

	"anesim"
	"anesim/hw/clock"
	"anesim/tools/anesim/internal/report"
)

// A legend names the classes of a picture.
type legend struct{ Class, Name string }

// A segment is a part of a bar.
type segment struct {
	name  string
	value float64
	text  string
}

// maxBars bounds the bars of a picture; a chain of more shows those that take most.
const maxBars = 100

// bars draws a horizontal bar for each item, its parts side by side, all to one scale.
func bars(name, prefix string, names []string, parts [][]segment) template.HTML {
	const left, right, top, pitch, height = 220, 20, 6, 17, 13
	c := newCanvas(float64(top+pitch*len(names)+8), name)
	most := 0.0
	for _, list := range parts {
		sum := 0.0
		for _, s := range list {
			sum += s.value
		}
		most = max(most, sum)
	}
	x := scale{high: most, from: left, to: c.width - right}
	for i, list := range parts {
		y := float64(top + pitch*i)
		label := names[i]
		if runes := []rune(label); len(runes) > 32 {
			label = string(runes[:31]) + "…"
		}
		c.text(left-6, y+height-3, "end", label)
		sum := 0.0
		for k, s := range list {
			c.rect(x.at(sum), y, x.at(sum+s.value)-x.at(sum), height, fmt.Sprintf("%s%d", prefix, k), names[i]+": "+s.name+" "+s.text)
			sum += s.value
		}
	}
	return c.done()
}

// shown are the items that a picture of bars has, in the chain's order, and a sentence on
// those that are left out.
func shown(r *report.Report) ([]int, string) {
	if len(r.Items) <= maxBars {
		order := make([]int, len(r.Items))
		for i := range order {
			order[i] = i
		}
		return order, ""
	}
	most := make([]bool, len(r.Items))
	for _, i := range r.Longest(maxBars) {
		most[i] = true
	}
	var order []int
	for i, is := range most {
		if is {
			order = append(order, i)
		}
	}
	return order, fmt.Sprintf("The %d that take longest of %d; the table has all.", maxBars, len(r.Items))
}

func causes(r *report.Report) (template.HTML, []legend, string) {
	order, note := shown(r)
	var names []string
	var parts [][]segment
	for _, i := range order {
		x := &r.Items[i]
		var list []segment
		for name, n := range x.Cycles.All() {
			list = append(list, segment{report.Cause(name), float64(n), fmt.Sprintf("%d of %d cycles", n, x.Cycles.Total)})
		}
		names, parts = append(names, x.Name+"  "+x.Op), append(parts, list)
	}
	var l []legend
	for name := range new(anesim.CyclesDocument).All() {
		l = append(l, legend{fmt.Sprintf("c%d", len(l)), report.Cause(name)})
	}
	return bars("Cycles by cause of each "+r.Of, "c", names, parts), l, note
}

func energies(r *report.Report) (template.HTML, []legend, string) {
	order, note := shown(r)
	var names []string
	var parts [][]segment
	for _, i := range order {
		names, parts = append(names, r.Items[i].Name+"  "+r.Items[i].Op), append(parts, energySegments(&r.Items[i].Parts))
	}
	var l []legend
	for i, p := range report.EnergyParts(new(anesim.EnergyDocument)) {
		l = append(l, legend{fmt.Sprintf("e%d", i), p.Name})
	}
	all := bars("Energy by part of the whole", "e", []string{"all, with the dispatch"}, [][]segment{energySegments(&r.Energy)})
	if note != "" {
		note = " " + note
	}
	return all + bars("Energy by part of each "+r.Of, "e", names, parts), l, "The first bar has a scale of its own." + note
}

func energySegments(e *anesim.EnergyDocument) []segment {
	var list []segment
	for _, p := range report.EnergyParts(e) {
		list = append(list, segment{p.Name, float64(p.Energy), p.Energy.String()})
	}
	return list
}

// maxDots bounds the items of a roofline.
const maxDots = 400

// roofline draws the rate of each item over its operations a byte, below what the chip can
// do, with whiskers where the item's time has an interval. It is empty where no item both
// multiplies and moves.
func roofline(r *report.Report) (template.HTML, string) {
	var list []*report.Item
	all := 0
	for i := range r.Items {
		if x := &r.Items[i]; x.MACs > 0 && x.Bytes > 0 && x.Time > 0 {
			all++
		}
	}
	for _, i := range r.Longest(len(r.Items)) {
		if x := &r.Items[i]; x.MACs > 0 && x.Bytes > 0 && x.Time > 0 && len(list) < maxDots {
			list = append(list, x)
		}
	}
	if len(list) == 0 || r.Peak.TFLOPS <= 0 || r.Peak.GBPerS <= 0 {
		return "", ""
	}
	ridge := r.Peak.TFLOPS * 1e3 / r.Peak.GBPerS
	lowX, highX, lowY := ridge/10, ridge*10, r.Peak.TFLOPS/10
	for _, x := range list {
		lowX, highX = min(lowX, x.Intensity()), max(highX, x.Intensity())
		lowY = min(lowY, x.TFLOPS(max(x.Time, x.High)))
	}
	decade := func(v, towards float64) float64 { return math.Pow(10, towards+math.Floor(math.Log10(v))) }
	c := newCanvas(430, "Roofline: TFLOP/s over operations for each byte moved")
	h := scale{decade(lowX, 0), decade(highX, 1), 60, c.width - 20, true}
	v := scale{decade(lowY, 0), decade(r.Peak.TFLOPS, 1), c.height - 44, 12, true}
	for _, t := range h.ticks() {
		c.line(h.at(t), v.from, h.at(t), v.to, "grid")
		c.text(h.at(t), v.from+15, "middle", fmt.Sprintf("%g", t))
	}
	for _, t := range v.ticks() {
		c.line(h.from, v.at(t), h.to, v.at(t), "grid")
		c.text(h.from-6, v.at(t)+4, "end", fmt.Sprintf("%g", t))
	}
	c.text((h.from+h.to)/2, c.height-8, "middle", "operations for each byte moved (a multiply-accumulate is two)")
	c.text(h.from+4, v.to+10, "start", "TFLOP/s")
	// Memory's slope meets the bottom of the picture, or its left edge.
	slope := func(x float64) float64 { return x * r.Peak.GBPerS / 1e3 }
	from := max(h.low, v.low*1e3/r.Peak.GBPerS)
	c.path([][2]float64{{h.at(from), v.at(slope(from))}, {h.at(ridge), v.at(r.Peak.TFLOPS)}, {h.to, v.at(r.Peak.TFLOPS)}}, "roof")
	c.text(h.to-4, v.at(r.Peak.TFLOPS)-6, "end", fmt.Sprintf("array %.4g TFLOP/s", r.Peak.TFLOPS))
	c.text(h.at(ridge)-14, v.at(r.Peak.TFLOPS)-6, "end", fmt.Sprintf("memory %.4g GB/s", r.Peak.GBPerS))
	for _, x := range list {
		px, title := h.at(x.Intensity()), fmt.Sprintf("%s %s: %s TFLOP/s at %s operations a byte, %v", x.Name, x.Op, report.Rate(x.TFLOPS(x.Time)), report.Rate(x.Intensity()), x.Time)
		if x.Low > 0 && x.High > 0 {
			title += fmt.Sprintf(" (%v to %v)", x.Low, x.High)
			c.line(px, v.at(x.TFLOPS(x.High)), px, v.at(x.TFLOPS(x.Low)), "whisker")
		}
		c.dot(px, v.at(x.TFLOPS(x.Time)), 3.5, "dot", title)
	}
	note := ""
	switch {
	case all < len(r.Items) && len(list) == all:
		note = fmt.Sprintf("%d of %d are here; the others multiply nothing or move nothing.", all, len(r.Items))
	case len(list) < all:
		note = fmt.Sprintf("The %d that take longest of %d that both multiply and move.", len(list), all)
	}
	return c.done(), note
}

// maxSteps bounds the steps of a timeline; more spans are averaged.
const maxSteps = 480

// timeline draws power over wall time.
func timeline(r *report.Report) (template.HTML, string) {
	spans := make([]anesim.SpanDocument, 0, len(r.Power))
	for _, s := range r.Power {
		if s.ForNs > 0 {
			spans = append(spans, s)
		}
	}
	if len(spans) == 0 {
		return "", ""
	}
	first, last := spans[0].AtNs, spans[len(spans)-1].AtNs+spans[len(spans)-1].ForNs
	note := ""
	if len(spans) > maxSteps {
		note = fmt.Sprintf("%d spans averaged over %d equal parts of the time.", len(spans), maxSteps)
		spans = averaged(spans, first, last)
	}
	peak := 0.0
	for _, s := range spans {
		peak = max(peak, s.Watts)
	}
	unit, name := clock.Nanoseconds(1), "ns"
	switch {
	case last-first >= 1e6:
		unit, name = 1e6, "ms"
	case last-first >= 1e3:
		unit, name = 1e3, "us"
	}
	c := newCanvas(230, "Power over wall time")
	h := scale{float64(first / unit), float64(last / unit), 60, c.width - 20, false}
	v := scale{0, max(peak, 1e-9) * 1.08, c.height - 40, 12, false}
	for _, t := range h.ticks() {
		c.line(h.at(t), v.from, h.at(t), v.to, "grid")
		c.text(h.at(t), v.from+15, "middle", fmt.Sprintf("%g", t))
	}
	for _, t := range v.ticks() {
		c.line(h.from, v.at(t), h.to, v.at(t), "grid")
		c.text(h.from-6, v.at(t)+4, "end", fmt.Sprintf("%.4g", t))
	}
	for i, s := range spans {
		x := h.at(float64(s.AtNs / unit))
		c.rect(x, v.at(s.Watts), h.at(float64((s.AtNs+s.ForNs)/unit))-x, v.from-v.at(s.Watts), fmt.Sprintf("p%d", i%2),
			fmt.Sprintf("%s: %.3g W for %v from %v, %v", s.What, s.Watts, s.ForNs, s.AtNs, s.EnergyNJ))
	}
	c.text((h.from+h.to)/2, c.height-6, "middle", "wall time, "+name)
	c.text(h.from+4, v.to+10, "start", "W")
	return c.done(), note
}

// averaged is power over equal parts of the time; energy is what falls into each.
func averaged(spans []anesim.SpanDocument, first, last clock.Nanoseconds) []anesim.SpanDocument {
	step := (last - first) / maxSteps
	list := make([]anesim.SpanDocument, maxSteps)
	for i := range list {
		list[i] = anesim.SpanDocument{AtNs: first + clock.Nanoseconds(i)*step, ForNs: step, What: "mean"}
	}
	for _, s := range spans {
		for i := min(maxSteps-1, max(0, int((s.AtNs-first)/step))); i < maxSteps; i++ {
			from, to := max(s.AtNs, list[i].AtNs), min(s.AtNs+s.ForNs, list[i].AtNs+step)
			if from >= to && list[i].AtNs >= s.AtNs+s.ForNs {
				break
			}
			if to > from {
				list[i].EnergyNJ += clock.Nanojoules(s.Watts * float64(to-from))
			}
		}
	}
	for i := range list {
		list[i].Watts = float64(list[i].EnergyNJ) / float64(step)
	}
	return list
}
