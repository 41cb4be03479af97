package command

import (
	"context"
	"fmt"
	"io"

	"anesim"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/text"
	"anesim/tools/anesim/internal/usage"
)

// severalMachines reports whether --machine names more than one machine. It returns an error if another
// flag wants a report of a single one.
func (f *runFlags) severalMachines() (bool, error) {
	if len(f.Machines()) < 2 {
		return false, nil
	}
	if f.JSON || f.CSV || f.HTML != "" || f.Pprof != "" || f.Trace != "" || f.Out != "" || f.Record != "" || f.Precision || f.Counters || f.Constants {
		return false, usage.Errorf("--machine %s: several machines print one table of calls, or with --summary a summary each: without --json, --csv, --html, --pprof, --trace, --out, --record, --precision, --counters and --constants", f.Machine)
	}
	return true, nil
}

// printMachines times m on each machine of --machine and prints a table or, with --summary, calls
// summarize for each. Meanwhile, --machine names that machine alone, as in the commands that a
// summary has.
func (f *runFlags) printMachines(ctx context.Context, w io.Writer, m *anesim.Model, o anesim.Options, file string, summarize func(*anesim.Result, anesim.Options) error) error {
	o.Values, o.Progress = false, nil
	all := f.Machine
	defer func() { f.Machine = all }()
	var results []*anesim.Result
	for i, name := range f.Machines() {
		if err := f.SetMachine(&o, name); err != nil {
			return err
		}
		f.Machine = name
		res, err := m.Run(ctx, o)
		if err != nil {
			return input.InFile(file, err)
		}
		if !f.Summary {
			results = append(results, res)
			continue
		}
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := summarize(res, o); err != nil {
			return err
		}
	}
	if f.Summary {
		return nil
	}
	return text.WriteMachines(w, results)
}
