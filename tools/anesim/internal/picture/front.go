package picture

import (
	"fmt"
	"math"
)

// A Front is designs of a sweep by two goals, of which less is better. Best are those that
// no other is better than in all goals, of which there may be more than two.
type Front struct {
	X, Y      string // what the goals are, with their units
	All, Best [][2]float64
	Of        int // how many designs All was picked out of
}

// Draw draws the front through the designs. It returns nil if there are none.
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
		h, v := f.scale(0, 70, c.width-20), f.scale(1, c.height-44, 12)
		c.axes(&h, &v, f.X, f.Y, plain, plain)
		dots := func(points [][2]float64, radius float64, class string) {
			for _, p := range points {
				c.dot(h.at(p[0]), v.at(p[1]), radius, class, fmt.Sprintf("%s %.6g, %s %.6g", f.X, p[0], f.Y, p[1]))
			}
		}
		dots(f.All, 2, "s8")
		dots(f.Best, 4, "s1")
		return c
	}
	return drawn(Picture{ID: "front", Title: title, Legend: []Legend{{"s8", "designs"}, {"s1", "on the front"}}}, draw)
}

// scale returns the axis of a goal, from one place on the canvas to another. It is
// logarithmic if the values are far apart and positive.
func (f *Front) scale(goal int, from, to float64) scale {
	const far = 20
	low, high := math.Inf(1), math.Inf(-1)
	for _, list := range [][][2]float64{f.All, f.Best} {
		for _, p := range list {
			low, high = min(low, p[goal]), max(high, p[goal])
		}
	}
	if low > 0 && high > far*low {
		return scale{decade(low, 0), decade(high, 1), from, to, true}
	}
	return linear(low, high, from, to)
}

// linear returns a scale of the values from low to high with some room beyond them.
func linear(low, high, from, to float64) scale {
	room := (high - low) / 20
	if room == 0 {
		room = max(math.Abs(high)/20, 1)
	}
	return scale{low - room, high + room, from, to, false}
}
