package terminal

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// PipeWidth is the width of tables that go to no terminal.
const PipeWidth = 140

// Width returns the columns of the terminal that w is, 0 where it is none.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// A Column is one of a table's. Where the table is too wide, columns are left out, those of
// the highest order first and of the same the rightmost; those of order 0 stay.
type Column struct {
	Title string
	Order int
	Left  bool // text: numbers stand to the right
}

// Word returns a column of text.
func Word(title string, order int) Column { return Column{title, order, true} }

// Number returns a column of numbers.
func Number(title string, order int) Column { return Column{title, order, false} }

// A Table is columns with rows of cells, aligned. The zero table is text without titles.
type Table struct {
	columns []Column
	rows    [][]string
}

// NewTable returns a table of these columns.
func NewTable(columns ...Column) *Table { return &Table{columns: columns} }

// Numbers returns a table with these titles whose cells are aligned to the right.
func Numbers(titles ...string) *Table { return aligned(false, titles) }

// Words returns a table with these titles whose cells are aligned to the left.
func Words(titles ...string) *Table { return aligned(true, titles) }

func aligned(left bool, titles []string) *Table {
	t := new(Table)
	for _, title := range titles {
		t.columns = append(t.columns, Column{Title: title, Left: left})
	}
	return t
}

// Add adds a row, a cell for each column. Cells behind the last column make one of text, without
// a title; cells that are left out are empty.
func (t *Table) Add(cells ...string) {
	for len(t.columns) < len(cells) {
		t.columns = append(t.columns, Column{Left: true})
	}
	t.rows = append(t.rows, cells)
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return len(t.rows) }

// Print prints the table with all its columns, however wide, indented.
func (t *Table) Print(w io.Writer, indent int) error { return t.Write(w, math.MaxInt, indent) }

// Gap is the spaces between two columns.
const Gap = 2

// Write prints the table in at most so many columns of a terminal, indented. The line of
// titles is left out if all are empty.
func (t *Table) Write(w io.Writer, width, indent int) error {
	for _, line := range t.Lines(width, indent) {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// Lines returns what Write prints, without blanks at the ends.
func (t *Table) Lines(width, indent int) []string {
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.Title
	}
	rows := t.rows
	if strings.Join(titles, "") != "" {
		rows = slices.Insert(slices.Clone(rows), 0, titles)
	}
	widths := make([]int, len(t.columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	t.fit(widths, width-indent)
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = t.line(row, widths, indent)
	}
	return lines
}

// left is the width of a column that is left out.
const left = -Gap

// fit makes columns fit a width: it leaves some out, and cuts those of text.
func (t *Table) fit(widths []int, width int) {
	total := -Gap
	for _, n := range widths {
		total += n + Gap
	}
	for total > width {
		drop := -1
		for i, c := range t.columns {
			if widths[i] != left && c.Order > 0 && (drop < 0 || c.Order >= t.columns[drop].Order) {
				drop = i
			}
		}
		if drop < 0 {
			break
		}
		total -= widths[drop] + Gap
		widths[drop] = left
	}
	// What is still too wide is cut from the widest column of text.
	for total > width {
		widest := -1
		for i, c := range t.columns {
			if c.Left && widths[i] != left && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		const least = 8
		if widest < 0 || widths[widest] <= least {
			break
		}
		cut := min(total-width, widths[widest]-least)
		widths[widest] -= cut
		total -= cut
	}
}

// line is a row whose cells are as wide as their columns.
func (t *Table) line(row []string, widths []int, indent int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", indent))
	first := true
	for i, cell := range row {
		if widths[i] == left {
			continue
		}
		if !first {
			b.WriteString(strings.Repeat(" ", Gap))
		}
		first = false
		cell = Cut(cell, widths[i])
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.columns[i].Left {
			b.WriteString(cell + pad)
		} else {
			b.WriteString(pad + cell)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Cut shortens text to a width, with dots at its end.
func Cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	const dots = ".."
	return string([]rune(s)[:max(0, width-len(dots))]) + dots
}
