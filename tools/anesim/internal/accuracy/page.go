package accuracy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"anesim"
	"anesim/hw"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/picture"
	"anesim/tools/anesim/internal/view"
)

// errNoRows says that no row has a measured time, so that there is nothing to draw.
var errNoRows = errors.New("no row has a measured time")

// View converts r to a [view.Report], from which pages are made. It returns an error if no row has
// a measured time.
func (r *Report) View() (*view.Report, error) {
	doc := r.newDocument()
	p := &view.Report{Kind: "accuracy", Name: "The model against measurements", Tool: doc.Tool, Of: "row", Document: doc}
	p.Facts = []view.Fact{{Label: "Rows modelled", Text: fmt.Sprint(len(doc.Rows)), Name: "rows", Value: float64(len(doc.Rows)), Note: fmt.Sprintf("%d not modelled", len(doc.NotModelled))}}
	p.Facts = append(p.Facts, r.newFacts(doc)...)
	if p.Points = doc.listPoints(); len(p.Points) == 0 {
		return nil, errNoRows
	}
	p.Table = r.newRowTable(doc)
	for _, x := range listTables() {
		if len(x.groups(r.Accuracy)) > 0 {
			p.Tables = append(p.Tables, newNamedTable(r.newPageTable(&x)))
		}
	}
	for _, t := range r.newCoverageTables() {
		p.Tables = append(p.Tables, newNamedTable(t))
	}
	for _, x := range doc.NotModelled {
		p.Notes = append(p.Notes, fmt.Sprintf("row %s is not modelled: %s", x.ID, x.What))
	}
	return p, nil
}

// listPoints returns a point for each row with a measured time. The points of a session are
// consecutive.
func (d *Document) listPoints() (list []view.Point) {
	for i := range d.Rows {
		x := &d.Rows[i]
		if x.MeasuredUs != nil {
			list = append(list, view.Point{Name: x.ID + " " + x.Op, Group: x.Session, Measured: *x.MeasuredUs, Model: x.ModelUs, Low: x.ModelLowUs, High: x.ModelHighUs})
		}
	}
	slices.SortStableFunc(list, func(a, b view.Point) int { return cmp.Compare(a.Group, b.Group) })
	return list
}

// Pictures returns two plots as SVG files. The plot times shows the model's times, and misses shows
// the errors, both against the measured times. Pictures returns an error if no row has a measured
// time.
func (r *Report) Pictures() (times, misses []byte, err error) {
	list := r.newDocument().listPoints()
	if len(list) == 0 {
		return nil, nil, errNoRows
	}
	rows := fmt.Sprintf("%s, constants %s", report.Plural(len(r.Rows), "measured row"), anesim.ThisTool().Constants)
	p := picture.Errors(list)
	return picture.Times(list).File("Time of a call, model against measurement", rows), p.File(p.Title, rows), nil
}

// newFacts returns the median errors to show at the head of a page. If errors of fits without the
// row's session are known, it returns these.
func (r *Report) newFacts(doc *Document) (list []view.Fact) {
	all, place, what := doc.Summary, "summary", "fitted to all rows"
	if r.left != nil {
		all, place, what = map[string]any{}, "left_out_session.latency", "its session left out of the fit"
		for name, s := range doc.LeftSession["latency"] {
			all[name] = s
		}
	}
	for _, g := range [...]struct{ name, label string }{{"T0+T1", "Engine-dominated and mixed rows"}, {"all", "All rows"}} {
		if s, ok := all[g.name].(jsonSummary); ok {
			list = append(list, view.Fact{
				Label: g.label, Text: fmt.Sprintf("%.1f%%", s.Median), Name: place + "." + g.name + ".median_abs_pct", Value: s.Median,
				Note: fmt.Sprintf("median error of the time of %d rows, bias %+.1f%%, 90th percentile %.0f%%; %s", s.N, s.Bias, s.P90, what),
			})
		}
	}
	return list
}

