package plot

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"anesim/tools/anesim/internal/report"
)

// A Front is designs of a sweep by two goals, of which less is better. Best are those that
// no other is better than in all goals, of which there may be more than two.
type Front struct {
	X, Y      string // what the goals are, with their units
	All, Best [][2]float64
	Of        int // how many designs All was picked out of
}

// Draw draws the front through the designs.
func (f *Front) Draw(r *report.Report) (*plot.Plot, error) {
	if len(f.Best) == 0 {
		return nil, fmt.Errorf("front: %w: no point has figures", ErrNothing)
	}
	what := fmt.Sprintf("Pareto front, %d of %d designs", len(f.Best), f.Of)
	if len(f.All) < f.Of {
		what += fmt.Sprintf(" (%d of them shown)", len(f.All))
	}
	p := titled(r, what)
	p.X.Label.Text, p.Y.Label.Text = f.X, f.Y
	for i, axis := range [...]*plot.Axis{&p.X, &p.Y} {
		if f.wide(i) {
			axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		}
	}
	all, err := scatter(f.All, draw.GlyphStyle{Color: color.RGBA{0xb8, 0xb8, 0xb8, 0xff}, Radius: vg.Points(1.5), Shape: draw.CircleGlyph{}})
	if err != nil {
		return nil, fmt.Errorf("front: %w", err)
	}
	best, err := scatter(f.Best, draw.GlyphStyle{Color: colors(0), Radius: vg.Points(3), Shape: draw.CircleGlyph{}})
	if err != nil {
		return nil, fmt.Errorf("front: %w", err)
	}
	p.Add(all, best)
	p.Legend.Add("designs", all)
	p.Legend.Add("on the front", best)
	p.Legend.Top = true
	return p, nil
}

// wide reports whether a goal's values need a logarithmic axis, and can have one.
func (f *Front) wide(goal int) bool {
	const ratio = 20
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range f.All {
		low, high = min(low, v[goal]), max(high, v[goal])
	}
	return low > 0 && high > ratio*low
}

func scatter(points [][2]float64, style draw.GlyphStyle) (*plotter.Scatter, error) {
	var xy plotter.XYs
	for _, v := range points {
		xy = append(xy, plotter.XY{X: v[0], Y: v[1]})
	}
	s, err := plotter.NewScatter(xy)
	if err == nil {
		s.GlyphStyle = style
	}
	return s, err
}
