package picture

import (
	_ "embed"
	"fmt"
	"html"
	"regexp"
	"strings"

	"anesim/hw/chip"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/view"
)

// Palette is a style sheet that defines the colors for light and dark pages.
//
//go:embed palette.css
var Palette string

// Style is a style sheet that assigns the colors of [Palette] to the CSS classes of shapes.
//
//go:embed picture.css
var Style string

// Caption returns the lines to write above the picture. The first has the name of the report r and
// the title of the picture. The second has the chip, the host if there is one, the hash of the
// build's constants, and the evidence for the constants in p.Rests. If layers have no cost, a
// warning follows.
func (p *Picture) Caption(r *view.Report) []string {
	line := "chip " + r.Chip
	if r.Host != "" && r.Host != "none" {
		line += ", host " + r.Host
	}
	line += ", constants " + r.Tool.Constants
	if text := formatEvidence(r.Chip, p.Rests); text != "" {
		line += "; " + text
	}
	list := []string{r.Name + ": " + p.Title, line}
	if warning := report.Incomplete(r.Missing); warning != "" {
		list = append(list, warning)
	}
	return list
}

// formatEvidence returns text with the evidence for the named constants of a chip, or "" for an
// unknown chip.
func formatEvidence(chipName string, names []string) string {
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

// Layout of a file in user units. The width of a letter is the average of the font.
const (
	margin    = 12
	lineStep  = 17
	letter    = 6.0
	swatch    = 11
	legendGap = 26
)

// File returns the picture as a standalone SVG file on a white background. The lines of caption and
// the legend are above the picture, and the note is below it. The file uses no CSS variables, which
// few programs other than browsers support.
func (p *Picture) File(caption ...string) []byte {
	var head, foot strings.Builder
	y := float64(margin)
	for i, text := range caption {
		class := ""
		if i == 0 {
			class = ` class="title"`
		}
		for _, line := range wrapText(text, (pageWidth-2*margin)/letter) {
			y += lineStep
			fmt.Fprintf(&head, `<text x="%d" y="%s"%s>%s</text>`, margin, formatCoordinate(y), class, html.EscapeString(line))
		}
	}
	y = p.writeLegend(&head, y+8) + 8
	top := y
	y += p.height
	if p.Note != "" {
		y += 4
		for _, line := range wrapText(p.Note, (pageWidth-2*margin)/letter) {
			y += lineStep
			fmt.Fprintf(&foot, `<text x="%d" y="%s">%s</text>`, margin, formatCoordinate(y), html.EscapeString(line))
		}
	}
	// The picture has no place or size of its own: a page gives it both. Only its first tag is changed.
	drawing := strings.Replace(string(p.SVG), "<svg ", fmt.Sprintf(`<svg x="0" y="%s" width="%d" height="%s" `, formatCoordinate(top), pageWidth, formatCoordinate(p.height)), 1)
	height := formatCoordinate(y + margin)
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]s" viewBox="0 0 %[1]d %[2]s">
<style>%[3]s</style>
<rect width="%[1]d" height="%[2]s" fill="#fff"/>
%[4]s
%[5]s
%[6]s
</svg>
`, pageWidth, height, lightStyle(), head.String(), drawing, foot.String())
}

// writeLegend writes the legend in rows below y and returns the y coordinate of the last row.
func (p *Picture) writeLegend(b *strings.Builder, y float64) float64 {
	if len(p.Legend) == 0 {
		return y
	}
	x := float64(margin)
	y += lineStep
	for _, l := range p.Legend {
		width := swatch + 5 + float64(letter*float64(len([]rune(l.Name))))
		if x > margin && x+width > pageWidth-margin {
			x, y = margin, y+lineStep
		}
		fmt.Fprintf(b, `<rect x="%s" y="%s" width="%d" height="%d" class="%s"/>`, formatCoordinate(x), formatCoordinate(y-swatch+2), swatch, swatch, l.Class)
		fmt.Fprintf(b, `<text x="%s" y="%s">%s</text>`, formatCoordinate(x+swatch+5), formatCoordinate(y), html.EscapeString(l.Name))
		x += width + legendGap
	}
	return y
}

// lightStyle returns [Style] with the colors of the light palette, and without the font system-ui,
// which few programs know.
func lightStyle() string {
	light, _, _ := strings.Cut(Palette, "}")
	replacements := []string{"system-ui, ", ""}
	for _, m := range regexp.MustCompile(`(--\w+): ([^;]+);`).FindAllStringSubmatch(light, -1) {
		replacements = append(replacements, "var("+m[1]+")", m[2])
	}
	return strings.NewReplacer(replacements...).Replace(Style) + "svg text.title { font-size: 13px; font-weight: 600; }\n"
}

// wrapText divides a text into lines of about n letters at most. A longer word has its own line.
func wrapText(text string, n float64) []string {
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
