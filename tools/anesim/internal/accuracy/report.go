package accuracy

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"anesim/bench"
	"anesim/bench/measured"
	"anesim/bench/report"
	"anesim/hw"
	"anesim/tools/anesim/internal/terminal"
)

// A Report is an accuracy with what left-out fits make of its rows.
type Report struct {
	*bench.Accuracy
	left      []*bench.Accuracy // by protocol; nil for rows of a file
	spreads   *bench.Spreads
	bands     []bench.EngineBand // nil for rows of a file
	works     []bench.WorkBand   // nil for rows of a file
	intervals []bench.Interval   // of the rows
}

// New compares the model with rows. Of the built-in ones it has the errors of left-out fits, too.
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
		row := &a.Rows[i]
		r.intervals = append(r.intervals, r.spreads.Of(row.Sample.Row, row.Time.Model, bench.ByShape))
	}
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

// A table is groups under a title.
type table struct {
	title  string
	groups func(*bench.Accuracy) []bench.Group
	left   bool // whether left-out fits have it too
}

func tables() []table {
	return []table{
		{"latency by tier", func(a *bench.Accuracy) []bench.Group { return a.Tiers }, true},
		{"latency by operation", func(a *bench.Accuracy) []bench.Group { return a.Ops }, true},
		{"latency by session", func(a *bench.Accuracy) []bench.Group { return a.Sessions }, true},
		{"latency by state", func(a *bench.Accuracy) []bench.Group { return a.States }, true},
		{"energy", func(a *bench.Accuracy) []bench.Group { return a.Energy }, true},
		{"latency by the roofline", func(a *bench.Accuracy) []bench.Group { return a.Roofline }, false},
		{"latency by the columns of the vendor's cost dump", func(a *bench.Accuracy) []bench.Group { return a.Columns }, false},
		{"latency by the vendor compiler's estimate", func(a *bench.Accuracy) []bench.Group { return a.Vendor }, false},
	}
}

