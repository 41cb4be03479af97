package plot

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"anesim"
	"anesim/tools/anesim/internal/report"
)

// The size of a picture.
const (
	width  = 22 * vg.Centimeter
	height = 14 * vg.Centimeter
)

// ErrNothing is the error for a report without what a picture shows.
var ErrNothing = errors.New("nothing to draw")

// colors are those of Okabe and Ito, which hold for the colour blind.
func colors(i int) color.Color {
	list := [...]color.RGBA{
		{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
		{0x56, 0xb4, 0xe9, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x40, 0x40, 0x40, 0xff},
	}
	return list[i%len(list)]
}

// titled is an empty picture of a report that rests on the named constants of its chip.
func titled(r *report.Report, what string, constants ...string) *plot.Plot {
	p := plot.New()
	line := fmt.Sprintf("chip %s, constants %s", r.Chip, r.Tool.Constants)
	if text := evidence(r.Chip, constants); text != "" {
		line += "; " + text
	}
	p.Title.Text = fmt.Sprintf("%s: %s\n%s", r.Name, what, line)
	p.Title.TextStyle.Font.Size = font.Points(10)
	p.Title.Padding = vg.Points(6)
	p.Add(plotter.NewGrid())
	return p
}

// evidence says what constants of a chip rest on, "" of a chip that this build does not have.
func evidence(chip string, names []string) string {
	c, err := anesim.ChipByName(chip)
	if err != nil {
		return ""
	}
	var parts []string
	for _, want := range names {
		for name, k := range c.Constants() {
			if name == want {
				parts = append(parts, name+" "+string(k.Evidence))
			}
		}
	}
	return strings.Join(parts, ", ")
}

// intervals are points with the ends of their intervals.
type intervals struct {
	plotter.XYs
	plotter.YErrors
}

// Roofline is each item's rate over its operations for each byte moved, below what the chip
// can do, with a whisker where the item's time has an interval.
func Roofline(r *report.Report) (*plot.Plot, error) {
	var points intervals
	for i := range r.Items {
		x := &r.Items[i]
		if x.MACs == 0 || x.Bytes == 0 || x.Time <= 0 {
			continue
		}
		rate := x.TFLOPS(x.Time)
		points.XYs = append(points.XYs, plotter.XY{X: x.Intensity(), Y: rate})
		var e struct{ Low, High float64 }
		if x.Low > 0 && x.High > 0 {
			e.Low, e.High = rate-x.TFLOPS(x.High), x.TFLOPS(x.Low)-rate
		}
		points.YErrors = append(points.YErrors, e)
	}
	if len(points.XYs) == 0 || r.Peak.TFLOPS <= 0 || r.Peak.GBPerS <= 0 {
		return nil, fmt.Errorf("roofline: %w: no %s both multiplies and moves bytes", ErrNothing, r.Of)
	}
	p := titled(r, fmt.Sprintf("roofline of %d %ss, whiskers hold 4 of 5 measurements", len(points.XYs), r.Of), "Clock", "PatchPixels", "TotalRate")
	p.X.Label.Text, p.Y.Label.Text = "operations for each byte moved (a multiply-accumulate is two)", "TFLOP/s"
	for _, x := range [...]*plot.Axis{&p.X, &p.Y} {
		x.Scale, x.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	ridge := r.Peak.TFLOPS * 1e3 / r.Peak.GBPerS
	low, high, least := ridge/10, ridge*10, r.Peak.TFLOPS/10
	for i, x := range points.XYs {
		low, high, least = min(low, x.X/1.5), max(high, x.X*1.5), min(least, (x.Y-points.YErrors[i].Low)/1.5)
	}
	low = max(low, least*1e3/r.Peak.GBPerS)
	memory, err := plotter.NewLine(plotter.XYs{{X: low, Y: low * r.Peak.GBPerS / 1e3}, {X: ridge, Y: r.Peak.TFLOPS}})
	if err != nil {
		return nil, fmt.Errorf("roofline: %w", err)
	}
	array, err := plotter.NewLine(plotter.XYs{{X: ridge, Y: r.Peak.TFLOPS}, {X: high, Y: r.Peak.TFLOPS}})
	if err != nil {
		return nil, fmt.Errorf("roofline: %w", err)
	}
	memory.Color, memory.Width, array.Color, array.Width = colors(5), vg.Points(2), colors(1), vg.Points(2)
	scatter, err := plotter.NewScatter(points.XYs)
	if err != nil {
		return nil, fmt.Errorf("roofline: %w", err)
	}
	scatter.GlyphStyle = draw.GlyphStyle{Color: colors(0), Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	whiskers, err := plotter.NewYErrorBars(points)
	if err != nil {
		return nil, fmt.Errorf("roofline: %w", err)
	}
	whiskers.Color = colors(4)
	p.Add(memory, array, whiskers, scatter)
	p.Y.Max = max(p.Y.Max, 2*r.Peak.TFLOPS)
	p.Legend.Add(fmt.Sprintf("memory, %.4g GB/s", r.Peak.GBPerS), memory)
	p.Legend.Add(fmt.Sprintf("array, %.4g TFLOP/s", r.Peak.TFLOPS), array)
	p.Legend.Add(r.Of+"s", scatter)
	p.Legend.Left, p.Legend.Top = true, true
	return p, nil
}

// Timeline is the engine's power over wall time.
func Timeline(r *report.Report) (*plot.Plot, error) {
	var steps plotter.XYs
	unit, name := 1.0, "ns"
	if n := len(r.Power); n > 0 {
		switch last := float64(r.Power[n-1].AtNs + r.Power[n-1].ForNs); {
		case last >= 1e6:
			unit, name = 1e6, "ms"
		case last >= 1e3:
			unit, name = 1e3, "us"
		}
	}
	for _, s := range r.Power {
		if s.ForNs > 0 {
			at := float64(s.AtNs)
			steps = append(steps, plotter.XY{X: at / unit, Y: s.Watts}, plotter.XY{X: (at + float64(s.ForNs)) / unit, Y: s.Watts})
		}
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("timeline: %w: the report has no power over time", ErrNothing)
	}
	p := titled(r, "power over wall time, host "+r.Host, "ActivePower", "MACEnergy", "DRAMEnergy", "PlanarEnergy")
	p.X.Label.Text, p.Y.Label.Text = "wall time, "+name, "power, W"
	line, err := plotter.NewLine(steps)
	if err != nil {
		return nil, fmt.Errorf("timeline: %w", err)
	}
	line.Color, line.FillColor = colors(0), color.RGBA{0xc6, 0xe0, 0xf2, 0xff}
	p.Add(line)
	p.Y.Min = 0
	return p, nil
}

// maxBars is how many items a picture of energy has.
const maxBars = 30

// Energy is the energy of the items with the most cycles, by what takes it, in the chain's
// order.
func Energy(r *report.Report) (*plot.Plot, error) {
	keep := make([]bool, len(r.Items))
	for _, i := range r.Longest(maxBars) {
		keep[i] = true
	}
	var names []string
	var values []plotter.Values // by part
	sum := 0.0
	for i := range r.Items {
		if !keep[i] {
			continue
		}
		names = append(names, r.Items[i].Name)
		for k, part := range report.EnergyParts(&r.Items[i].Parts) {
			if k == len(values) {
				values = append(values, nil)
			}
			values[k] = append(values[k], float64(part.Energy)/1e3)
			sum += float64(part.Energy)
		}
	}
	if sum == 0 {
		return nil, fmt.Errorf("energy: %w: no %s has energy by part", ErrNothing, r.Of)
	}
	what := "energy, without the dispatch's own"
	if len(names) < len(r.Items) {
		what += fmt.Sprintf(", of the %d longest of %d %ss", len(names), len(r.Items), r.Of)
	}
	p := titled(r, what, "MACEnergy", "DRAMEnergy", "L2Energy", "ActivePower")
	p.Y.Label.Text = "energy, uJ"
	var below *plotter.BarChart
	parts := report.EnergyParts(new(anesim.EnergyDocument))
	for k, v := range values {
		total := 0.0
		for _, x := range v {
			total += x
		}
		if total == 0 {
			continue
		}
		bars, err := plotter.NewBarChart(v, width*0.8/vg.Length(len(names)+2))
		if err != nil {
			return nil, fmt.Errorf("energy: %w", err)
		}
		bars.Color, bars.LineStyle.Width = colors(k), 0
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		p.Legend.Add(parts[k].Name, bars)
	}
	p.NominalX(names...)
	p.X.Tick.Label.Rotation = math.Pi / 3
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.Legend.Top = true
	p.Y.Max *= 1.35 // room for the legend
	return p, nil
}

// Encode is a picture in a form: "svg" or "png".
func Encode(p *plot.Plot, form string) ([]byte, error) {
	var b bytes.Buffer
	switch form {
	case "svg":
		c := vgsvg.New(width, height)
		p.Draw(draw.New(c))
		if _, err := c.WriteTo(&b); err != nil {
			return nil, err
		}
	case "png":
		const dpi = 192
		c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
		p.Draw(draw.New(c))
		if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&b); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("form %q: want svg or png", form)
	}
	return b.Bytes(), nil
}
