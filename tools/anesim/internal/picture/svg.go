package picture

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
)

// A canvas is an SVG drawing of a fixed width, which the page scales to its window.
type canvas struct {
	b             bytes.Buffer
	width, height float64
}

// Widths of pictures in user units. A unit is a pixel if the picture is not scaled. Letters
// have the same size in both, so fewer of them fit in the narrow one.
const (
	pageWidth   = 960
	narrowWidth = 350
)

// newCanvas returns an empty drawing of the given size. Screen readers read its name aloud.
func newCanvas(width, height float64, name string) *canvas {
	c := &canvas{width: width, height: height}
	fmt.Fprintf(&c.b, `<svg role="img" aria-label="%s" viewBox="0 0 %s %s">`, html.EscapeString(name), formatCoordinate(c.width), formatCoordinate(c.height))
	return c
}

// addAttributes adds attributes to the svg element. It must be called before anything is drawn.
func (c *canvas) addAttributes(text string) {
	c.b.Truncate(c.b.Len() - len(">"))
	c.b.WriteString(" " + text + ">")
}

// isNarrow reports whether the picture is for a narrow window.
func (c *canvas) isNarrow() bool { return c.width < pageWidth }

func (c *canvas) writeRaw(text string) { c.b.WriteString(text) }

// openWindow begins a nested drawing with its own coordinates, which a script changes to zoom in.
func (c *canvas) openWindow(x, y, w, h float64) {
	fmt.Fprintf(&c.b, `<svg class="window" x="%s" y="%s" width="%s" height="%s" viewBox="0 0 %s %d" preserveAspectRatio="none">`,
		formatCoordinate(x), formatCoordinate(y), formatCoordinate(w), formatCoordinate(h), formatCoordinate(unitsAcross), unitsDown)
}

func (c *canvas) closeWindow() { c.writeRaw("</svg>") }

// fillPath fills the area inside a path. Because the path may be long, the narrow drawing refers to
// the path of the wide one by id.
func (c *canvas) fillPath(id, path, class string) {
	if c.isNarrow() {
		fmt.Fprintf(&c.b, `<use class="%s" href="#%s"/>`, class, id)
		return
	}
	fmt.Fprintf(&c.b, `<path id="%s" class="%s" d="%s"/>`, id, class, path)
}

// openGroup begins a group of shapes that share a tooltip.
func (c *canvas) openGroup(title string) {
	fmt.Fprintf(&c.b, `<g><title>%s</title>`, html.EscapeString(title))
}

func (c *canvas) closeGroup() { c.writeRaw("</g>") }

// drawFrame draws the outline of a rectangle.
func (c *canvas) drawFrame(x, y, w, h float64, class string) {
	fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"/>`, formatCoordinate(x), formatCoordinate(y), formatCoordinate(w), formatCoordinate(h), class)
}

// formatCoordinate rounds a coordinate to a tenth, so that it is the same on every machine.
func formatCoordinate(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// drawRect draws a rectangle with a tooltip.
func (c *canvas) drawRect(x, y, w, h float64, class, title string) {
	if w <= 0 || h <= 0 {
		return
	}
	fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"`, formatCoordinate(x), formatCoordinate(y), formatCoordinate(max(w, 0.1)), formatCoordinate(max(h, 0.1)), class)
	if title == "" {
		c.writeRaw("/>")
		return
	}
	fmt.Fprintf(&c.b, `><title>%s</title></rect>`, html.EscapeString(title))
}

func (c *canvas) drawLine(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&c.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`, formatCoordinate(x1), formatCoordinate(y1), formatCoordinate(x2), formatCoordinate(y2), class)
}

func (c *canvas) drawDot(x, y, r float64, class, title string) {
	fmt.Fprintf(&c.b, `<circle cx="%s" cy="%s" r="%s" class="%s"><title>%s</title></circle>`, formatCoordinate(x), formatCoordinate(y), formatCoordinate(r), class, html.EscapeString(title))
}

// drawText draws the text s at (x, y). The anchor is "start", "middle" or "end".
func (c *canvas) drawText(x, y float64, anchor, s string) {
	fmt.Fprintf(&c.b, `<text x="%s" y="%s" text-anchor="%s">%s</text>`, formatCoordinate(x), formatCoordinate(y), anchor, html.EscapeString(s))
}

// drawTextOn is like drawText, but for a text on a colored area, in a color that is legible there.
func (c *canvas) drawTextOn(x, y float64, anchor, s string) {
	fmt.Fprintf(&c.b, `<text x="%s" y="%s" text-anchor="%s" class="on">%s</text>`, formatCoordinate(x), formatCoordinate(y), anchor, html.EscapeString(s))
}

// drawPath draws straight lines between consecutive points.
func (c *canvas) drawPath(points [][2]float64, class string) {
	for i, p := range points {
		if i == 0 {
			c.b.WriteString(`<path class="` + class + `" d="M`)
		} else {
			c.b.WriteString("L")
		}
		c.b.WriteString(formatCoordinate(p[0]) + " " + formatCoordinate(p[1]))
	}
	if len(points) > 0 {
		c.b.WriteString(`"/>`)
	}
}

// closeSVG ends the drawing and returns it as SVG.
func (c *canvas) closeSVG() template.HTML {
	c.b.WriteString("</svg>")
	return template.HTML(c.b.String())
}

// newPicture returns p with the drawings that draw returns for a wide and a narrow window.
func newPicture(p Picture, draw func(width float64) *canvas) *Picture {
	c := draw(pageWidth)
	p.SVG, p.height, p.Narrow = c.closeSVG(), c.height, draw(narrowWidth).closeSVG()
	return &p
}

// A scale maps values to positions on a canvas.
type scale struct {
	low, high float64 // values
	from, to  float64 // positions
	log       bool
}

func (s *scale) toPosition(v float64) float64 {
	a, b := s.low, s.high
	if s.log {
		v, a, b = math.Log(v), math.Log(a), math.Log(b)
	}
	if a == b {
		return s.from
	}
	return s.from + float64((v-a)/(b-a)*(s.to-s.from))
}

// listTicks returns the values that get a label: powers of ten on a logarithmic scale, and
// multiples of a round number on a linear one. The optional argument is the approximate number of
// labels, which is six by default.
func (s *scale) listTicks(some ...float64) []float64 {
	var list []float64
	if s.log {
		for e := math.Ceil(math.Log10(s.low) - 1e-9); e <= math.Log10(s.high)+1e-9; e++ {
			list = append(list, math.Pow(10, e))
		}
		return list
	}
	most := 6.0
	if len(some) > 0 {
		most = max(1, some[0])
	}
	step := roundUpStep((s.high - s.low) / most)
	if step <= 0 {
		return []float64{s.low}
	}
	for k := math.Ceil(s.low / step); k*step <= s.high*(1+1e-9); k++ {
		list = append(list, k*step)
	}
	return list
}

// listDenseTicks returns 1, 2 and 5 times the powers of ten within a logarithmic scale.
func (s *scale) listDenseTicks() []float64 {
	var list []float64
	for e := math.Floor(math.Log10(s.low)); e <= math.Log10(s.high); e++ {
		for _, m := range [...]float64{1, 2, 5} {
			if v := float64(m * math.Pow(10, e)); v >= s.low && v <= s.high {
				list = append(list, v)
			}
		}
	}
	return list
}

// roundUpStep returns the smallest of 1, 2 and 5 times a power of ten that is at least v. It
// returns 0 if v is not positive and finite.
func roundUpStep(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range [...]float64{1, 2, 5} {
		if m*p >= v*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}
