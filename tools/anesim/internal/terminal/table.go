package terminal

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// PipeWidth is the largest width of a table, in characters, if the output is not a terminal.
const PipeWidth = 140

// Width returns the number of characters per line of the terminal w, or 0 if w is not a terminal.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// A Column describes a column of a [Table]. If the table is too wide, it omits the columns with the
// highest Order first and, of equal ones, the rightmost first. Columns of order 0 are never
// omitted.
type Column struct {
	Title string
	Order int
	Left  bool // aligned to the left, as text is
}

// Word returns a left-aligned column for text with the given Order; see [Column].
func Word(title string, order int) Column { return Column{title, order, true} }

// Number returns a right-aligned column for numbers with the given Order; see [Column].
func Number(title string, order int) Column { return Column{title, order, false} }

// A Table holds rows of text and prints them in aligned columns. The zero Table has no titles and
// aligns all cells to the left.
type Table struct {
	columns []Column
	rows    [][]string
}

// NewTable returns a table with the given columns and no rows.
func NewTable(columns ...Column) *Table { return &Table{columns: columns} }

// Numbers returns a table whose columns have the given titles, are right-aligned, and are never
// omitted.
func Numbers(titles ...string) *Table { return newTable(false, titles) }

// Words returns a table whose columns have the given titles, are left-aligned, and are never
// omitted.
func Words(titles ...string) *Table { return newTable(true, titles) }

func newTable(left bool, titles []string) *Table {
	t := new(Table)
	for _, title := range titles {
		t.columns = append(t.columns, Column{Title: title, Left: left})
	}
	return t
}

// Add appends a row to the table. If there are more cells than columns, it also adds untitled
// columns. If there are fewer, the remaining cells of the row are empty.
func (t *Table) Add(cells ...string) {
	for len(t.columns) < len(cells) {
		t.columns = append(t.columns, Column{Left: true})
	}
	t.rows = append(t.rows, cells)
}

// Rows returns the number of rows, excluding the line of titles.
func (t *Table) Rows() int { return len(t.rows) }

// Print writes the table with all its columns. Each line begins with indent spaces.
func (t *Table) Print(w io.Writer, indent int) error { return t.Write(w, math.MaxInt, indent) }

// Gap is the number of spaces between two columns.
const Gap = 2

