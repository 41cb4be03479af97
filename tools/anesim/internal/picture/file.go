package picture

import (
	_ "embed"
	"fmt"
	"html"
	"regexp"
	"strings"

	"anesim/hw/chip"
	"anesim/tools/anesim/internal/view"
)

// Palette names the colours, for light and dark pages.
//
//go:embed palette.css
var Palette string

// Style gives the classes of pictures their colours, by the names in Palette.
//
//go:embed picture.css
var Style string

// Caption returns the lines above a picture of r: its name and title, then the chip, the
// host if there is one, the constants of the build, and the evidence for those that the
// picture rests on.
func (p *Picture) Caption(r *view.Report) []string {
	line := "chip " + r.Chip
	if r.Host != "" && r.Host != "none" {
		line += ", host " + r.Host
	}
	line += ", constants " + r.Tool.Constants
	if text := evidence(r.Chip, p.Rests); text != "" {
		line += "; " + text
	}
	return []string{r.Name + ": " + p.Title, line}
}

// evidence says what the named constants of a chip rest on. It is empty for a chip that
// this build does not have.
func evidence(chipName string, names []string) string {
	c, err := chip.ByName(chipName)
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

// The layout of a file, in user units. A letter is as wide as those of the style's font are
// on average.
const (
	margin    = 12
	lineStep  = 17
	letter    = 6.0
	swatch    = 11
	legendGap = 26
)

// File returns the picture as an SVG file that needs nothing else: with the lines of a
// caption, its legend and its note, on a white ground. Colours are written out, since few
// programs other than browsers know CSS variables.
func (p *Picture) File(caption ...string) []byte {
	var head, foot strings.Builder
	y := float64(margin)
	for i, text := range caption {
		class := ""
		if i == 0 {
			class = ` class="title"`
		}
		for _, line := range wrapped(text, (pageWidth-2*margin)/letter) {
			y += lineStep
			fmt.Fprintf(&head, `<text x="%d" y="%s"%s>%s</text>`, margin, num(y), class, html.EscapeString(line))
		}
	}
	y = p.legend(&head, y+8) + 8
	top := y
	y += p.height
	if p.Note != "" {
		y += 4
		for _, line := range wrapped(p.Note, (pageWidth-2*margin)/letter) {
			y += lineStep
			fmt.Fprintf(&foot, `<text x="%d" y="%s">%s</text>`, margin, num(y), html.EscapeString(line))
		}
	}
	drawing := strings.Replace(string(p.SVG), "<svg ", fmt.Sprintf(`<svg x="0" y="%s" width="%d" height="%s" `, num(top), pageWidth, num(p.height)), 1)
	height := num(y + margin)
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]s" viewBox="0 0 %[1]d %[2]s">
<style>%[3]s</style>
<rect width="%[1]d" height="%[2]s" fill="#fff"/>
%[4]s
%[5]s
%[6]s
</svg>
`, pageWidth, height, fileStyle(), head.String(), drawing, foot.String())
}

// legend writes the legend in rows below y and returns where it ends.
func (p *Picture) legend(b *strings.Builder, y float64) float64 {
	if len(p.Legend) == 0 {
		return y
	}
	x := float64(margin)
	y += lineStep
	for _, l := range p.Legend {
		width := swatch + 5 + letter*float64(len([]rune(l.Name)))
		if x > margin && x+width > pageWidth-margin {
			x, y = margin, y+lineStep
		}
		fmt.Fprintf(b, `<rect x="%s" y="%s" width="%d" height="%d" class="%s"/>`, num(x), num(y-swatch+2), swatch, swatch, l.Class)
		fmt.Fprintf(b, `<text x="%s" y="%s">%s</text>`, num(x+swatch+5), num(y), html.EscapeString(l.Name))
		x += width + legendGap
	}
	return y
}

// fileStyle returns Style with the colours of the light palette and a font that every
// program has.
func fileStyle() string {
	light, _, _ := strings.Cut(Palette, "}")
	replacements := []string{"system-ui, ", ""}
	for _, m := range regexp.MustCompile(`(--\w+): ([^;]+);`).FindAllStringSubmatch(light, -1) {
		replacements = append(replacements, "var("+m[1]+")", m[2])
	}
	return strings.NewReplacer(replacements...).Replace(Style) + "svg text.title { font-size: 13px; font-weight: 600; }\n"
}

// wrapped divides a text into lines of at most n letters, unless a word is longer.
func wrapped(text string, n float64) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && float64(len([]rune(line))+1+len([]rune(word))) > n {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
