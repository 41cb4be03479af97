package picture

import (
	"fmt"
	"math"

	"anesim/hw"
	"anesim/tools/anesim/internal/view"
)

// Times draws the model's times of measured rows over the measured ones, with their
// intervals. A point on the line is right. It returns nil if there are no points.
func Times(points []view.Point) *Picture {
	if len(points) == 0 {
		return nil
	}
	low, high := math.Inf(1), 0.0
	for i := range points {
		p := &points[i]
		low, high = min(low, p.Measured, p.Model), max(high, p.Measured, p.Model)
	}
	classes, names := groups(points)
	draw := func(width float64) *canvas {
		c := newCanvas(width, 520, "The model's time over the measured one")
		h := scale{decade(low, 0), decade(high, 1), 60, c.width - 20, true}
		v := scale{h.low, h.high, c.height - 44, 12, true}
		c.axes(&h, &v, "measured", "model", microseconds, microseconds)
		c.path([][2]float64{{h.from, v.from}, {h.to, v.to}}, "right")
		for i := range points {
			p := &points[i]
			c.line(h.at(p.Measured), v.at(max(v.low, p.Low)), h.at(p.Measured), v.at(min(v.high, p.High)), "whisker")
			c.dot(h.at(p.Measured), v.at(p.Model), 3.5, classes[p.Group], pointText(p))
		}
		return c
	}
	return drawn(Picture{ID: "measured", Title: "Time of a call", Legend: names,
		Note: "A point on the line is right. A whisker is the interval that " + hw.IntervalWords + " measurements lie in."}, draw)
}

// Errors draws the relative error of the model's times over the measured times. It returns
// nil if there are no points.
func Errors(points []view.Point) *Picture {
	if len(points) == 0 {
		return nil
	}
	shortest, longest := math.Inf(1), 0.0
	least, most := 0.0, 0.0
	for i := range points {
		p := &points[i]
		shortest, longest = min(shortest, p.Measured), max(longest, p.Measured)
		least, most = min(least, percent(p)), max(most, percent(p))
	}
	classes, names := groups(points)
	draw := func(width float64) *canvas {
		c := newCanvas(width, 520, "The error of the model's time over the measured time")
		h := scale{decade(shortest, 0), decade(longest, 1), 60, c.width - 20, true}
		v := linear(least, most, c.height-44, 12)
		c.axes(&h, &v, "measured", "error, %", microseconds, plain)
		c.line(h.from, v.at(0), h.to, v.at(0), "right")
		for i := range points {
			p := &points[i]
			c.dot(h.at(p.Measured), v.at(percent(p)), 3.5, classes[p.Group], pointText(p))
		}
		return c
	}
	return drawn(Picture{ID: "errors", Title: "Error of a call's time by its length", Legend: names, Note: "A point on the line is right."}, draw)
}

// groups returns the class of each group's points, and the legend of the groups in the
// order of their first points.
func groups(points []view.Point) (classes map[string]string, names []Legend) {
	const colors = 12 // s0 to s11
	classes = map[string]string{}
	for i := range points {
		p := &points[i]
		if _, ok := classes[p.Group]; !ok {
			classes[p.Group] = fmt.Sprintf("s%d", len(names)%colors)
			names = append(names, Legend{classes[p.Group], p.Group})
		}
	}
	return classes, names
}

// percent returns the relative error of a point.
func percent(p *view.Point) float64 { return 100 * (p.Model/p.Measured - 1) }

func pointText(p *view.Point) string {
	return fmt.Sprintf("%s: measured %.4g us, model %.4g us (%.4g to %.4g), error %+.1f %%", p.Name, p.Measured, p.Model, p.Low, p.High, percent(p))
}

// microseconds formats a time on an axis.
func microseconds(us float64) string { return axisTime(1e3 * us) }
