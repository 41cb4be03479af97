package picture

import (
	"fmt"
	"math"

	"anesim/hw"
	"anesim/tools/anesim/internal/view"
)

// Times plots the modelled times of points against their measured times. Points on the diagonal are
// exact, and a whisker shows the prediction interval of each point. Times returns nil if points is
// empty.
func Times(points []view.Point) *Picture {
	if len(points) == 0 {
		return nil
	}
	low, high := math.Inf(1), 0.0
	for i := range points {
		p := &points[i]
		low, high = min(low, p.Measured, p.Model), max(high, p.Measured, p.Model)
	}
	classes, names := assignPointClasses(points)
	draw := func(width float64) *canvas {
		c := newCanvas(width, 520, "The model's time over the measured one")
		h := scale{powerOfTen(low, 0), powerOfTen(high, 1), 60, c.width - 20, true}
		v := scale{h.low, h.high, c.height - 44, 12, true}
		c.drawAxes(&h, &v, "measured", "model", formatMicroseconds, formatMicroseconds)
		c.drawPath([][2]float64{{h.from, v.from}, {h.to, v.to}}, "right")
		for i := range points {
			p := &points[i]
			c.drawLine(h.toPosition(p.Measured), v.toPosition(max(v.low, p.Low)), h.toPosition(p.Measured), v.toPosition(min(v.high, p.High)), "whisker")
			c.drawDot(h.toPosition(p.Measured), v.toPosition(p.Model), 3.5, classes[p.Group], describePoint(p))
		}
		return c
	}
	return newPicture(Picture{ID: "measured", Title: "Time of a call", Legend: names,
		Note: "A point on the line is right. A whisker is the interval that contains " + hw.IntervalWords + " measurements."}, draw)
}

// Errors plots the relative errors of the modelled times against the measured times. It returns nil
// if points is empty.
func Errors(points []view.Point) *Picture {
	if len(points) == 0 {
		return nil
	}
	shortest, longest := math.Inf(1), 0.0
	least, most := 0.0, 0.0
	for i := range points {
		p := &points[i]
		shortest, longest = min(shortest, p.Measured), max(longest, p.Measured)
		least, most = min(least, errorPercent(p)), max(most, errorPercent(p))
	}
	classes, names := assignPointClasses(points)
	draw := func(width float64) *canvas {
		c := newCanvas(width, 520, "The error of the model's time over the measured time")
		h := scale{powerOfTen(shortest, 0), powerOfTen(longest, 1), 60, c.width - 20, true}
		v := newLinearScale(least, most, c.height-44, 12)
		c.drawAxes(&h, &v, "measured", "error, %", formatMicroseconds, formatNumber)
		c.drawLine(h.from, v.toPosition(0), h.to, v.toPosition(0), "right")
		for i := range points {
			p := &points[i]
			c.drawDot(h.toPosition(p.Measured), v.toPosition(errorPercent(p)), 3.5, classes[p.Group], describePoint(p))
		}
		return c
	}
	return newPicture(Picture{ID: "errors", Title: "Error of a call's time by its length", Legend: names, Note: "A point on the line is right."}, draw)
}

// assignPointClasses assigns a CSS class to each group of points. It returns the classes by group,
// and a legend of the groups in the order of their first points.
func assignPointClasses(points []view.Point) (classes map[string]string, names []Legend) {
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

// errorPercent returns the relative error of a point in percent.
func errorPercent(p *view.Point) float64 { return 100 * (p.Model/p.Measured - 1) }

func describePoint(p *view.Point) string {
	return fmt.Sprintf("%s: measured %.4g us, model %.4g us (%.4g to %.4g), error %+.1f%%", p.Name, p.Measured, p.Model, p.Low, p.High, errorPercent(p))
}

// formatMicroseconds formats a time of us microseconds for an axis.
func formatMicroseconds(us float64) string { return formatTime(1e3 * us) }
