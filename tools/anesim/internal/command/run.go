package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/hw"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/output"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/text"
	"anesim/tools/anesim/internal/usage"
)

// runFlags holds the flags of every command that runs a model, and the files that the command reads
// and writes.
type runFlags struct {
	flags.Run
	plan    *outfile.Plan
	outputs output.Files // of --out, once they are in the plan
}

func runCommand(plan *outfile.Plan) *cobra.Command {
	f := runFlags{plan: plan}
	c := &cobra.Command{
		Use:   "run [FILE...]",
		Short: "Run a program: values, cycles, bytes, energy",
		Long: `Run loads a program, applies the register-init records, runs its descriptors and prints
a row per descriptor, and totals. Without FILE it runs the built-in program, a 64-to-64
linear layer with the identity as weights; - is standard input.

With --state, an output stays in device memory and becomes an input of the next call.
It starts with zeros or with the file given by --in. The report has the outputs of every
listed call, and the copies that state saves.

FILE is a hardware container (.hwx), a program of the Linux driver (.anec), a firmware
container (.anefw) or a bare __text chain. The format is detected from the content. A bare
chain has no weights and no ports: its memory is laid out from its descriptors, and its
weights are an input named "weights". To run a network, use anesim model.

If more than 65,536 descriptors are only timed, the table, --json and --html list the
first 4,096; the totals include the rest. --html and --pprof add the rest up by operation
and shape; --csv and --trace list all of them.

--bind sets a run-time parameter. FILE.params, in the same directory, lists the
parameters, their valid values, and the register fields and port sizes that depend on
them; anesim layer --over writes both files.

` + flags.IdleHelp + `

With --json, "power" lists the engine's power in watts over the wall time: idle, rails
off, wake, host, then each descriptor; peak_w is the maximum. A span of no time
("dispatch", if there is no host) has energy only. Several FILEs give several JSON
documents, one after the other.

` + profilesHelp,
		Example: `  anesim run
  anesim run model.hwx --timing-only --json
  anesim run model.hwx --in image=x.npy --out results/
  anesim run add.hwx --set PE.Cfg.OpMode=1
  anesim run mm.hwx --bind k=64
  anesim run decode.hwx --state cache_out=cache --repeat 64
  anesim run a.hwx b.hwx --csv > descriptors.csv
  anesim run model.hwx --timing-only --trace model.perfetto-trace
  cat model.hwx | anesim run -`,
		ValidArgsFunction: flags.CompleteProgram,
		RunE: func(c *cobra.Command, args []string) error {
			o, err := f.Options()
			if err != nil {
				return err
			}
			// A recording and a comparison with a baseline need every descriptor.
			o.Brief = f.Record == "" && f.HTMLBaseline == ""
			if len(args) == 0 {
				return f.run(c.OutOrStdout(), c.ErrOrStderr(), anesim.Identity(), o, printing{header: true, model: "builtin"})
			}
			if len(args) > 1 && (len(f.In) > 0 || f.Out != "" || f.Record != "" || f.HTML != "") {
				return usage.Errorf("--in, --out, --record and --html require a single FILE; found %d", len(args))
			}
			if len(args) > 1 && (f.Pprof != "" || f.Trace != "") {
				return usage.Errorf("--pprof and --trace require a single FILE; found %d", len(args))
			}
			return f.runFiles(c, args, o)
		},
	}
	f.Register(c.Flags())
	f.AllowMachines(c.Flags())
	flags.CompleteFlags(c)
	return c
}

// runFiles runs the programs in files, one after the other.
func (f *runFlags) runFiles(c *cobra.Command, files []string, o anesim.Options) error {
	return forEachFile(c, files, func(i int, file string) error {
		var open anesim.OpenOptions
		open.Program.InFile = o.Brief && !o.Values
		m, err := input.OpenModelWith(&open, file, c.InOrStdin())
		if err != nil {
			return err
		}
		if m.Kind() == anesim.KindNetwork {
			return usage.Errorf("%s is a network, not a compiled program; try anesim model %[1]s", report.Printable(file))
		}
		if err := f.plan.Read(input.ParametersFile(file)); err != nil {
			return err
		}
		if m, err = input.WithParameters(m, file); err != nil {
			return err
		}
		if i > 0 && !f.JSON && !f.CSV {
			fmt.Fprintln(c.OutOrStdout())
		}
		return f.run(c.OutOrStdout(), c.ErrOrStderr(), m, o, printing{file: file, several: len(files) > 1, header: i == 0, model: "file " + pathRelativeToScript(f.Record, file)})
	})
}

