package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Pager prints tables and lines of words. On a terminal a line that is too long goes on
// indented; elsewhere lines are whole, so that other tools find what they look for.
type Pager struct {
	W     io.Writer
	Width int   // of the terminal, 0 for none
	Err   error // the first of the writer
}

// NewPager returns a pager that prints on w.
func NewPager(w io.Writer) *Pager { return &Pager{W: w, Width: Width(w)} }

// keep remembers the first error.
func (p *Pager) keep(err error) {
	if p.Err == nil {
		p.Err = err
	}
}

// Printf prints a line of words.
func (p *Pager) Printf(format string, args ...any) {
	const indent = "    "
	var line []byte // not a string, which a long line would be copied for at every word
	used := 0
	flush := func() {
		_, err := fmt.Fprintf(p.W, "%s\n", line)
		p.keep(err)
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
		if n := utf8.RuneCountInString(word); p.Width > 0 && used > 0 && used+n > p.Width {
			flush()
			word = indent + strings.TrimLeft(word, " ")
			line, used = append(line[:0], word...), utf8.RuneCountInString(word)
		} else {
			line, used = append(line, word...), used+n
		}
	}
	flush()
}

// Whole prints a line that is not taken apart.
func (p *Pager) Whole(line string) {
	_, err := fmt.Fprintln(p.W, line)
	p.keep(err)
}

// Lines prints lines of words.
func (p *Pager) Lines(list []string) {
	for _, line := range list {
		p.Printf("%s", line)
	}
}

// Table prints a table as wide as the terminal, indented.
func (p *Pager) Table(t *Table, indent int) {
	p.keep(t.Write(p.W, cmp.Or(p.Width, PipeWidth), indent))
}

// TableWithin prints a table in at most so many columns of the terminal, indented.
func (p *Pager) TableWithin(t *Table, width, indent int) {
	p.keep(t.Write(p.W, min(cmp.Or(p.Width, width), width), indent))
}
