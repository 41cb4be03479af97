package accuracy

import (
	"fmt"
	"path/filepath"
	"strings"

	"anesim/bench"
	"anesim/hw"
	"anesim/internal/outfile"
)

// A pageTable is a table of text cells for a page or for Markdown.
type pageTable struct {
	Title string
	Head  []string
	Rows  [][]string
}

// A markdown collects the tables and figures of a report in Markdown.
type markdown struct {
	Modelled, Unmodelled int
	Tables               []pageTable
	Times, Errors        []byte // SVG
}

func (r *Report) newMarkdown() (*markdown, error) {
	p := &markdown{Modelled: len(r.Rows), Unmodelled: len(r.Unmodelled)}
	for _, x := range listTables() {
		if len(x.groups(r.Accuracy)) > 0 {
			p.Tables = append(p.Tables, r.newPageTable(&x))
		}
	}
	p.Tables = append(p.Tables, r.newCoverageTables()...)
	p.Tables = append(p.Tables, r.newRowsTable())
	var err error
	p.Times, p.Errors, err = r.Pictures()
	return p, err
}

// newPageTable returns a table of groups with columns for the fit to all rows and for each left-out
// fit.
func (r *Report) newPageTable(x *table) pageTable {
	t := pageTable{Title: strings.ToUpper(x.title[:1]) + x.title[1:], Head: []string{"", "n"}}
	fits := []*bench.Accuracy{r.Accuracy}
	names := []string{"fitted to all"}
	if x.left && r.left != nil {
		fits = append(fits, r.left...)
		for _, by := range bench.Protocols() {
			names = append(names, by.String()+" left out")
		}
	}
	for _, n := range names {
		t.Head = append(t.Head, n+": median", "bias", "p90")
	}
	for _, g := range x.groups(r.Accuracy) {
		row := []string{g.Name, fmt.Sprint(g.N)}
		for _, a := range fits {
			s := findGroup(x.groups(a), g.Name)
			row = append(row, fmt.Sprintf("%.1f%%", 100*s.Median), fmt.Sprintf("%+.1f%%", 100*s.Bias), fmt.Sprintf("%.1f%%", 100*s.P90))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// newRowsTable returns a table of all rows, each with its source.
func (r *Report) newRowsTable() pageTable {
	t := pageTable{Title: "Rows", Head: []string{"row", "operation", "session", "latency us", "sustained us", "model us", hw.IntervalPercent + " interval us", "its rows", "measured mJ", "model mJ", "source"}}
	number := func(v float64) string {
		if v == 0 {
			return ""
		}
		return formatNumber(v)
	}
	for i := range r.Rows {
		x, in := &r.Rows[i], r.intervals[i]
		row := x.Sample.Row
		sustained := number(row.Sustained)
		if row.Cold() {
			sustained += " (cold call)"
		}
		t.Rows = append(t.Rows, []string{
			row.ID, row.Op, x.Sample.Session, number(row.Latency), sustained, number(x.Time.Model / 1e3),
			formatNumber(in.Low/1e3) + " to " + formatNumber(in.High/1e3), fmt.Sprint(in.Rows), number(row.Energy), number(x.Energy.Model / 1e6), row.Source,
		})
	}
	return t
}

// Suffixes of the names of the figures of a Markdown file.
const (
	timesSuffix  = "-times.svg"
	errorsSuffix = "-errors.svg"
)

// Figures returns the names of the figures that [Report.WriteMarkdown] writes next to the named
// file: for report.md, these are report-times.svg and report-errors.svg.
func Figures(name string) []string {
	base := strings.TrimSuffix(name, filepath.Ext(name))
	return []string{base + timesSuffix, base + errorsSuffix}
}

// WriteMarkdown writes the report as Markdown to the named file, and its two plots to the files that
// [Figures] names. If it fails, all files keep their old contents.
func (r *Report) WriteMarkdown(name string) error {
	p, err := r.newMarkdown()
	if err != nil {
		return err
	}
	return p.writeFiles(name)
}

// writeFiles writes the Markdown file, and its figures to SVG files next to it.
func (p *markdown) writeFiles(name string) error {
	figures := Figures(name)
	var b strings.Builder
	fmt.Fprintf(&b, "# The model against measured rows\n\n%d rows modelled, %d not. Errors are absolute.\n", p.Modelled, p.Unmodelled)
	for i, what := range [...]string{"Times, model against measurement", "Errors by the length of a call"} {
		fmt.Fprintf(&b, "\n![%s](%s)\n", what, filepath.Base(figures[i]))
	}
	cells := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	line := func(list []string) {
		for _, c := range list {
			b.WriteString("| " + cells.Replace(c) + " ")
		}
		b.WriteString("|\n")
	}
	for _, t := range p.Tables {
		fmt.Fprintf(&b, "\n## %s\n\n", t.Title)
		line(t.Head)
		b.WriteString(strings.Repeat("|---", len(t.Head)) + "|\n")
		for _, row := range t.Rows {
			line(row)
		}
	}
	contents := [...][]byte{p.Times, p.Errors, []byte(b.String())}
	return outfile.WriteAll(append(figures, name), func(i int) []byte { return contents[i] })
}
