package command

import (
	"context"
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
	if f.JSON || f.CSV || f.HTML != "" || f.Pprof != "" || f.Trace != "" || f.Out != "" || f.Record != "" || f.Precision {
		return false, usage.Errorf("--machine %s: several machines print one table, without --json, --csv, --html, --pprof, --trace, --out, --record and --precision", f.Machine)
	}
	return true, nil
}

// printMachines times m on each machine of --machine and prints a table.
func (f *runFlags) printMachines(ctx context.Context, w io.Writer, m *anesim.Model, o anesim.Options, file string) error {
	o.Values, o.Progress = false, nil
	var results []*anesim.Result
	for _, name := range f.Machines() {
		if err := f.SetMachine(&o, name); err != nil {
			return err
		}
		res, err := m.Run(ctx, o)
		if err != nil {
			return input.InFile(file, err)
		}
		results = append(results, res)
	}
	return text.WriteMachines(w, results)
}
