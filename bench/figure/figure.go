package figure

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"anesim/bench"
)

// The size of a figure.
const (
	width  = 18 * vg.Centimeter
	height = 13 * vg.Centimeter
)

// style tells the i-th session apart: colours of Okabe and Ito, which hold for the colour
// blind, and shapes where those end.
func style(i int) draw.GlyphStyle {
	colors := [...]color.RGBA{
		{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
		{0x56, 0xb4, 0xe9, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x00, 0x00, 0x00, 0xff},
	}
	shapes := [...]draw.GlyphDrawer{draw.CircleGlyph{}, draw.TriangleGlyph{}, draw.SquareGlyph{}}
	return draw.GlyphStyle{Color: colors[i%len(colors)], Radius: vg.Points(2.5), Shape: shapes[i/len(colors)%len(shapes)]}
}

// Times is the model's time of every row against the measured one, on logarithmic axes,
// by session, as an SVG. A point on the line is right.
func Times(a *bench.Accuracy) ([]byte, error) {
	p, err := TimesPlot(a)
	if err != nil {
		return nil, err
	}
	return svg(p)
}

// TimesPlot is what Times draws, for other forms of picture.
func TimesPlot(a *bench.Accuracy) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "Time of a call, model against measurement"
	p.X.Label.Text, p.Y.Label.Text = "measured, us", "model, us"
	logarithmic(&p.X)
	logarithmic(&p.Y)
	low, high, err := scatter(p, a, func(r *bench.Residual) float64 { return r.Time.Model / 1e3 })
	if err != nil {
		return nil, err
	}
	right, err := plotter.NewLine(plotter.XYs{{X: low, Y: low}, {X: high, Y: high}})
	if err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	right.Color = color.Gray{0x80}
	p.Add(right)
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}

// Errors is the relative error of every row's time against the measured time, by session,
// as an SVG.
func Errors(a *bench.Accuracy) ([]byte, error) {
	p := plot.New()
	p.Title.Text = "Error of a call's time by its length"
	p.X.Label.Text, p.Y.Label.Text = "measured, us", "error, %"
	logarithmic(&p.X)
	low, high, err := scatter(p, a, func(r *bench.Residual) float64 { return 100 * r.Time.Error() })
	if err != nil {
		return nil, err
	}
	none, err := plotter.NewLine(plotter.XYs{{X: low, Y: 0}, {X: high, Y: 0}})
	if err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	none.Color = color.Gray{0x80}
	p.Add(none)
	p.Legend.Top = true
	return svg(p)
}

func logarithmic(x *plot.Axis) {
	x.Scale, x.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
}

// scatter adds the rows that have a measured time, a series for each session in order of
// their names, and returns the least and the greatest time.
func scatter(p *plot.Plot, a *bench.Accuracy, y func(*bench.Residual) float64) (low, high float64, err error) {
	series := make(map[string]plotter.XYs)
	var names []string
	low, high = math.Inf(1), 0
	for i := range a.Rows {
		r := &a.Rows[i]
		if r.Time.Reference <= 0 || r.Time.Model <= 0 {
			continue
		}
		x := r.Time.Reference / 1e3
		low, high = min(low, x), max(high, x)
		name := r.Sample.Session
		if series[name] == nil {
			names = append(names, name)
		}
		series[name] = append(series[name], plotter.XY{X: x, Y: y(r)})
	}
	if len(names) == 0 {
		return 0, 0, ErrNoRows
	}
	slices.Sort(names)
	for i, name := range names {
		s, err := plotter.NewScatter(series[name])
		if err != nil {
			return 0, 0, fmt.Errorf("figure: %w", err)
		}
		s.GlyphStyle = style(i)
		p.Add(s)
		p.Legend.Add(name, s)
	}
	return low, high, nil
}

func svg(p *plot.Plot) ([]byte, error) {
	c := vgsvg.New(width, height)
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	return b.Bytes(), nil
}
