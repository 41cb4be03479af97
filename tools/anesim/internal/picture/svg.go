package picture

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
)

// A canvas is an SVG in the making, of a fixed width in user units; the page scales it.
type canvas struct {
	b             bytes.Buffer
	width, height float64
}

// Widths of pictures in user units, which are pixels where a picture fills its place. A
// letter is as large in both, so the narrow one has fewer of them across.
const (
	pageWidth   = 960
	narrowWidth = 350
)

// newCanvas begins a picture. Its name is what a screen reader says of it.
func newCanvas(width, height float64, name string) *canvas {
	c := &canvas{width: width, height: height}
	fmt.Fprintf(&c.b, `<svg role="img" aria-label="%s" viewBox="0 0 %s %s">`, html.EscapeString(name), num(c.width), num(c.height))
	return c
}

// attributes gives the picture more of them. It comes before anything is drawn.
func (c *canvas) attributes(text string) {
	c.b.Truncate(c.b.Len() - len(">"))
	c.b.WriteString(" " + text + ">")
}

// narrow reports whether the picture is for a narrow window.
func (c *canvas) narrow() bool { return c.width < pageWidth }

func (c *canvas) raw(text string) { c.b.WriteString(text) }

// window begins a place of the picture with coordinates of its own, which a script may
// change to zoom into it.
func (c *canvas) window(x, y, w, h float64) {
	fmt.Fprintf(&c.b, `<svg class="window" x="%s" y="%s" width="%s" height="%s" viewBox="0 0 %s %d" preserveAspectRatio="none">`,
		num(x), num(y), num(w), num(h), num(unitsAcross), unitsDown)
}

func (c *canvas) closeWindow() { c.raw("</svg>") }

// outline fills the area inside a path. The path can be long, so the narrow picture refers
// to that of the wide one, which has the given identifier.
func (c *canvas) outline(id, path, class string) {
	if c.narrow() {
		fmt.Fprintf(&c.b, `<use class="%s" href="#%s"/>`, class, id)
		return
	}
	fmt.Fprintf(&c.b, `<path id="%s" class="%s" d="%s"/>`, id, class, path)
}

// group begins what has one text that shows when it is pointed at.
func (c *canvas) group(title string) {
	fmt.Fprintf(&c.b, `<g><title>%s</title>`, html.EscapeString(title))
}

func (c *canvas) closeGroup() { c.raw("</g>") }

// frame draws the edge of a rectangle.
func (c *canvas) frame(x, y, w, h float64, class string) {
	fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"/>`, num(x), num(y), num(w), num(h), class)
}

// num is a coordinate with a tenth of a unit, the same on every machine.
func num(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// rect draws a rectangle with a text that shows when it is pointed at.
func (c *canvas) rect(x, y, w, h float64, class, title string) {
	if w <= 0 || h <= 0 {
		return
	}
	fmt.Fprintf(&c.b, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"`, num(x), num(y), num(max(w, 0.1)), num(max(h, 0.1)), class)
	if title == "" {
		c.raw("/>")
		return
	}
	fmt.Fprintf(&c.b, `><title>%s</title></rect>`, html.EscapeString(title))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&c.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`, num(x1), num(y1), num(x2), num(y2), class)
}

func (c *canvas) dot(x, y, r float64, class, title string) {
	fmt.Fprintf(&c.b, `<circle cx="%s" cy="%s" r="%s" class="%s"><title>%s</title></circle>`, num(x), num(y), num(r), class, html.EscapeString(title))
}

// text writes; anchor is start, middle or end.
func (c *canvas) text(x, y float64, anchor, s string) {
	fmt.Fprintf(&c.b, `<text x="%s" y="%s" text-anchor="%s">%s</text>`, num(x), num(y), anchor, html.EscapeString(s))
}

// textOn writes on a coloured area.
func (c *canvas) textOn(x, y float64, anchor, s string) {
	fmt.Fprintf(&c.b, `<text x="%s" y="%s" text-anchor="%s" class="on">%s</text>`, num(x), num(y), anchor, html.EscapeString(s))
}

// path draws points joined by straight lines.
func (c *canvas) path(points [][2]float64, class string) {
	for i, p := range points {
		if i == 0 {
			c.b.WriteString(`<path class="` + class + `" d="M`)
		} else {
			c.b.WriteString("L")
		}
		c.b.WriteString(num(p[0]) + " " + num(p[1]))
	}
	if len(points) > 0 {
		c.b.WriteString(`"/>`)
	}
}

// svg ends the drawing and returns it.
func (c *canvas) svg() template.HTML {
	c.b.WriteString("</svg>")
	return template.HTML(c.b.String())
}

// drawn returns p with what draw draws in each width.
func drawn(p Picture, draw func(width float64) *canvas) *Picture {
	c := draw(pageWidth)
	p.SVG, p.height, p.Narrow = c.svg(), c.height, draw(narrowWidth).svg()
	return &p
}

// A scale maps values to places on a canvas.
type scale struct {
	low, high float64 // values
	from, to  float64 // places
	log       bool
}

func (s *scale) at(v float64) float64 {
	a, b := s.low, s.high
	if s.log {
		v, a, b = math.Log(v), math.Log(a), math.Log(b)
	}
	if a == b {
		return s.from
	}
	return s.from + (v-a)/(b-a)*(s.to-s.from)
}

// ticks are values worth a label: powers of ten of a logarithmic scale, and some round
// steps of a linear one, six where nobody says how many.
func (s *scale) ticks(some ...float64) []float64 {
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
	step := niceStep((s.high - s.low) / most)
	if step <= 0 {
		return []float64{s.low}
	}
	for k := math.Ceil(s.low / step); k*step <= s.high*(1+1e-9); k++ {
		list = append(list, k*step)
	}
	return list
}

// dense are 1, 2 and 5 times the powers of ten within a logarithmic scale.
func (s *scale) dense() []float64 {
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

// niceStep is the least of 1, 2 and 5 times a power of ten that is no less than v.
func niceStep(v float64) float64 {
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
