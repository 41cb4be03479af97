package picture

import (
	"fmt"
	"slices"

	"anesim/hw/clock"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/view"
)

// maxLeaves is the largest number of rectangles in a treemap. All smaller items share one.
const maxLeaves = 80

// A leaf is a rectangle of a treemap, divided into parts.
type leaf struct {
	name  string
	label string // name without what the names of all items begin with
	parts []segment
	value float64
}

// Energy draws a treemap in which areas are energies. Each item has a rectangle, which is divided
// into the parts of its energy. If there are many items, those with the least energy share one. The
// dispatch has a rectangle unless it would leave too little room for the items. Energy returns nil
// if no item has an energy.
func Energy(r *view.Report) *Picture {
	var list []leaf
	var names []string
	for i := range r.Items {
		names = append(names, r.Items[i].Name)
	}
	shared := len(terminal.SharedPrefix(names))
	for i := range r.Items {
		x := &r.Items[i]
		if x.Energy > 0 {
			list = append(list, leaf{x.Name + " " + x.Op, x.Name[shared:] + " " + x.Op, listEnergySegments(&x.Parts), float64(x.Energy)})
		}
	}
	slices.SortStableFunc(list, func(a, b leaf) int {
		switch {
		case a.value > b.value:
			return -1
		case a.value < b.value:
			return 1
		}
		return 0
	})
	if len(list) > maxLeaves {
		list = append(list[:maxLeaves:maxLeaves], newLeafSum(list[maxLeaves:]))
	}
	sum := 0.0
	for _, x := range list {
		sum += x.value
	}
	if sum <= 0 {
		return nil
	}
	note := "Areas are energies."
	switch n := r.Energy.Dispatch; {
	case n <= 0:
	case float64(n) < sum:
		list = append(list, leaf{"dispatch", "dispatch", listEnergySegments(&report.Energy{Dispatch: n}), float64(n)})
		sum += float64(n)
		note += " The dispatch itself takes a fixed energy."
	default: // it would leave too little room for the items
		note += fmt.Sprintf(" The %v of the dispatch itself are not drawn (%.0f%% of all).", n, 100*float64(n)/(sum+float64(n)))
	}
	draw := func(width float64) *canvas {
		c := newCanvas(width, 380, "Energy of each "+r.Of+" by part")
		drawSquarifiedTreemap(c, list, box{0, 0, c.width, c.height}, sum, sum)
		return c
	}
	var legend []Legend
	for _, s := range listEnergySegments(&r.Energy) {
		if s.value > 0 && (s.name != "dispatch" || s.value < sum) {
			legend = append(legend, Legend{s.class, s.name})
		}
	}
	return newPicture(Picture{ID: "energy", Title: "Where the energy goes", Legend: legend, Note: note,
		Rests: []string{"MACEnergy", "DRAMEnergy", "L2Energy", "ActivePower"}}, draw)
}

// newLeafSum returns a leaf whose energies are the sums of those of all leaves in list.
func newLeafSum(list []leaf) leaf {
	name := fmt.Sprintf("%d others", len(list))
	rest := leaf{name: name, label: name, parts: listEnergySegments(new(report.Energy))}
	for _, x := range list {
		rest.value += x.value
		for i := range x.parts {
			rest.parts[i].value += x.parts[i].value
		}
	}
	for i := range rest.parts {
		rest.parts[i].text = clock.Nanojoules(rest.parts[i].value).String()
	}
	return rest
}

type box struct{ x, y, w, h float64 }

// drawSquarifiedTreemap fills a box with leaves, the largest first, in rows along the shorter side.
// It starts a new row when another leaf would make the rectangles of the row more elongated (Bruls,
// Huizing and van Wijk, Squarified Treemaps).
func drawSquarifiedTreemap(c *canvas, list []leaf, b box, rest, all float64) {
	for len(list) > 0 && rest > 0 {
		area := b.w * b.h / rest
		short := min(b.w, b.h)
		worst := func(row []leaf) float64 {
			sum, most := 0.0, 0.0
			for _, x := range row {
				sum += float64(x.value * area)
			}
			for _, x := range row {
				a := x.value * area
				// The aspect ratio of a rectangle, whichever side is the longer one.
				most = max(most, short*short*a/(sum*sum), sum*sum/(short*short*a))
			}
			return most
		}
		// Equal is good enough to go on: it makes fewer, fuller rows.
		n := 1
		for n < len(list) && worst(list[:n+1]) <= worst(list[:n]) {
			n++
		}
		sum := 0.0
		for _, x := range list[:n] {
			sum += x.value
		}
		thick := sum * area / short
		at := 0.0
		for _, x := range list[:n] {
			length := x.value * area / thick
			place := box{b.x + at, b.y, length, thick}
			if b.w >= b.h {
				place = box{b.x, b.y + at, thick, length}
			}
			c.drawLeaf(&x, place, all)
			at += length
		}
		if b.w >= b.h {
			b.x, b.w = b.x+thick, b.w-thick
		} else {
			b.y, b.h = b.y+thick, b.h-thick
		}
		list, rest = list[n:], rest-sum
	}
}

// drawLeaf draws a rectangle of a treemap, divided into its parts along the longer side.
func (c *canvas) drawLeaf(x *leaf, b box, all float64) {
	title := fmt.Sprintf("%s: %v, %.1f%% of all", x.name, clock.Nanojoules(x.value), 100*x.value/all)
	for _, p := range x.parts {
		if p.value > 0 {
			title += fmt.Sprintf("; %s %s", p.name, p.text)
		}
	}
	c.openGroup(title)
	at := 0.0
	for _, p := range x.parts {
		share := p.value / x.value
		if share <= 0 {
			continue
		}
		if b.w >= b.h {
			c.drawRect(b.x+float64(at*b.w), b.y, share*b.w, b.h, p.class+" soft", "")
		} else {
			c.drawRect(b.x, b.y+float64(at*b.h), b.w, share*b.h, p.class+" soft", "")
		}
		at += share
	}
	c.drawFrame(b.x, b.y, b.w, b.h, "leaf")
	const line, letter = 14, 6.6 // height of a line and width of a letter
	if b.h > line+4 && b.w > 5*letter {
		room := int((b.w - 14) / letter) // with margins of 4, and 6 for an ellipsis and an m, which are wider
		c.drawText(b.x+5, b.y+line, "start", shortenMiddle(x.label, room))
		if value := clock.Nanojoules(x.value).String(); b.h > 2*line+4 && len(value) <= room {
			c.drawText(b.x+5, b.y+2*line, "start", value)
		}
	}
	c.closeGroup()
}