// forEachFile calls do for each file. It continues with the next file after an error, unless the
// error is about the command line.
func forEachFile(c *cobra.Command, files []string, do func(i int, file string) error) error {
	failed := 0
	for i, file := range files {
		err := do(i, file)
		switch {
		case err == nil:
		case len(files) == 1, errors.As(err, new(*usage.Error)):
			return err
		default:
			printError(c.ErrOrStderr(), err)
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files failed", failed, len(files))
	}
	return nil
}

// A printing describes the position of a report among others.
type printing struct {
	file    string   // file of the model, or ""
	several bool     // whether there are several reports
	header  bool     // whether to print the header row of CSV
	model   string   // source of the model in a recorded script
	written []string // files that the command has written already
}

// run executes a program or a layer and prints the report.
func (f *runFlags) run(stdout, stderr io.Writer, m *anesim.Model, o anesim.Options, how printing) error {
	ctx, stop := interrupt.Context()
	defer stop()
	if several, err := f.severalMachines(); err != nil {
		return err
	} else if several {
		return f.printMachines(ctx, stdout, m, o, how.file, func(res *anesim.Result, _ anesim.Options) error {
			return text.WriteRunSummary(stdout, res, report.NewRun(res), f.formatExplainOfRun(m, how))
		})
	}
	if err := f.planOutputs(m); err != nil {
		return err
	}
	var rows *report.RunCSV
	if f.CSV {
		rows = report.NewRunCSV(stdout, m.Name(), how.several, how.header)
		if !o.Values { // write rows during the run, so that none are kept
			var doc report.Descriptor
			o.Each = func(d *hw.DescriptorReport) {
				doc = report.NewDescriptor(d)
				rows.Descriptor(&doc)
			}
		}
	}
	bar := terminal.NewMeter(stderr)
	o.Progress = bar.Show
	res, err := m.Run(ctx, o)
	bar.End()
	if err != nil {
		if o.Each != nil {
			rows.Flush()
		}
		return input.ModelError(m, how.file, err)
	}
	if err := f.writeFiles(ctx, res, how); err != nil {
		return err
	}
	doc := report.NewRun(res)
	if f.Constants {
		doc.Constants = report.ConstantsOf(res)
	}
	if rows != nil {
		if o.Each == nil {
			for i := range doc.Descriptors {
				rows.Descriptor(&doc.Descriptors[i])
			}
		}
		rows.Repeat(doc.Descriptors, res.Report)
		err = rows.End()
	} else {
		err = f.writeReport(stdout, m, res, doc, how)
	}
	if err != nil {
		return err
	}
	if f.HTML != "" {
		if err := f.writeRunPage(ctx, res, doc, how.file); err != nil {
			return err
		}
	}
	if !f.JSON && !f.CSV {
		if err := printWritten(stdout, append(how.written, f.Out, f.Pprof, f.Trace, f.Record, f.HTML)...); err != nil {
			return err
		}
	}
	if faults := res.Report.Faults; len(faults) > 0 {
		return input.InFile(filepath.Base(m.Name()), fmt.Errorf("device fault: %v", faults[0]))
	}
	return nil
}

// planOutputs adds the files of --out to the plan, if that flag is set.
func (f *runFlags) planOutputs(m *anesim.Model) error {
	if f.Out == "" || f.outputs != nil {
		return nil
	}
	f.outputs = output.NewFiles(f.Out, m.OutputNames())
	return f.plan.Write("--out", f.outputs.Paths()...)
}

// writeFiles writes the outputs, the profiles and the recording that the flags name, if any.
func (f *runFlags) writeFiles(ctx context.Context, res *anesim.Result, how printing) error {
	if f.Out != "" {
		if err := f.outputs.Write(f.Out, res); err != nil {
			return err
		}
	}
	if err := f.writeProfiles(ctx, res, how.file); err != nil {
		return err
	}
	if f.Record == "" {
		return nil
	}
	return writeRunScript(f.Record, res, how.model)
}

// writeReport writes the report of a run as JSON or text.
func (f *runFlags) writeReport(w io.Writer, m *anesim.Model, res *anesim.Result, doc *report.Run, how printing) error {
	if f.JSON {
		return report.WriteDocument(w, doc)
	}
	if f.Precision {
		a := text.Accuracy{Name: doc.Program, Noun: "descriptor", Rows: doc.PrecisionRows(), Result: res}
		if f.Summary {
			return text.WriteAccuracySummary(w, &a)
		}
		if err := text.WritePrecision(w, doc.Program, a.Noun, a.Rows); err != nil {
			return err
		}
		return text.EndAccuracy(w, &a)
	}
	explain := f.formatExplainOfRun(m, how)
	if f.Summary {
		return text.WriteRunSummary(w, res, doc, explain)
	}
	return text.WriteRun(w, res, doc, text.RunOptions{Counters: f.Counters, Constants: f.Constants}, explain)
}

// formatExplainOfRun returns the explain command line for the model and the flags of the run. It
// returns "" for a model on standard input, or if explain has no flag for an option of the run.
func (f *runFlags) formatExplainOfRun(m *anesim.Model, how printing) string {
	options := f.newExplainOptions(how.file)
	switch {
	case f.hasUnexplainableOptions():
		return ""
	case m.Kind() == anesim.KindLayer:
		options.File, options.Flags = "--layer", slices.Insert(options.Flags, 0, m.Name())
	case how.file == "" || how.file == "-":
		return ""
	}
	return report.Printable(options.Command("explain"))
}
