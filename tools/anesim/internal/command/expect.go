package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"anesim/internal/check"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
)

// An expectedList holds the expectations of one --expect flag.
type expectedList struct {
	file    string // "" if the flag has the expectation itself
	list    []check.Expectation
	byInput map[string][]int // indices in list
	used    []bool           // the expectations that belong to a model that was checked
}

// wrap returns an error that begins with the place of err in the command line or the file.
func (l *expectedList) wrap(err error) error {
	var e *check.ExpectationError
	switch {
	case !errors.As(err, &e):
		return input.InFile(l.file, err)
	case l.file == "":
		return usage.Errorf("--expect: %w", err)
	}
	return usage.Errorf("%s:%w", report.Printable(l.file), err)
}

// readExpectations reads the expectations of all --expect flags.
func (f *checkFlags) readExpectations() ([]expectedList, error) {
	var all []expectedList
	for _, text := range f.expect {
		var l expectedList
		if text == "" {
			return nil, usage.Errorf("--expect %q: want a FILE or an expectation, such as 'cycles<=600'", text)
		}
		if check.IsInline(text) {
			x, err := check.ParseExpectation(text)
			// An expectation has an operator in it, and a file's name can, too.
			if err != nil && isFileName(text) {
				return nil, l.wrap(fmt.Errorf("%w; for a file of this name, write .%c%s", err, filepath.Separator, text))
			}
			if err != nil {
				return nil, l.wrap(err)
			}
			l.list = []check.Expectation{x}
		} else {
			l.file = text
			file, err := os.Open(text)
			if err != nil {
				return nil, err
			}
			l.list, err = check.ReadExpectations(file)
			file.Close()
			if err != nil {
				return nil, l.wrap(err)
			}
		}
		l.byInput, l.used = map[string][]int{}, make([]bool, len(l.list))
		for i := range l.list {
			name := l.list[i].Input
			l.byInput[name] = append(l.byInput[name], i)
		}
		all = append(all, l)
	}
	return all, nil
}

// isFileName reports whether the argument of --expect, which is no expectation, seems to name a file.
func isFileName(text string) bool {
	ext := strings.ToLower(filepath.Ext(text))
	_, err := os.Stat(text)
	return err == nil || ext == ".csv" || ext == ".json"
}

// compareExpectations compares the entry e of model x with the expectations in all that are for
// every model or name x. A file can name x as the command line does, or by its path from the file.
func compareExpectations(all []expectedList, x *checkedModel, e *check.Entry) ([]check.Comparison, error) {
	var compared []check.Comparison
	for k := range all {
		l := &all[k]
		names := []string{"", x.name}
		if l.file != "" {
			names = append(names, filepath.ToSlash(pathRelativeToScript(l.file, x.name)))
		}
		slices.Sort(names)
		var at []int
		for _, name := range slices.Compact(names) {
			at = append(at, l.byInput[name]...)
		}
		slices.Sort(at)
		var own []check.Expectation
		for _, i := range at {
			l.used[i] = true
			own = append(own, l.list[i])
		}
		list, err := e.Expect(own)
		if err != nil {
			return nil, l.wrap(err)
		}
		for i := range list {
			list[i].Input = x.name
		}
		compared = append(compared, list...)
	}
	return compared, nil
}

// printComparisons prints a line for each comparison, and lines below it that explain a miss. It
// returns an error if an expectation was missed or none was compared.
func printComparisons(w io.Writer, all []expectedList, compared []check.Comparison) error {
	p := terminal.NewPager(w)
	missed := 0
	for i := range compared {
		c := &compared[i]
		verdict := "ok  "
		if !c.Passed {
			verdict = "FAIL"
			missed++
		}
		p.Printf("%s  %s: %s", verdict, report.Printable(c.Input), report.Printable(c.String()))
		for _, why := range c.Why {
			p.Printf("        %s", report.Printable(why))
		}
	}
	for k := range all {
		l := &all[k]
		// A file may serve several checks, so expectations of other inputs are no error, but a
		// misspelled input must show.
		others := 0
		for _, used := range l.used {
			if !used {
				others++
			}
		}
		if others > 0 {
			p.Printf("      %s: %s for other inputs, not compared", report.Printable(l.file), report.Plural(others, "expectation"))
		}
	}
	switch {
	// A check that compared nothing must not pass.
	case len(compared) == 0 && len(all) > 0:
		return errors.New("no expectation was compared: none is for these inputs")
	case missed > 0:
		return fmt.Errorf("%d of %s missed", missed, report.Plural(len(compared), "expectation"))
	// A reader that closes the pipe early, such as head, does not change the verdict.
	case p.Err != nil && !errors.Is(p.Err, syscall.EPIPE):
		return p.Err
	}
	return nil
}

// joinFailures returns an error with the text of both errors on one line, or the one that is not
// nil.
func joinFailures(a, b error) error {
	if a != nil && b != nil {
		return fmt.Errorf("%w, %w", a, b)
	}
	return cmp.Or(a, b)
}