// Write writes the report for people, with every row if rows.
func (r *Report) Write(w io.Writer, rows bool) error {
	fmt.Fprintf(w, "%s modelled, %d not\n", report.Plural(len(r.Rows), "row"), len(r.Unmodelled))
	if rows {
		r.writeRows(w)
	}
	for _, t := range tables() {
		if len(t.groups(r.Accuracy)) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", t.title)
		if err := r.writeTable(w, &t); err != nil {
			return err
		}
	}
	for _, c := range r.coverages() {
		fmt.Fprintf(w, "\nmeasurements that their interval holds%s\n", c.what)
		t := terminal.Numbers("", "", "")
		for _, x := range c.rows {
			t.Add(x.Name, fmt.Sprintf("%d of %d", x.Holds, x.N), fmt.Sprintf("%.0f %%", 100*x.Share()))
		}
		if err := t.Print(w, 2*terminal.Gap); err != nil {
			return err
		}
	}
	if err := r.writeWorks(w); err != nil {
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

// worksCells are the table of what rows cover, as text.
func (r *Report) worksCells() (rows [][]string) {
	for i := range r.works {
		x := &r.works[i]
		rows = append(rows, []string{x.Work.String(), strconv.Itoa(x.Rows), fmt.Sprintf("%+.0f %%", 100*(x.Low-1)), fmt.Sprintf("%+.0f %%", 100*(x.High-1))})
	}
	return rows
}

func (r *Report) writeWorks(w io.Writer) error {
	if len(r.works) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nwork of the engine, the rows that cover it and its interval\n")
	t := terminal.Numbers("", "rows", "low", "high")
	for _, row := range r.worksCells() {
		t.Add(row...)
	}
	return t.Print(w, 2*terminal.Gap)
}

// writeTable writes groups, with left-out fits side by side.
func (r *Report) writeTable(w io.Writer, x *table) error {
	left := r.left
	if !x.left {
		left = nil
	}
	over := []string{"", "", "fitted to all", "", "", "left out: shape", "", "", "session", "", ""}
	titles := []string{"", "n"}
	for range len(left) + 1 {
		titles = append(titles, "median", "p90", "within 17 %")
	}
	t := terminal.Numbers(make([]string, len(titles))...)
	if left != nil {
		t.Add(over...)
	}
	t.Add(titles...)
	for _, g := range x.groups(r.Accuracy) {
		row := []string{g.Name, strconv.Itoa(g.N)}
		for _, a := range slices.Concat([]*bench.Accuracy{r.Accuracy}, left) {
			s := groupNamed(x.groups(a), g.Name)
			row = append(row, fmt.Sprintf("%.1f %%", 100*s.Median), fmt.Sprintf("%.1f %%", 100*s.P90), fmt.Sprintf("%.0f %%", 100*s.Near))
		}
		t.Add(row...)
	}
	lines := t.Lines(math.MaxInt, 2*terminal.Gap)
	for _, line := range lines { // the first ends where its last group of columns does
		if _, err := fmt.Fprintf(w, "%-*s\n", len(lines[1]), line); err != nil {
			return err
		}
	}
	return nil
}

func groupNamed(list []bench.Group, name string) bench.Summary {
	if i := slices.IndexFunc(list, func(g bench.Group) bool { return g.Name == name }); i >= 0 {
		return list[i].Summary
	}
	return bench.Summary{}
}

// A coverage is what intervals hold, one fold left out: by tier, then by session.
type coverage struct {
	key  string // in JSON
	what string // after a comma
	rows []bench.Coverage
}

// coverages are those of left-out fits, or of the rows of a file.
func (r *Report) coverages() (list []coverage) {
	add := func(a *bench.Accuracy, by bench.Protocol, what string) {
		tiers, sessions := r.spreads.Coverage(a, by)
		if rows := slices.Concat(tiers, sessions); len(rows) > 0 {
			list = append(list, coverage{by.String(), what, rows})
		}
	}
	if r.left == nil {
		add(r.Accuracy, bench.ByShape, "")
	}
	for i, by := range bench.Protocols()[:len(r.left)] {
		add(r.left[i], by, fmt.Sprintf(", the row's %v left out", by))
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
		list = append(list, coverage{"engine", " of the engine's part, as run and model print it, the row's session left out", engine})
		list = append(list, coverage{bench.ByKind.String(), " of the engine's part, as for work that no row covers, the row's kind left out", kind})
	}
	return list
}

func (r *Report) writeRows(w io.Writer) {
	fmt.Fprintln(w)
	t := terminal.Numbers("row", "tier", "op", "chip", "session", "state", "latency us", "sustained us", "model us", "error",
		hw.IntervalPercent+" interval us", "measured mJ", "model mJ", "error")
	for i := range r.Rows {
		x, in := &r.Rows[i], r.intervals[i]
		s := x.Sample
		latency, sustained, miss, state := "-", "-", "-", ""
		if x.Time.Reference > 0 {
			latency, miss = fmt.Sprintf("%.4g", s.Row.Latency), fmt.Sprintf("%+.1f %%", 100*x.Time.Error())
		}
		if s.Row.Sustained > 0 {
			sustained, state = fmt.Sprintf("%.4g", s.Row.Sustained), "warm"
		}
		if s.Row.Cold() {
			state = "cold"
		}
		measured, model, off := "-", "-", "-"
		if x.Energy.Reference > 0 {
			measured, model = fmt.Sprintf("%.4g", x.Energy.Reference/1e6), fmt.Sprintf("%.4g", x.Energy.Model/1e6)
			off = fmt.Sprintf("%+.1f %%", 100*x.Energy.Error())
		}
		t.Add(s.Row.ID, fmt.Sprint(s.Row.Tier), fmt.Sprint(s.Row.Op), s.Chip, s.Session, state, latency, sustained,
			fmt.Sprintf("%.4g", x.Time.Model/1e3), miss, fmt.Sprintf("%.4g-%.4g", in.Low/1e3, in.High/1e3), measured, model, off)
	}
	t.Print(w, terminal.Gap)
}

// unmodelledOf is a row that no chain is built for, for JSON.
func unmodelledOf(err error) jsonUnmodelled {
	var u *bench.UnmodelledError
	if errors.As(err, &u) {
		return jsonUnmodelled{u.Row, u.What}
	}
	row, what, _ := strings.Cut(strings.TrimPrefix(err.Error(), "row "), ": ")
	return jsonUnmodelled{row, what}
}
