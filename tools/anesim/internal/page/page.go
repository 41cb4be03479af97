package page

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"

	"anesim/internal/explain"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/picture"
	"anesim/tools/anesim/internal/view"
)

//go:embed page.html
var source string

//go:embed page.css
var style string

//go:embed table.js
var tableScript string

//go:embed timeline.js
var timelineScript string

// Options holds the optional parts of a page.
type Options struct {
	// Details has a text for each item that the page shows on request, such as the registers
	// of a descriptor. It may be nil.
	Details []string
	// Baseline is a comparison with a stored result. It may be nil.
	Baseline *Baseline
	// Explained holds the changes that were tried. It may be nil.
	Explained *explain.Explanation
}

// A bottleneck is a kind of item that takes a large share of the cycles.
type bottleneck struct {
	Name, Op, Alike, Share, Bound, Cause, Advice string
	Tried                                        []tried
}

// A tried is a change that was run and found to gain, as the page describes it.
type tried struct {
	Part, Change, Gain, Effects, Needs, Results, Command string
}

// bottlenecks and maxTried are the largest numbers of bottlenecks and of changes that a page lists.
const bottlenecks, maxTried = 5, 12

type pageData struct {
	*view.Report
	Options
	Style       template.CSS
	Scripts     []template.JS
	Bottlenecks []bottleneck
	Tried       []tried
	TriedCount  string
	Machines    []tried // variants of the chip that gain
	Pictures    []*picture.Picture
	Legend      []picture.Legend // legend of the bars in the table
	Data        template.JS
	JSON        template.JS
	File        string // file name of the download
}

// Write writes the report r to w as a self-contained HTML page, which loads no other files.
func Write(w io.Writer, r *view.Report, o Options) error {
	t, err := template.New("page").Parse(source)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	d := pageData{Report: r, Options: o, Style: template.CSS(picture.Palette + picture.Style + style), Scripts: []template.JS{template.JS(tableScript)}, File: r.Kind + ".json"}
	d.addBottlenecks()
	d.addPictures()
	document, err := json.Marshal(r.Document) // escapes <, > and &, so that it cannot end the script
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	d.JSON = template.JS(document)
	if d.Data, err = d.marshalTable(); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, &d); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// Incomplete returns a warning if layers have no cost, and "" otherwise.
func (d *pageData) Incomplete() string { return report.Incomplete(d.Missing) }

// hasCauses reports whether the items of the report divide their cycles by cause, as descriptors
// and layers do.
func (d *pageData) hasCauses() bool { return d.Kind == "program" || d.Kind == "network" }

// addBottlenecks adds the kinds of items with the most cycles to the page, with their causes and
// with the changes that make them faster.
func (d *pageData) addBottlenecks() {
	if !d.hasCauses() { // points and clients do not add up to a whole
		return
	}
	all := uint64(0)
	for i := range d.Items {
		all += d.Items[i].Cycles.Total
	}
	kinds := d.Kinds()
	for i := range kinds[:min(bottlenecks, len(kinds))] {
		k := &kinds[i]
		x := &d.Items[k.First]
		b := bottleneck{Name: x.Name, Op: x.Op, Advice: x.Advice, Bound: report.CauseText(x.Bound)}
		if k.Count > 1 {
			b.Alike = fmt.Sprintf("%d more like it", k.Count-1)
		}
		b.Share = fmt.Sprintf("%.1f%%", 100*float64(k.Cycles)/float64(all))
		if k.Bound > 0 {
			b.Cause = fmt.Sprintf("%.0f%% of %s cycles", 100*float64(k.Bound)/float64(k.Cycles), map[bool]string{true: "their", false: "its"}[k.Count > 1])
		}
		d.Bottlenecks = append(d.Bottlenecks, b)
	}
	if d.Explained == nil {
		return
	}
	d.addMachines()
	n := &d.Explained.Tried
	d.TriedCount = fmt.Sprintf("%d changes were tried by running them: %s.", n.All, view.Outcomes(n))
	if n.Left > 0 {
		d.TriedCount += fmt.Sprintf(" %d more were not tried: the limit of %d timed descriptors was reached.", n.Left, n.Work)
	}
	for i := range d.Explained.Trials {
		c := &d.Explained.Trials[i]
		x := tried{c.Part, c.Change, view.Gain(c), view.Effects(c), c.Needs, c.Results, c.Command}
		if c.Alike > 1 {
			x.Part = fmt.Sprintf("%s and %d more alike", c.Part, c.Alike-1)
		}
		if len(d.Tried) < maxTried {
			d.Tried = append(d.Tried, x)
		}
		if k := slices.IndexFunc(d.Bottlenecks, func(b bottleneck) bool { return c.Part != "" && b.Name == c.Part }); k >= 0 {
			d.Bottlenecks[k].Tried = append(d.Bottlenecks[k].Tried, x)
		}
	}
}