// newNamedTable converts t to a table whose columns without a title have names, and whose other columns
// have numbers.
func newNamedTable(t pageTable) view.NamedTable {
	n := view.NamedTable{Title: t.Title}
	for _, h := range t.Head {
		n.Columns = append(n.Columns, view.Column{Title: h, Number: h != ""})
	}
	for _, row := range t.Rows {
		cells := make([]view.Cell, len(row))
		for i := range row {
			cells[i].Text = row[i]
		}
		n.Rows = append(n.Rows, cells)
	}
	return n
}

// newRowTable returns a table of all rows of doc.
func (r *Report) newRowTable(doc *Document) (t view.Table) {
	t.Columns = []view.Column{
		{Title: "row", Help: "its number in the published tables"}, {Title: "tier", Help: "how much of the time is the engine's, as published"}, {Title: "op", Help: "operation"},
		{Title: "chip", Help: "chip"}, {Title: "session", Help: "a machine with its software"},
		{Title: "state", Help: "a cold call took longer than the mean of a sustained loop"},
		{Title: "measured us", Help: "latency of a call", Number: true}, {Title: "sustained us", Help: "mean of a sustained loop", Number: true}, {Title: "model us", Help: "latency of a call", Number: true}, {Title: "error", Help: "of the model", Number: true},
		{Title: "low us", Help: "lower end of the " + hw.IntervalPercent + " interval", Number: true}, {Title: "high us", Help: "upper end of the " + hw.IntervalPercent + " interval", Number: true},
		{Title: "measured mJ", Help: "energy of a call", Number: true}, {Title: "model mJ", Help: "energy of a call", Number: true}, {Title: "energy error", Help: "of the model", Number: true},
		{Title: "source", Help: "where the row was published"},
	}
	cell := func(v *float64, format func(float64) string) view.Cell {
		if v == nil {
			return view.Cell{Text: "-"}
		}
		return view.Cell{Text: format(*v), Value: *v}
	}
	number := func(v *float64) view.Cell { return cell(v, formatNumber) }
	percent := func(v *float64) view.Cell {
		return cell(v, func(x float64) string { return fmt.Sprintf("%+.1f%%", x) })
	}
	for i := range doc.Rows {
		x := &doc.Rows[i]
		// Warm and cold compare a call with a sustained loop, so a row without a loop has no state.
		state := "warm"
		switch {
		case x.Cold:
			state = "cold call"
		case x.SustainedUs == nil:
			state = ""
		}
		// Without a measurement, the model's energy has nothing to be compared with.
		energy := new(x.ModelMJ)
		if x.MeasuredMJ == nil {
			energy = nil
		}
		t.Rows = append(t.Rows, []view.Cell{
			{Text: x.ID}, {Text: x.Tier}, {Text: x.Op}, {Text: x.Chip}, {Text: x.Session}, {Text: state},
			number(x.MeasuredUs), number(x.SustainedUs), number(&x.ModelUs), percent(x.ErrorPct), number(&x.ModelLowUs), number(&x.ModelHighUs),
			number(x.MeasuredMJ), number(energy), percent(x.EnergyError), {Text: r.Rows[i].Sample.Row.Source},
		})
	}
	return t
}

// newCoverageTables returns, for each protocol, a table of how many measurements lie within their
// prediction intervals.
func (r *Report) newCoverageTables() (list []pageTable) {
	for _, c := range r.listCoverages() {
		t := pageTable{"Measurements inside their interval" + c.what, []string{"", "", "n", "held", "share"}, nil}
		for _, x := range c.rows {
			t.Rows = append(t.Rows, []string{x.Property, x.Name, fmt.Sprint(x.N), fmt.Sprint(x.Holds), fmt.Sprintf("%.0f%%", 100*x.Share())})
		}
		list = append(list, t)
	}
	if len(r.works) > 0 {
		list = append(list, pageTable{"Work of the engine, the rows that cover it and its interval", []string{"", "rows", "low", "high"}, r.formatWorkRows()})
	}
	return list
}
