package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/bench/report"
	"anesim/hw"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/output"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/text"
	"anesim/tools/anesim/internal/usage"
)

// runFlags are the flags of every command that runs a model, with what the commands make of them.
type runFlags struct{ flags.Run }

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [FILE...]",
		Short: "Run a program: values, cycles, bytes, energy",
		Long: `Run loads a program, applies the register-init records, walks its descriptors and
prints a table per descriptor with totals. Without FILE it runs the built-in program,
a 64-to-64 linear layer with the identity as weights; - is standard input.

With --state an output stays in device memory and is an input of the next dispatch: it
starts at zero, or at what --in gives. The report has the outputs of every listed dispatch,
and the copies that state saves.

FILE is a hardware container (.hwx) or a bare __text chain. A bare chain has no
weights and no ports of its own: its memory is laid out from its descriptors, and its
weights are an input like any other ("weights"). Networks are run by anesim model.

Of more than 65,536 descriptors that are only timed, the table, --json and --html list the
first 4,096; the rest are in every total. --html and --pprof add the rest up by operation
and shape; --csv and --trace have all of them.

--bind gives a run-time parameter a value. FILE.params, which is read where it stands beside
FILE, says which there are, what they may be, and the register fields and port sizes that
follow them; anesim layer --over writes both.

` + flags.IdleHelp + `

With --json, "power" lists the engine's power from start to end of the wall time, in
watts: idle, rails off, wake, host, then each descriptor; peak_w is its highest. A span
of no time ("dispatch", where no host is named) has energy alone. Several FILEs give as
many JSON documents, one after the other.

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
		ValidArgsFunction: flags.ProgramFiles,
		RunE: func(c *cobra.Command, args []string) error {
			o, err := f.Options()
			if err != nil {
				return err
			}
			// A recording has every descriptor, as has a baseline to hold a page against.
			o.Brief = f.Record == "" && f.HTMLBaseline == ""
			if len(args) == 0 {
				return f.run(c.OutOrStdout(), c.ErrOrStderr(), anesim.Identity(), o, printing{header: true, model: "builtin"})
			}
			if len(args) > 1 && (len(f.In) > 0 || f.Out != "" || f.Record != "" || f.HTML != "") {
				return usage.Errorf("--in, --out, --record and --html require a single FILE, not %d", len(args))
			}
			if len(args) > 1 && (f.Pprof != "" || f.Trace != "") {
				return usage.Errorf("--pprof and --trace require a single FILE, not %d", len(args))
			}
			return f.runFiles(c, args, o)
		},
	}
	f.Register(c.Flags())
	flags.CompleteFlags(c)
	return c
}

// runFiles runs programs one after the other.
func (f *runFlags) runFiles(c *cobra.Command, files []string, o anesim.Options) error {
	return eachFile(c, files, func(i int, file string) error {
		var open anesim.OpenOptions
		open.Program.InFile = o.Brief && !o.Values
		m, err := input.OpenModelWith(&open, file, c.InOrStdin())
		if err != nil {
			return err
		}
		if m.Kind() == anesim.KindNetwork {
			return usage.Errorf("%s is a network: anesim model %[1]s", report.Printable(file))
		}
		if m, err = input.WithParameters(m, file); err != nil {
			return err
		}
		if i > 0 && !f.JSON && !f.CSV {
			fmt.Fprintln(c.OutOrStdout())
		}
		return f.run(c.OutOrStdout(), c.ErrOrStderr(), m, o, printing{file: file, several: len(files) > 1, header: i == 0, model: "file " + besideOf(f.Record, file)})
	})
}

// eachFile does something with files one after the other. One that fails does not keep
// the others from being done, unless it is the command line that is wrong.
func eachFile(c *cobra.Command, files []string, do func(i int, file string) error) error {
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

// printing says how a report stands among others.
type printing struct {
	file    string // that the model was read from, "" for none
	several bool   // there are others
	header  bool   // this one has the CSV's first row
	model   string // what a script's model line says it is
}

// run executes a program or a layer and prints the report.
func (f *runFlags) run(stdout, stderr io.Writer, m *anesim.Model, o anesim.Options, how printing) error {
	ctx, stop := flags.Interruptible()
	defer stop()
	var rows *report.RunCSV
	if f.CSV {
		rows = report.NewRunCSV(stdout, m.Name(), how.several, how.header)
		if !o.Values { // rows are written as the run goes on: nothing of them is kept
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
		return input.ModelError(m, err)
	}
	if f.Out != "" {
		if err := output.Write(f.Out, res, f.OtherFiles(how.file)); err != nil {
			return err
		}
	}
	if err := f.writeProfiles(ctx, res, how.file); err != nil {
		return err
	}
	if f.Record != "" {
		if err := recordRun(f.Record, res, how.model); err != nil {
			return err
		}
	}
	doc := report.NewRun(res)
	if f.Constants {
		doc.Constants = report.ConstantsOf(res)
	}
	switch {
	case f.JSON:
		err = report.WriteDocument(stdout, doc)
	case f.CSV:
		for i := range doc.Descriptors {
			if o.Each == nil {
				rows.Descriptor(&doc.Descriptors[i])
			}
		}
		rows.Repeat(doc.Descriptors, res.Report)
		err = rows.End()
	default:
		if err = text.WriteRun(stdout, res, doc, text.RunOptions{Counters: f.Counters, Constants: f.Constants}); err == nil {
			err = writeExplainHint(stdout, m, how)
		}
	}
	if err != nil {
		return err
	}
	if f.HTML != "" {
		if err := f.writeRunPage(ctx, res, doc, how.file); err != nil {
			return err
		}
	}
	if faults := res.Report.Faults; len(faults) > 0 {
		return input.InFile(filepath.Base(m.Name()), fmt.Errorf("device fault: %v", faults[0]))
	}
	return nil
}

// writeExplainHint says how to find out what to change.
func writeExplainHint(w io.Writer, m *anesim.Model, how printing) error {
	what := report.Printable(how.file)
	switch {
	case m.Kind() == anesim.KindLayer:
		what = fmt.Sprintf("--layer %q", m.Name())
	case how.file == "" || how.file == "-":
		return nil
	}
	_, err := fmt.Fprintf(w, "what to change: anesim explain %s\n", what)
	return err
}
