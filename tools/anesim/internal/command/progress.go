package command

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"anesim"
)

// progressPeriod is the least time between two looks of the meter.
const progressPeriod = 100 * time.Millisecond

// A meter shows the progress of long work on a terminal, and nothing in a pipe.
type meter struct {
	w     io.Writer // nil where nothing is shown
	bar   *progressbar.ProgressBar
	stage anesim.Stage
}

func newMeter(w io.Writer) *meter {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		w = nil
	}
	return &meter{w: w}
}

// start shows a bar of so many steps.
func (m *meter) start(steps int, what string) {
	if m.w == nil {
		return
	}
	m.done()
	m.bar = progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(m.w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionFullWidth(),
		progressbar.OptionThrottle(progressPeriod),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionEnableColorCodes(false),
	)
}

// add counts steps.
func (m *meter) add(steps int) {
	if m.bar != nil {
		m.bar.Add(steps)
	}
}

// show is what a run's progress calls.
func (m *meter) show(p anesim.Progress) {
	if m.w == nil {
		return
	}
	if m.bar == nil || m.stage != p.Stage {
		m.stage = p.Stage
		m.start(p.Total, p.Stage.String())
	}
	m.bar.Set(p.Done)
}

// done takes the meter off the terminal.
func (m *meter) done() {
	if m.bar != nil {
		m.bar.Finish()
		m.bar = nil
	}
}
