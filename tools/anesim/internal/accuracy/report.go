package accuracy

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"anesim/bench"
	"anesim/hw"
	"anesim/internal/measured"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// A Report compares the model with measured rows. For the built-in rows, it also has errors from
// cross-validation: those of predicting each row with constants that were fitted without it.
type Report struct {
	*bench.Accuracy
	left      []*bench.Accuracy // by protocol; nil for rows from a file
	spreads   *bench.Spreads
	bands     []bench.EngineBand // nil for rows from a file
	works     []bench.WorkBand   // nil for rows from a file
	intervals []bench.Interval   // one per row
}

// New returns a report on the given measured rows. If builtin is true, these must be the built-in
// rows, and the report includes the errors from cross-validation; see [Report].
func New(rows []measured.Row, builtin bool) (*Report, error) {
	a, err := bench.Compare(rows, bench.DefaultPresets())
	if err != nil {
		return nil, err
	}
	r := &Report{Accuracy: a}
	if r.spreads, err = bench.NewSpreads(); err != nil {
		return nil, err
	}
	for i := range a.Rows {
		// By shape: the question for a row is how far off the model is for a shape that it has not seen.
		row := &a.Rows[i]
		r.intervals = append(r.intervals, r.spreads.Of(row.Sample.Row, row.Time.Model, bench.ByShape))
	}
	// Other rows are not in the fit, so their errors are of unseen rows already.
	if !builtin {
		return r, nil
	}
	if r.bands, err = bench.EngineBands(); err != nil {
		return nil, err
	}
	if r.works, err = bench.WorkBands(); err != nil {
		return nil, err
	}
	errs, err := bench.LeftOuts()
	if err != nil {
		return nil, err
	}
	for _, by := range bench.Protocols() {
		left, err := a.LeftOut(errs, by)
		if err != nil {
			return nil, err
		}
		r.left = append(r.left, left)
	}
	return r, nil
}

// A table is a title with the groups of an accuracy that appear below it.
type table struct {
	title  string
	groups func(*bench.Accuracy) []bench.Group
	left   bool // whether left-out fits have these groups, too
}

func listTables() []table {
	return []table{
		{"latency by tier", func(a *bench.Accuracy) []bench.Group { return a.Tiers }, true},
		{"latency by operation", func(a *bench.Accuracy) []bench.Group { return a.Ops }, true},
		{"latency by session", func(a *bench.Accuracy) []bench.Group { return a.Sessions }, true},
		{"latency by the length of a call", func(a *bench.Accuracy) []bench.Group { return a.Sizes }, true},
		{"latency by state", func(a *bench.Accuracy) []bench.Group { return a.States }, true},
		{"energy", func(a *bench.Accuracy) []bench.Group { return a.Energy }, true},
		{"latency by the roofline", func(a *bench.Accuracy) []bench.Group { return a.Roofline }, false},
		{"latency by the columns of Apple's cost dump", func(a *bench.Accuracy) []bench.Group { return a.Columns }, false},
		{"latency by Apple's estimate", func(a *bench.Accuracy) []bench.Group { return a.Vendor }, false},
	}
}

// Write writes the report as text. It consists of summaries and, if rows is true, a line for every
// measured row.
func (r *Report) Write(w io.Writer, rows bool) error {
	r.writeLegend(w)
	if rows {
		if err := r.writeRowTable(w); err != nil {
			return err
		}
	}
	for _, t := range listTables() {
		if len(t.groups(r.Accuracy)) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", t.title)
		if err := r.writeGroupTable(w, &t); err != nil {
			return err
		}
	}
	if r.left != nil {
		// With cross-validation the tables above have errors of unseen rows. The errors of the fit to all
		// rows come last, to show how much of them is only that fit.
		fitted := table{"latency, fitted to all rows", func(a *bench.Accuracy) []bench.Group { return a.Tiers }, false}
		fmt.Fprintf(w, "\n%s\n", fitted.title)
		if err := r.writeGroupTable(w, &fitted); err != nil {
			return err
		}
	}
	for _, c := range r.listCoverages() {
		fmt.Fprintf(w, "\nmeasurements inside their interval%s\n", c.what)
		t := terminal.NewTable(terminal.Word("", 0), terminal.Word("", 0), terminal.Number("", 0), terminal.Number("", 0))
		property := ""
		for _, x := range c.rows {
			// A property has several rows; it is printed in the first.
			first := x.Property
			if first == property {
				first = ""
			}
			property = x.Property
			t.Add(first, x.Name, fmt.Sprintf("%d of %d", x.Holds, x.N), fmt.Sprintf("%.0f%%", 100*x.Share()))
		}
		if err := t.Print(w, 0); err != nil {
			return err
		}
	}
	if err := r.writeWorkKinds(w); err != nil {
		return err
	}
	if len(r.Unmodelled) > 0 {
		fmt.Fprintln(w, "\nnot modelled")
	}
	for _, err := range r.Unmodelled {
		fmt.Fprintf(w, "  %v\n", err)
	}
	return nil
}

