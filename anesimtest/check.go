package anesimtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"anesim"
	"anesim/internal/check"
	"anesim/internal/outfile"
	"anesim/internal/report"
)

var update = flag.Bool("anesim.update", false, "write the baselines of anesimtest.Check instead of comparing results with them")

// TB declares the methods of [testing.TB] that [Check] uses.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Context() context.Context
}

// Check runs each model without computing values, and compares its costs with its entry in file, a
// baseline. It fails the test with an explanation if cycles, bytes or energy differ by more than
// the fraction tolerance, such as 0.01 for 1%. It also fails the test if a model cannot run, or if
// a layer of a network has no cost and the baseline does not list that layer as such.
//
// With the test flag -anesim.update, Check writes the costs to file instead of comparing them.
func Check(t TB, file string, tolerance float64, models ...*anesim.Model) {
	t.Helper()
	CheckOptions(t, file, tolerance, anesim.Options{}, models...)
}

// CheckOptions is like [Check] but runs the models with the options o. If o.Values is set, it also
// compares the checksums of the outputs, and fails the test if there are none to compare.
func CheckOptions(t TB, file string, tolerance float64, o anesim.Options, models ...*anesim.Model) {
	t.Helper()
	var entries []check.Entry // of an update
	base, err := readBaseline(file)
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	for _, m := range models {
		res, err := m.Run(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", m.Name(), err)
			return
		}
		if faults := res.Report.Faults; len(faults) > 0 {
			t.Fatalf("%s: device fault: %v", m.Name(), faults[0])
			return
		}
		e, err := check.NewEntry(res, m.Name())
		if err != nil {
			t.Fatalf("%s: %v", m.Name(), err)
			return
		}
		if *update {
			if line := report.Incomplete(e.NotModelled); line != "" {
				fmt.Fprintf(os.Stderr, "%s: %s\n", m.Name(), line)
			}
			if line := e.WithoutValues(); line != "" {
				fmt.Fprintf(os.Stderr, "%s: %s\n", m.Name(), line)
			}
			for _, note := range e.Relocations {
				fmt.Fprintf(os.Stderr, "%s: warning: %s\n", m.Name(), note)
			}
			entries = append(entries, e)
			continue
		}
		v := base.Check(&e, tolerance)
		if v.Passed() {
			continue
		}
		t.Errorf("%s: %s", m.Name(), v.Cause())
		for i := range v.Differences {
			d := &v.Differences[i]
			t.Errorf("%s: %v%s", m.Name(), d, formatReasonLines(d.Why))
		}
		if len(v.Differences) > 0 { // otherwise the cause has them
			for _, note := range v.Relocations {
				t.Errorf("%s: %s", m.Name(), note)
			}
		}
	}
	if *update {
		if err := updateBaseline(file, entries); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// updating guards the baselines that tests of this process write, on systems that cannot lock a
// directory.
var updating sync.Mutex

// updateBaseline adds entries to the baseline in the named file. It reads the file again, since tests
// that share it run in parallel, in this process and in others: go test runs packages at once.
func updateBaseline(file string, entries []check.Entry) error {
	updating.Lock()
	defer updating.Unlock()
	return outfile.Update(file, func(w io.Writer) error {
		base, err := readBaseline(file)
		if err != nil {
			return err
		}
		for _, e := range entries {
			base.Set(e)
		}
		return base.Write(w)
	})
}

// readBaseline reads the baseline in the named file. With -anesim.update, the file may be missing,
// and keeps the entries of other tests.
func readBaseline(file string) (*check.Baseline, error) {
	f, err := os.Open(file)
	switch {
	case *update && errors.Is(err, fs.ErrNotExist):
		return check.ReadToUpdate(nil)
	case err != nil:
		return nil, fmt.Errorf("%w; run with -anesim.update to write it", err)
	}
	defer f.Close()
	read := check.Read
	if *update {
		read = check.ReadToUpdate
	}
	b, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return b, nil
}

// formatReasonLines returns the reasons for a difference as text. Each reason is on a new line
// after a tab.
func formatReasonLines(why []string) string {
	if len(why) == 0 {
		return ""
	}
	return "\n\t" + strings.Join(why, "\n\t")
}
