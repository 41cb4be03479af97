package page

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	"anesim/tools/anesim/internal/report"
)

//go:embed page.html
var source string

//go:embed page.css
var style string

//go:embed page.js
var script string

// Options are what a page has beside its report.
type Options struct {
	// Details has a text for each item that is shown when it is asked for, such as the
	// registers of a descriptor; nil for none.
	Details []string
	// Baseline says how the result differs from a baseline; nil for no comparison.
	Baseline *Baseline
}

// A Baseline is a comparison with a stored result.
type Baseline struct {
	File        string
	Cause       string   // in a sentence
	Differences []string // none where nothing differs
}

// A bottleneck is an item that takes much of the cycles.
type bottleneck struct {
	Name, Op, Share, Bound, Cause, Advice string
	Cycles                                uint64
}

// bottlenecks is how many the page names.
const bottlenecks = 5

type pageData struct {
	*report.Report
	Options
	Style       template.CSS
	Script      template.JS
	Bottlenecks []bottleneck
	Pictures    []picture
	Data        template.JS // the table, and what is shown of a row on demand
	JSON        template.JS
	File        string // name of the download
}

type picture struct {
	ID, Title, Note string
	SVG             template.HTML
	Legend          []legend
}

// Write writes the report as one HTML page.
func Write(w io.Writer, r *report.Report, o Options) error {
	t, err := template.New("page").Parse(source)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	d := pageData{Report: r, Options: o, Style: template.CSS(style), Script: template.JS(script), Bottlenecks: longest(r), File: r.Kind + ".json"}
	d.draw()
	document, err := json.Marshal(r.Document) // escapes <, > and &, so that it cannot end the script
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	d.JSON = template.JS(document)
	if d.Data, err = tableData(r, o.Details); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, &d); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// longest are the items with the most cycles and what they wait for.
func longest(r *report.Report) []bottleneck {
	var list []bottleneck
	if r.Kind == "sweep" { // points are not parts of a whole
		return nil
	}
	all := uint64(0)
	for i := range r.Items {
		all += r.Items[i].Cycles.Total
	}
	for _, i := range r.Longest(bottlenecks) {
		x := &r.Items[i]
		if x.Cycles.Total == 0 {
			break
		}
		b := bottleneck{Name: x.Name, Op: x.Op, Cycles: x.Cycles.Total, Advice: x.Advice, Bound: report.Cause(x.Bound)}
		b.Share = fmt.Sprintf("%.1f %%", 100*float64(x.Cycles.Total)/float64(all))
		for name, n := range x.Cycles.All() {
			if name == x.Bound && n > 0 {
				b.Cause = fmt.Sprintf("%.0f %% of its cycles", 100*float64(n)/float64(x.Cycles.Total))
			}
		}
		list = append(list, b)
	}
	return list
}

// draw makes the pictures that the report has numbers for.
func (d *pageData) draw() {
	r := d.Report
	known := r.Kind == "program" || r.Kind == "network"
	if known && len(r.Items) > 0 {
		svg, l, note := causes(r)
		d.Pictures = append(d.Pictures, picture{"causes", "Cycles by cause", note, svg, l})
	}
	if svg, note := roofline(r); svg != "" {
		if known {
			note += " A whisker is the interval that four of five measurements lie in."
		}
		d.Pictures = append(d.Pictures, picture{"roofline", "Roofline", note, svg, nil})
	}
	if svg, note := timeline(r); svg != "" {
		d.Pictures = append(d.Pictures, picture{"timeline", "Power over time", note, svg, nil})
	}
	if known && len(r.Items) > 0 {
		svg, l, note := energies(r)
		d.Pictures = append(d.Pictures, picture{"energy", "Energy by part", note, svg, l})
	}
}

// tableData is the table for the script: columns, and rows of texts with their numbers.
func tableData(r *report.Report, details []string) (template.JS, error) {
	type column struct {
		Title  string `json:"title"`
		Help   string `json:"help"`
		Number bool   `json:"number"`
	}
	data := struct {
		Of      string   `json:"of"`
		Columns []column `json:"columns"`
		Rows    [][]any  `json:"rows"` // a text, or a text and a number
		Details []string `json:"details,omitempty"`
		Members string   `json:"members"` // the document's list that the rows are of
	}{Of: r.Of, Columns: []column{}, Rows: [][]any{}, Details: details, Members: map[string]string{"program": "descriptors", "network": "layers", "load": "clients"}[r.Kind]}
	for _, c := range r.Table.Columns {
		data.Columns = append(data.Columns, column(c))
	}
	for _, row := range r.Table.Rows {
		cells := make([]any, len(row))
		for i, c := range row {
			if r.Table.Columns[i].Number {
				cells[i] = []any{c.Text, c.Value}
			} else {
				cells[i] = cmp.Or(c.Text, "-")
			}
		}
		data.Rows = append(data.Rows, cells)
	}
	b, err := json.Marshal(data)
	return template.JS(b), err
}