// writeLegend writes the result in a sentence, and the meaning of each column of the tables.
func (r *Report) writeLegend(w io.Writer) {
	if r.left != nil {
		all := findGroup(r.left[bench.BySession].Tiers, "all")
		fmt.Fprintf(w, "On machines that the fit has not seen, the time of a call is off by %s\n(median; bias %+.1f%%), nine of ten by at most %s.\n",
			formatPercent(all.Median), 100*all.Bias, formatShort("%.*f%%", all.P90))
	}
	fmt.Fprintf(w, "%s modelled, %d not\n", report.Plural(len(r.Rows), "row"), len(r.Unmodelled))
	fmt.Fprint(w, `
median, p90  median and 90th percentile of the errors' magnitudes
bias         median of the errors with their signs; below 0: times too short
≤17%         share of rows with an error of at most 17%
T0, T1, T2   the engine takes most of the time, much of it, little of it
`)
	if r.left != nil {
		fmt.Fprint(w, `unseen       fitted without the row's session (a machine with its software), or
             without all rows of its shape
`)
	}
}

// formatWorkRows returns the rows of a table with, for each kind of work, the number of measured
// rows and the bounds of their errors.
func (r *Report) formatWorkRows() (rows [][]string) {
	for i := range r.works {
		x := &r.works[i]
		rows = append(rows, []string{x.Work.String(), strconv.Itoa(x.Rows), formatBound(x.Low), formatBound(x.High)})
	}
	return rows
}

