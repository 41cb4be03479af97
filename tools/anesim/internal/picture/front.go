package picture

import (
	"fmt"
	"math"
)

// A Front describes a plot of the designs of a sweep by two goals, which are both minimized. Each
// element of All and Best holds the values of the two goals for a design. Best has the designs on
// the Pareto front, which considers all goals of the sweep, even if there are more than
// two.
type Front struct {
	X, Y      string // names of the goals with their units
	All, Best [][2]float64
	Of        int // number of designs from which All is a sample
}

// Draw plots a point for each design at its values of the two goals, and marks the designs on the
// Pareto front. It returns nil if f.Best is empty.
func (f *Front) Draw() *Picture {
	if len(f.Best) == 0 {
		return nil
	}
	title := fmt.Sprintf("Pareto front, %d of %d designs", len(f.Best), f.Of)
	if len(f.All) < f.Of {
		title += fmt.Sprintf(" (%d of them shown)", len(f.All))
	}
	draw := func(width float64) *canvas {
		c := newCanvas(width, 520, title)
		h, v := f.newGoalScale(0, 70, c.width-20), f.newGoalScale(1, c.height-44, 12)
		c.drawAxes(&h, &v, f.X, f.Y, formatNumber, formatNumber)
		dots := func(points [][2]float64, radius float64, class string) {
			for _, p := range points {
				c.drawDot(h.toPosition(p[0]), v.toPosition(p[1]), radius, class, fmt.Sprintf("%s %.6g, %s %.6g", f.X, p[0], f.Y, p[1]))
			}
		}
		dots(f.All, 2, "s8")
		dots(f.Best, 4, "s1")
		return c
	}
	return newPicture(Picture{ID: "front", Title: title, Legend: []Legend{{"s8", "designs"}, {"s1", "on the front"}}}, draw)
}

// newGoalScale returns the scale on which the values of a goal are drawn between the positions from
// and to. The scale is logarithmic if all values are positive and the largest is more than 20 times
// the smallest.
func (f *Front) newGoalScale(goal int, from, to float64) scale {
	const far = 20
	low, high := math.Inf(1), math.Inf(-1)
	for _, list := range [][][2]float64{f.All, f.Best} {
		for _, p := range list {
			low, high = min(low, p[goal]), max(high, p[goal])
		}
	}
	if low > 0 && high > far*low {
		return scale{powerOfTen(low, 0), powerOfTen(high, 1), from, to, true}
	}
	return newLinearScale(low, high, from, to)
}

// newLinearScale returns a linear scale from low to high, with a margin of a twentieth at both
// ends, between two positions on the canvas.
func newLinearScale(low, high, from, to float64) scale {
	room := (high - low) / 20
	if room == 0 {
		room = max(math.Abs(high)/20, 1)
	}
	return scale{low - room, high + room, from, to, false}
}
