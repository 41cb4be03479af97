package command

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// pipeWidth is the width of tables that go to no terminal.
const pipeWidth = 140

// widthOf is the columns of the terminal that w is, 0 where it is none.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// A column is one of a table's. Where the table is too wide, columns are left out, those of
// the highest order first and of the same the rightmost; those of order 0 stay.
type column struct {
	title string
	order int
	left  bool // text: numbers stand to the right
}

// A table is columns with rows of cells, aligned.
type table struct {
	columns []column
	rows    [][]string
}

// numbers returns a table with these titles whose cells are aligned to the right.
func numbers(titles ...string) *table { return alignedTable(false, titles) }

// words returns a table with these titles whose cells are aligned to the left.
func words(titles ...string) *table { return alignedTable(true, titles) }

func alignedTable(left bool, titles []string) *table {
	t := new(table)
	for _, title := range titles {
		t.columns = append(t.columns, column{title: title, left: left})
	}
	return t
}

// print prints the table with all its columns, however wide, indented.
func (t *table) print(w io.Writer, indent int) error { return t.write(w, math.MaxInt, indent) }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// gap is the spaces between two columns.
const gap = 2

// write prints the table in at most so many columns of a terminal, indented. The line of
// titles is left out if all are empty.
func (t *table) write(w io.Writer, width, indent int) error {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = utf8.RuneCountInString(c.title)
		for _, r := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	shown := make([]bool, len(t.columns))
	total := indent - gap
	for i := range shown {
		shown[i] = true
		total += widths[i] + gap
	}
	for total > width {
		drop := -1
		for i, c := range t.columns {
			if shown[i] && c.order > 0 && (drop < 0 || c.order >= t.columns[drop].order) {
				drop = i
			}
		}
		if drop < 0 {
			break
		}
		shown[drop] = false
		total -= widths[drop] + gap
	}
	// What is still too wide is cut from the widest column of text.
	for total > width {
		widest := -1
		for i, c := range t.columns {
			if shown[i] && c.left && (widest < 0 || widths[i] > widths[widest]) {
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
	var titles []string
	for _, c := range t.columns {
		titles = append(titles, c.title)
	}
	rows := t.rows
	if strings.Join(titles, "") != "" {
		rows = slices.Insert(slices.Clone(rows), 0, titles)
	}
	for _, row := range rows {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", indent))
		first := true
		for i, cell := range row {
			if !shown[i] {
				continue
			}
			if !first {
				b.WriteString(strings.Repeat(" ", gap))
			}
			first = false
			cell = cutTo(cell, widths[i])
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.columns[i].left {
				b.WriteString(cell + pad)
			} else {
				b.WriteString(pad + cell)
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// cutTo shortens text to a width, with dots at its end.
func cutTo(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	const dots = ".."
	return string([]rune(s)[:max(0, width-len(dots))]) + dots
}

// A pager prints tables and lines of words. On a terminal a line that is too long goes on
// indented; elsewhere lines are whole, so that other tools find what they look for.
type pager struct {
	w     io.Writer
	width int // of the terminal, 0 for none
	err   error
}

func newPager(w io.Writer) *pager { return &pager{w: w, width: widthOf(w)} }

func (p *pager) printf(format string, args ...any) {
	const indent = "    "
	var line []byte // not a string, which a long line would be copied for at every word
	used := 0
	flush := func() {
		if _, err := fmt.Fprintf(p.w, "%s\n", line); err != nil && p.err == nil {
			p.err = err
		}
	}
	// Runs of spaces are kept: what stands between two words goes with the second.
	text := fmt.Sprintf(format, args...)
	for len(text) > 0 {
		end := len(text) - len(strings.TrimLeft(text, " "))
		if n := strings.IndexByte(text[end:], ' '); n >= 0 {
			end += n
		} else {
			end = len(text)
		}
		word := text[:end]
		text = text[end:]
		if n := utf8.RuneCountInString(word); p.width > 0 && used > 0 && used+n > p.width {
			flush()
			word = indent + strings.TrimLeft(word, " ")
			line, used = append(line[:0], word...), utf8.RuneCountInString(word)
		} else {
			line, used = append(line, word...), used+n
		}
	}
	flush()
}

func (p *pager) table(t *table, indent int) {
	if err := t.write(p.w, cmp.Or(p.width, pipeWidth), indent); err != nil && p.err == nil {
		p.err = err
	}
}