// addMachines adds the chip variants on which the model is faster to the page.
func (d *pageData) addMachines() {
	for i := range d.Explained.Machines {
		if c := &d.Explained.Machines[i]; c.Gain >= explain.LeastGain {
			d.Machines = append(d.Machines, tried{Change: c.Change, Gain: view.Gain(c), Effects: view.Effects(c)})
		}
	}
}

// addPictures adds those pictures to the page for which the report has numbers.
func (d *pageData) addPictures() {
	r := d.Report
	add := func(p *picture.Picture) {
		if p != nil {
			d.Pictures = append(d.Pictures, p)
		}
	}
	if d.hasCauses() && len(r.Items) > 0 {
		causes := picture.Causes(r)
		d.Legend = causes.Legend
		add(causes)
	}
	if load, ok := r.Document.(*report.Load); ok {
		add(picture.Latencies(load))
	}
	add(picture.Times(r.Points))
	add(picture.Roofline(r))
	if p := picture.Timeline(r); p != nil {
		add(p)
		d.Scripts = append(d.Scripts, template.JS(timelineScript))
	}
	if d.hasCauses() {
		add(picture.Energy(r))
	}
}

// marshalTable returns the JSON from which the page's script draws the table: the columns, and the
// cells and cycles by cause of each row.
func (d *pageData) marshalTable() (template.JS, error) {
	type column struct {
		Title  string `json:"title"`
		Help   string `json:"help"`
		Number bool   `json:"number"`
		Order  int    `json:"order"`
	}
	members := map[string]string{"program": "descriptors", "network": "layers", "load": "clients", "accuracy": "rows"}
	data := struct {
		Of      string     `json:"of"`
		Columns []column   `json:"columns"`
		Rows    [][]any    `json:"rows"` // each cell is a text, or a text and a number
		Causes  []string   `json:"causes,omitempty"`
		Bars    [][]uint64 `json:"bars,omitempty"` // cycles by cause
		Details []string   `json:"details,omitempty"`
		Members string     `json:"members"` // list of the document that the rows show
	}{Of: d.Of, Columns: []column{}, Rows: [][]any{}, Details: d.Details, Members: members[d.Kind]}
	for _, c := range d.Table.Columns {
		data.Columns = append(data.Columns, column(c))
	}
	for _, row := range d.Table.Rows {
		cells := make([]any, len(row))
		for i, c := range row {
			if d.Table.Columns[i].Number {
				cells[i] = []any{c.Text, c.Value}
			} else {
				cells[i] = cmp.Or(c.Text, "-")
			}
		}
		data.Rows = append(data.Rows, cells)
	}
	if d.hasCauses() {
		for name := range new(report.Cycles).All() {
			data.Causes = append(data.Causes, report.CauseText(name))
		}
		for i := range d.Items {
			var bar []uint64
			for _, n := range d.Items[i].Cycles.All() {
				bar = append(bar, n)
			}
			data.Bars = append(data.Bars, bar)
		}
	}
	b, err := json.Marshal(data)
	return template.JS(b), err
}

// WriteFile writes the report r to the named file as an HTML page.
func WriteFile(file string, r *view.Report, o Options) error {
	var b bytes.Buffer
	if err := Write(&b, r, o); err != nil {
		return err
	}
	return outfile.Write(file, b.Bytes())
}
