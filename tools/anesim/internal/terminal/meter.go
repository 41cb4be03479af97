package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"anesim"
	"anesim/bench/report"
)

// progressPeriod is the least time between two looks of the meter.
const progressPeriod = 100 * time.Millisecond

// A Meter shows the progress of long work on a terminal, and nothing in a pipe. It is one
// line that is written over and taken away at the end; libraries for it bring a web server
// along, which takes longer to compile than the command.
type Meter struct {
	w     io.Writer // nil where nothing is shown
	what  string
	done  int
	total int
	last  time.Time // of the last look
	shown int       // columns on the terminal
}

func NewMeter(w io.Writer) *Meter {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		w = nil
	}
	return &Meter{w: w}
}

// Start shows work of so many steps.
func (m *Meter) Start(total int, what string) {
	m.what, m.done, m.total = report.Printable(what), 0, total
}

// Add counts steps.
func (m *Meter) Add(steps int) {
	m.done += steps
	m.look()
}

// Show is what a run's progress calls.
func (m *Meter) Show(p anesim.Progress) {
	m.what, m.done, m.total = p.Stage.String(), p.Done, p.Total
	m.look()
}

// look writes the line where it is time for it.
func (m *Meter) look() {
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

// End takes the meter off the terminal.
func (m *Meter) End() {
	if m.w != nil && m.shown > 0 {
		fmt.Fprintf(m.w, "\r%s\r", strings.Repeat(" ", m.shown))
		m.shown = 0
	}
}
