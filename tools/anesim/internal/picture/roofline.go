package picture

import (
	"fmt"
	"math"

	"anesim/hw"
	"anesim/tools/anesim/internal/view"
)

// maxDots is the largest number of items that a roofline shows.
const maxDots = 400

// Roofline plots the computing rates of items against their operations per byte moved, below the
// limits of the chip. It plots only items that both multiply and move bytes and, if there are many,
// only the slowest of these. A whisker shows the interval of an item's time. Roofline returns nil
// if it has no items to plot or if the peak rates are unknown.
func Roofline(r *view.Report) *Picture {
	var list []*view.Item
	all := 0
	for _, i := range r.Longest(len(r.Items)) {
		if x := &r.Items[i]; x.MACs > 0 && x.Bytes > 0 && x.Time > 0 {
			if all++; len(list) < maxDots {
				list = append(list, x)
			}
		}
	}
	if len(list) == 0 || r.Peak.TFLOPS <= 0 || r.Peak.GBPerS <= 0 {
		return nil
	}
	ridge := r.Peak.TFLOPS * 1e3 / r.Peak.GBPerS
	lowX, highX, lowY := ridge/10, ridge*10, r.Peak.TFLOPS/10
	for _, x := range list {
		lowX, highX = min(lowX, x.Intensity()), max(highX, x.Intensity())
		lowY = min(lowY, x.TFLOPS(max(x.Time, x.High)))
	}
	draw := func(width float64) *canvas {
		c := newCanvas(width, 430, "Roofline: TFLOP/s over operations for each byte moved")
		h := scale{powerOfTen(lowX, 0), powerOfTen(highX, 1), 60, c.width - 30, true}
		v := scale{powerOfTen(lowY, 0), powerOfTen(r.Peak.TFLOPS, 1), c.height - 44, 12, true}
		across := "operations for each byte moved (a multiply-accumulate is two)"
		if c.isNarrow() {
			across = "operations for each byte moved"
		}
		c.drawAxes(&h, &v, across, "TFLOP/s", formatNumber, formatNumber)
		// The slope begins at the bottom of the picture or at its left edge.
		slope := func(x float64) float64 { return x * r.Peak.GBPerS / 1e3 }
		from := max(h.low, v.low*1e3/r.Peak.GBPerS)
		c.drawPath([][2]float64{{h.toPosition(from), v.toPosition(slope(from))}, {h.toPosition(ridge), v.toPosition(r.Peak.TFLOPS)}, {h.to, v.toPosition(r.Peak.TFLOPS)}}, "roof")
		c.drawText(h.to-4, v.toPosition(r.Peak.TFLOPS)-6, "end", fmt.Sprintf("array %.4g TFLOP/s", r.Peak.TFLOPS))
		const along = 4 // the label of the slope ends at a quarter of the ridge
		c.drawText(h.toPosition(ridge/along)-8, v.toPosition(r.Peak.TFLOPS/along), "end", fmt.Sprintf("memory %.4g GB/s", r.Peak.GBPerS))
		for _, x := range list {
			px, title := h.toPosition(x.Intensity()), fmt.Sprintf("%s %s: %s TFLOP/s at %s operations a byte, %v", x.Name, x.Op, view.FormatRate(x.TFLOPS(x.Time)), view.FormatRate(x.Intensity()), x.Time)
			if x.Low > 0 && x.High > 0 {
				title += fmt.Sprintf(" (%v to %v)", x.Low, x.High)
				c.drawLine(px, v.toPosition(x.TFLOPS(x.High)), px, v.toPosition(x.TFLOPS(x.Low)), "whisker")
			}
			c.drawDot(px, v.toPosition(x.TFLOPS(x.Time)), 3.5, "dot", title)
		}
		return c
	}
	note := "Below the slope memory is the limit, below the roof the array."
	if list[0].High > 0 {
		note += " A whisker is the interval that contains " + hw.IntervalWords + " measurements."
	}
	switch {
	case all < len(r.Items) && len(list) == all:
		note += fmt.Sprintf(" %d of %d are shown; the others multiply nothing or move nothing.", all, len(r.Items))
	case len(list) < all:
		note += fmt.Sprintf(" Shown are the %d slowest of %d that both multiply and move bytes.", len(list), all)
	}
	return newPicture(Picture{ID: "roofline", Title: "Roofline", Note: note, Rests: []string{"Clock", "PatchPixels", "TotalRate"}}, draw)
}

// formatNumber formats a number for an axis.
func formatNumber(v float64) string { return fmt.Sprintf("%.6g", v) }

// powerOfTen rounds v down to a power of ten and returns 10^exponent times the result.
func powerOfTen(v, exponent float64) float64 { return math.Pow(10, exponent+math.Floor(math.Log10(v))) }

// drawAxes draws a grid and the labels of both axes. The names of the axes are across and up.
func (c *canvas) drawAxes(h, v *scale, across, up string, labelAcross, labelUp func(float64) string) {
	for _, t := range h.listTicks() {
		c.drawLine(h.toPosition(t), v.from, h.toPosition(t), v.to, "grid")
		c.drawText(h.toPosition(t), v.from+15, "middle", labelAcross(t))
	}
	for _, t := range v.listTicks() {
		c.drawLine(h.from, v.toPosition(t), h.to, v.toPosition(t), "grid")
		c.drawText(h.from-6, v.toPosition(t)+4, "end", labelUp(t))
	}
	c.drawText((h.from+h.to)/2, c.height-8, "middle", across)
	c.drawText(h.from+4, v.to+10, "start", up)
}
