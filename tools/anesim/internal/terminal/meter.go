package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"anesim"
	"anesim/internal/report"
)

// progressPeriod is the shortest time between two updates of a meter.
const progressPeriod = 100 * time.Millisecond

// A Meter shows the progress of long work on a terminal, on a single line that it erases at the
// end. If the output is not a terminal, a Meter prints nothing.
type Meter struct {
	w     io.Writer // nil if w is not a terminal
	what  string
	done  int
	total int
	last  time.Time // of the last update
	shown int       // length of the line on the terminal
}

// NewMeter returns a meter that prints to w if w is a terminal, and prints nothing otherwise.
func NewMeter(w io.Writer) *Meter {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		w = nil
	}
	return &Meter{w: w}
}

// Start begins a task of total steps. The meter shows the name next to the progress.
func (m *Meter) Start(total int, name string) {
	m.what, m.done, m.total = report.Printable(name), 0, total
}

// Add adds to the number of finished steps. It redraws the line at most every 0.1 s.
func (m *Meter) Add(steps int) {
	m.done += steps
	m.rewriteLine()
}

// Show sets the progress of a run to p, and redraws the line at most every 0.1 s. It can be used as
// [anesim.Options.Progress].
func (m *Meter) Show(p anesim.Progress) {
	m.what, m.done, m.total = p.Stage.String(), p.Done, p.Total
	m.rewriteLine()
}

// rewriteLine rewrites the line of the meter. It does nothing if less than progressPeriod has
// passed since it last did so.
func (m *Meter) rewriteLine() {
	now := time.Now()
	if m.w == nil || now.Sub(m.last) < progressPeriod {
		return
	}
	m.last = now
	line := fmt.Sprintf("%s %d/%d (%.0f%%)", m.what, m.done, m.total, report.Percent(uint64(m.done), uint64(m.total)))
	if width := Width(m.w); width > 0 {
		line = Cut(line, width-1)
	}
	fmt.Fprintf(m.w, "\r%s%s", line, strings.Repeat(" ", max(0, m.shown-len(line))))
	m.shown = len(line)
}

// End erases the meter's line from the terminal.
func (m *Meter) End() {
	if m.w != nil && m.shown > 0 {
		fmt.Fprintf(m.w, "\r%s\r", strings.Repeat(" ", m.shown))
		m.shown = 0
	}
}
