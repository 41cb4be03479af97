package terminal

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// A Pager prints tables and lines of text. If it prints to a terminal, it wraps long lines and
// indents their continuations. Otherwise it keeps lines whole, so that other tools can search them.
type Pager struct {
	W     io.Writer
	Width int   // of the terminal, 0 if there is none
	Err   error // the first error of the writer
}

// NewPager returns a pager that prints to w. It wraps lines if w is a terminal.
func NewPager(w io.Writer) *Pager { return &Pager{W: w, Width: Width(w)} }

// recordFirstError stores err in p.Err if p.Err is nil.
func (p *Pager) recordFirstError(err error) {
	if p.Err == nil {
		p.Err = err
	}
}

// Printf formats its arguments like fmt.Printf and prints the result as a line, wrapped to p.Width.
// If writing fails and p.Err is nil, it stores the error in p.Err.
func (p *Pager) Printf(format string, args ...any) {
	var line []byte // bytes, since appending to a string copies the line for every word
	used := 0
	flush := func() {
		_, err := fmt.Fprintf(p.W, "%s\n", line)
		p.recordFirstError(err)
	}
	// Each word keeps the spaces before it, so that aligned text stays aligned.
	text := fmt.Sprintf(format, args...)
	own := len(text) - len(strings.TrimLeft(text, " "))
	indent := strings.Repeat(" ", max(4, own+2)) // a continued line is further in than its first
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

// Whole prints a line without wrapping it. It is meant for text to copy, such as a command.
func (p *Pager) Whole(line string) {
	_, err := fmt.Fprintln(p.W, line)
	p.recordFirstError(err)
}

// Lines prints each string in list as a line, wrapped to p.Width.
func (p *Pager) Lines(list []string) {
	for _, line := range list {
		p.Printf("%s", line)
	}
}

// Table prints t, indented by the given number of spaces. Lines are at most as wide as the terminal
// or, if there is none, [PipeWidth] characters. Table then prints notes about omitted columns and
// shortened names.
func (p *Pager) Table(t *Table, indent int) {
	p.recordFirstError(t.Write(p.W, cmp.Or(p.Width, PipeWidth), indent))
	p.printOmissions(t, cmp.Or(p.Width, PipeWidth), PipeWidth, indent)
}

// printOmissions prints a note on the parts of t that do not fit in the given width. These are the
// beginnings of names and, on a terminal, the columns that would be printed to a pipe. The width of
// a pipe is pipe.
func (p *Pager) printOmissions(t *Table, width, pipe, indent int) {
	n, prefixes := t.countOmissions(width - indent)
	for _, s := range prefixes {
		p.Printf("%s(%s at the start of a name is %s)", strings.Repeat(" ", indent), dots, s)
	}
	if p.Width == 0 {
		return
	}
	if inPipe, _ := t.countOmissions(pipe - indent); n <= inPipe {
		return
	}
	noun := "columns"
	if n == 1 {
		noun = "column"
	}
	p.Printf("%s(%d %s left out to fit the terminal; | less -S shows more)", strings.Repeat(" ", indent), n, noun)
}

// WideTable prints t in the same way as [Pager.Table], but with all columns if there is no
// terminal.
func (p *Pager) WideTable(t *Table, indent int) {
	p.recordFirstError(t.Write(p.W, cmp.Or(p.Width, math.MaxInt), indent))
	p.printOmissions(t, cmp.Or(p.Width, math.MaxInt), math.MaxInt, indent)
}

// TableWithin prints t in the same way as [Pager.Table], but in at most width characters per line,
// even if the terminal is wider.
func (p *Pager) TableWithin(t *Table, width, indent int) {
	p.recordFirstError(t.Write(p.W, min(cmp.Or(p.Width, width), width), indent))
	p.printOmissions(t, min(cmp.Or(p.Width, width), width), width, indent)
}

// A Wrapper is a writer that wraps lines of text in the same way as a [Pager]. It keeps a line
// until it is complete, so the caller must call [Wrapper.Flush] at the end.
type Wrapper struct {
	pager *Pager
	line  []byte
}

// NewWrapper returns a Wrapper that wraps lines to width characters and writes them to w. If width
// is 0, it does not wrap lines.
func NewWrapper(w io.Writer, width int) *Wrapper { return &Wrapper{pager: &Pager{W: w, Width: width}} }

// Write writes the complete lines in b and keeps the rest for the next call. It returns the first
// error of the underlying writer.
func (w *Wrapper) Write(b []byte) (int, error) {
	w.line = append(w.line, b...)
	for {
		i := bytes.IndexByte(w.line, '\n')
		if i < 0 {
			return len(b), w.pager.Err
		}
		w.pager.Printf("%s", w.line[:i])
		w.line = w.line[i+1:]
	}
}

// Flush writes the last line if it has no line break yet. It returns the first error of the
// underlying writer.
func (w *Wrapper) Flush() error {
	if len(w.line) > 0 {
		w.pager.Printf("%s", w.line)
		w.line = nil
	}
	return w.pager.Err
}