// formatNumber formats v with four significant digits, such as "0.1235", "98.7" or "13,800".
func formatNumber(v float64) string {
	x, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err == nil && x >= 1000 && x < 1<<53 {
		return report.Thousands(uint64(x))
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// formatBound formats a bound of measured over estimated time as a change in percent, such as
// "-16%". It first rounds the bound to four digits, like the constant that other reports use.
func formatBound(v float64) string {
	if x, err := strconv.ParseFloat(fmt.Sprintf("%.4g", v), 64); err == nil {
		v = x
	}
	return fmt.Sprintf("%+.0f%%", 100*(v-1))
}

// writeWorkKinds writes a line for each kind of work, with the number of measured rows that cover
// it and its interval.
func (r *Report) writeWorkKinds(w io.Writer) error {
	if len(r.works) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nwork of the engine, the rows that cover it and its interval\n")
	t := terminal.NewTable(terminal.Word("", 0), terminal.Number("rows", 0), terminal.Number("low", 0), terminal.Number("high", 0))
	for _, row := range r.formatWorkRows() {
		t.Add(row...)
	}
	return t.Print(w, 0)
}

// writeGroupTable writes a table of groups, at most 80 characters wide: with columns for fits that had
// not seen a row's session or its shape or, if there are none, for the fit to all rows.
func (r *Report) writeGroupTable(w io.Writer, x *table) error {
	columns := []terminal.Column{terminal.Word("", 0), terminal.Number("n", 0)}
	var fits []*bench.Accuracy
	var titles []string
	add := func(a *bench.Accuracy, title string) {
		fits, titles = append(fits, a), append(titles, title)
		columns = append(columns, terminal.Number("median", 0), terminal.Number("bias", 0), terminal.Number("p90", 0), terminal.Number("≤17%", 0))
	}
	if x.left && r.left != nil {
		add(r.left[bench.BySession], "unseen session")
		add(r.left[bench.ByShape], "unseen shape")
		columns = columns[:len(columns)-1] // two shares would be wider than a terminal
	} else {
		add(r.Accuracy, "fitted to all")
	}
	t := terminal.NewTable(columns...)
	for _, g := range x.groups(r.Accuracy) {
		row := []string{g.Name, strconv.Itoa(g.N)}
		for _, a := range fits {
			s := findGroup(x.groups(a), g.Name)
			row = append(row, formatShort("%.*f%%", s.Median), formatShort("%+.*f%%", s.Bias), formatShort("%.*f%%", s.P90), fmt.Sprintf("%.0f%%", 100*s.Near))
		}
		t.Add(row[:len(columns)]...)
	}
	lines := t.Lines(math.MaxInt, 0)
	if len(fits) > 1 {
		ends := findTitleEnds(lines[0])
		over := ""
		for i, title := range titles {
			end := ends[3+4*i] // that of its p90
			over += fmt.Sprintf("%*s", end-utf8.RuneCountInString(over), title)
		}
		lines = slices.Insert(lines, 0, over)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// formatShort formats a share in percent, with one decimal below 10%.
func formatShort(format string, share float64) string {
	decimals := 0
	if v := math.Abs(100 * share); v < 9.95 {
		decimals = 1
	}
	return fmt.Sprintf(format, decimals, 100*share)
}

func formatPercent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// findTitleEnds returns, for each word in a line of titles, the column that follows its last
// character.
func findTitleEnds(line string) (ends []int) {
	column := 0
	for field := range strings.FieldsSeq(line) {
		column += strings.Index(line, field)
		line = line[strings.Index(line, field)+len(field):]
		column += utf8.RuneCountInString(field)
		ends = append(ends, column)
	}
	return ends
}

func findGroup(list []bench.Group, name string) bench.Summary {
	if i := slices.IndexFunc(list, func(g bench.Group) bool { return g.Name == name }); i >= 0 {
		return list[i].Summary
	}
	return bench.Summary{}
}

// A coverage says how many measurements lie in their intervals under one protocol, by tier, session,
// machine, kind of work and length of the call.
type coverage struct {
	key  string // in JSON
	what string // end of the title, such as ", the row's shape left out"
	rows []bench.Coverage
}

// listCoverages returns the coverage of each left-out fit and of the engine's part, or a single
// coverage for rows from a file.
func (r *Report) listCoverages() (list []coverage) {
	add := func(a *bench.Accuracy, by bench.Protocol, what string) {
		if rows := r.spreads.Coverage(a, by); len(rows) > 0 {
			list = append(list, coverage{by.String(), what, rows})
		}
	}
	if r.left == nil {
		add(r.Accuracy, bench.ByShape, "")
	}
	for i, by := range bench.Protocols()[:len(r.left)] {
		add(r.left[i], by, fmt.Sprintf(", with the row's %v left out of the fit", by))
	}
	var engine, kind []bench.Coverage
	for _, b := range r.bands {
		if b.Kind == bench.Unmeasured {
			kind = append(kind, b.Holds)
		} else {
			engine = append(engine, b.Holds)
		}
	}
	if len(engine) > 0 {
		list = append(list, coverage{"engine", ": engine's part, with the row's session left out", engine})
		list = append(list, coverage{bench.ByKind.String(), ": engine's part as for work without rows, with the row's kind and operation left out", kind})
	}
	return list
}

// writeRowTable writes a table of all rows. On a terminal, it omits columns that exceed the width.
func (r *Report) writeRowTable(w io.Writer) error {
	p := terminal.NewPager(w)
	p.Printf("")
	// The numbers are the order in which columns go if the terminal is narrow: measured and modelled time
	// and the error stay.
	t := terminal.NewTable(
		terminal.Number("row", 0), terminal.Number("tier", 4), terminal.Number("op", 0), terminal.Number("chip", 4), terminal.Number("session", 3), terminal.Number("state", 4),
		terminal.Number("latency us", 0), terminal.Number("sustained us", 4), terminal.Number("model us", 0), terminal.Number("error", 0), terminal.Number(hw.IntervalPercent+" interval us", 1),
		terminal.Number("measured mJ", 2), terminal.Number("model mJ", 2), terminal.Number("error", 2),
	)
	for i := range r.Rows {
		x, in := &r.Rows[i], r.intervals[i]
		s := x.Sample
		latency, sustained, miss, state := "-", "-", "-", ""
		if x.Time.Reference > 0 {
			latency, miss = formatNumber(s.Row.Latency), fmt.Sprintf("%+.1f%%", 100*x.Time.Error())
		}
		if s.Row.Sustained > 0 {
			sustained, state = formatNumber(s.Row.Sustained), "warm"
		}
		if s.Row.Cold() {
			state = "cold"
		}
		measured, model, off := "-", "-", "-"
		if x.Energy.Reference > 0 {
			measured, model = formatNumber(x.Energy.Reference/1e6), formatNumber(x.Energy.Model/1e6)
			off = fmt.Sprintf("%+.1f%%", 100*x.Energy.Error())
		}
		t.Add(s.Row.ID, fmt.Sprint(s.Row.Tier), fmt.Sprint(s.Row.Op), s.Chip, s.Session, state, latency, sustained,
			formatNumber(x.Time.Model/1e3), miss, formatNumber(in.Low/1e3)+"-"+formatNumber(in.High/1e3), measured, model, off)
	}
	p.WideTable(t, 0)
	return p.Err
}

// splitUnmodelledError splits the error for a row that is not modelled into the ID of the row and
// the reason.
func splitUnmodelledError(err error) jsonUnmodelled {
	var u *bench.UnmodelledError
	if errors.As(err, &u) {
		return jsonUnmodelled{u.Row, u.What}
	}
	row, what, _ := strings.Cut(strings.TrimPrefix(err.Error(), "row "), ": ")
	return jsonUnmodelled{row, what}
}
