package command

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressPeriod is the least time between two looks of the meter.
const progressPeriod = 100 * time.Millisecond

// A meter shows the progress of long work on a terminal, and nothing in a pipe.
type meter struct{ bar *progressbar.ProgressBar }

func newMeter(w io.Writer, steps int, what string) meter {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return meter{}
	}
	return meter{progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionFullWidth(),
		progressbar.OptionThrottle(progressPeriod),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionEnableColorCodes(false),
	)}
}

// add counts steps; it may be called from several goroutines.
func (m meter) add(steps int) {
	if m.bar != nil {
		m.bar.Add(steps)
	}
}

// done takes the meter off the terminal.
func (m meter) done() {
	if m.bar != nil {
		m.bar.Finish()
	}
}