// Write writes the table, with each line indented by indent spaces. It omits columns and shortens
// text to fit lines into width characters. If that is not enough, lines are longer than width. If
// all titles are empty, Write omits the line of titles.
func (t *Table) Write(w io.Writer, width, indent int) error {
	for _, line := range t.Lines(width, indent) {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// Lines returns the lines that [Table.Write] writes. They have no trailing spaces or line breaks.
func (t *Table) Lines(width, indent int) []string {
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.Title
	}
	rows := t.rows
	if strings.Join(titles, "") != "" {
		rows = slices.Insert(slices.Clone(rows), 0, titles)
	}
	widths := t.maxCellWidths(rows)
	if t.stripPrefixes(rows, widths, width-indent) != nil {
		widths = t.maxCellWidths(rows)
	}
	t.fitColumns(widths, width-indent)
	short := make([]map[string]string, len(widths))
	for i, width := range widths {
		if width != hidden {
			short[i] = shortenCells(rows, i, width)
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		lines[i] = t.formatRow(row, widths, short, indent)
	}
	return lines
}

// maxCellWidths returns, for each column, the width of its widest cell in rows.
func (t *Table) maxCellWidths(rows [][]string) []int {
	widths := make([]int, len(t.columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// leastPrefix is the least number of characters of a prefix that is worth leaving out.
const leastPrefix = 12

// stripPrefixes replaces the prefix that all cells of a text column share by dots if the table does
// not fit in width otherwise. It changes rows, whose first element is the line of titles. It
// returns the prefixes that it replaced.
func (t *Table) stripPrefixes(rows [][]string, widths []int, width int) (prefixes []string) {
	total := -Gap
	for _, n := range widths {
		total += n + Gap
	}
	if total <= width {
		return nil
	}
	for i, c := range t.columns {
		if !c.Left || len(rows) == len(t.rows) {
			continue
		}
		var cells []string
		for _, row := range t.rows {
			if i < len(row) {
				cells = append(cells, row[i])
			}
		}
		prefix := SharedPrefix(cells)
		if utf8.RuneCountInString(prefix) < leastPrefix || len(cells) < len(t.rows) || slices.Contains(cells, prefix) {
			continue
		}
		for k := 1; k < len(rows); k++ {
			rows[k] = slices.Clone(rows[k])
			rows[k][i] = dots + rows[k][i][len(prefix):]
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes
}

// Omitted returns the titles of the columns that the table omits to fit in width characters.
func (t *Table) Omitted(width int) []string {
	titles, _ := t.omissions(width)
	return titles
}

// countOmissions returns how many columns the table omits to fit in width characters. It also
// returns the prefixes of cells that the table replaces by dots.
func (t *Table) countOmissions(width int) (n int, prefixes []string) {
	omitted, prefixes := t.omissions(width)
	return len(omitted), prefixes
}

func (t *Table) omissions(width int) (omitted, prefixes []string) {
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.Title
	}
	rows := slices.Insert(slices.Clone(t.rows), 0, titles)
	widths := t.maxCellWidths(rows)
	if prefixes = t.stripPrefixes(rows, widths, width); prefixes != nil {
		widths = t.maxCellWidths(rows)
	}
	t.fitColumns(widths, width)
	for i, w := range widths {
		if w == hidden {
			omitted = append(omitted, titles[i])
		}
	}
	return omitted, prefixes
}

// hidden is the width of a column that is left out.
const hidden = -Gap

// fitColumns reduces the widths of the columns until the table fits in width characters. It first
// omits columns in the order that [Column] documents. It then shortens the widest column of text,
// to at least 8 characters.
func (t *Table) fitColumns(widths []int, width int) {
	total := -Gap
	for _, n := range widths {
		total += n + Gap
	}
	for total > width {
		drop := -1
		for i, c := range t.columns {
			if widths[i] != hidden && c.Order > 0 && (drop < 0 || c.Order >= t.columns[drop].Order) {
				drop = i
			}
		}
		if drop < 0 {
			break
		}
		total -= widths[drop] + Gap
		widths[drop] = hidden
	}
	// Shorten the widest text column if the table is still too wide.
	for total > width {
		widest := -1
		for i, c := range t.columns {
			if c.Left && widths[i] != hidden && (widest < 0 || widths[i] > widths[widest]) {
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

// formatRow returns a row as text with its cells padded to the given column widths. If short[i] has
// an entry for the cell in column i, formatRow prints that abbreviation instead.
func (t *Table) formatRow(row []string, widths []int, short []map[string]string, indent int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", indent))
	first := true
	for i, cell := range row {
		if widths[i] == hidden {
			continue
		}
		if !first {
			b.WriteString(strings.Repeat(" ", Gap))
		}
		first = false
		if s, ok := short[i][cell]; ok {
			cell = s
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.columns[i].Left {
			b.WriteString(cell + pad)
		} else {
			b.WriteString(pad + cell)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// dots replaces the part that is left out of a shortened text.
const dots = ".."

// Cut shortens s to at most width characters. If s is longer, it replaces the end of s by "..".
func Cut(s string, width int) string { return cutMiddle(s, width, 0, dots) }

// CutMiddle shortens s to at most width characters. If s is longer, it replaces the middle of s by
// "..".
func CutMiddle(s string, width int) string {
	return cutMiddle(s, width, max(0, width-len(dots))/2, dots)
}

// cutMiddle returns s if it has at most width characters. Otherwise it returns the beginning of s,
// mark, and the last tail characters of s, which together have width characters.
func cutMiddle(s string, width, tail int, mark string) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	r := []rune(s)
	head := max(0, width-tail-utf8.RuneCountInString(mark))
	return string(r[:head]) + mark + string(r[len(r)-tail:])
}

// SharedPrefix returns the longest prefix of all names that ends in a separator: "/", "_", "." or
// ":". It returns "" if there is no such prefix or there are fewer than two names.
func SharedPrefix(names []string) string {
	if len(names) < 2 {
		return ""
	}
	prefix := names[0]
	for _, s := range names[1:] {
		for !strings.HasPrefix(s, prefix) {
			_, size := utf8.DecodeLastRuneInString(prefix)
			prefix = prefix[:len(prefix)-size]
		}
	}
	return prefix[:strings.LastIndexAny(prefix, "/_.:")+1]
}

// shortenCells returns a short form for each cell in column i that has more than width characters,
// by the text of the cell. Names of layers often differ only at one end, so it tries several places
// to cut and chooses the one that keeps most cells distinct. Cells that are still equal get a
// number instead of dots.
func shortenCells(rows [][]string, i, width int) map[string]string {
	var long []string
	taken := make(map[string]bool) // what the column shows already
	for _, row := range rows {
		switch {
		case i >= len(row) || taken[row[i]]:
		case utf8.RuneCountInString(row[i]) > width:
			taken[row[i]] = true
			long = append(long, row[i])
		default:
			taken[row[i]] = true
		}
	}
	if long == nil {
		return nil
	}
	room := max(0, width-len(dots))
	shared := utf8.RuneCountInString(SharedPrefix(long))
	best, most := 0, -1
	for _, tail := range [...]int{room / 2, room * 3 / 4, room, room / 4, 0} {
		distinct := make(map[string]bool)
		for _, s := range long {
			distinct[cutMiddle(s, width, tail, dots)] = true
		}
		if len(distinct) > most {
			best, most = tail, len(distinct)
		}
	}
	short, equal := make(map[string]string), make(map[string]int)
	for _, s := range long {
		tail := best
		if rest := utf8.RuneCountInString(s) - shared; rest <= room {
			tail = max(tail, rest) // cut in the part that is alike
		}
		first := cutMiddle(s, width, tail, dots)
		x := first
		for taken[x] {
			equal[first]++
			mark := "~" + strconv.Itoa(equal[first]+1)
			x = cutMiddle(s, width, min(tail, max(0, width-len(mark))), mark)
		}
		taken[x], short[s] = true, x
	}
	return short
}
