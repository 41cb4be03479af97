package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/internal/check"
	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/usage"
)

// checkFlags holds the flags of check: those of run that change a model's cost, and those for the
// baseline.
type checkFlags struct {
	runFlags
	flags.Dims
	baseline string
	most     string
	update   bool
	junit    string
	layers   []string
	expect   []string
	values   bool
	lint     bool
}

func checkCommand(plan *outfile.Plan) *cobra.Command {
	f := checkFlags{runFlags: runFlags{plan: plan}}
	c := &cobra.Command{
		Use:   "check (--baseline FILE | --expect FILE) INPUT...",
		Short: "Compare the cost of models with a baseline or with given numbers",
		Long: `Check runs programs, networks and layers and compares their cycles, time, energy, bytes and
Apple's estimate with a baseline: in total, by layer and by descriptor and, with
--values, the checksums of outputs. A check with --values fails if the baseline has no
checksums. --max allows a measure to differ by a share of the
baseline's value. Differences are printed, those of the total first, with the causes and
registers that explain them, and the exit status is 1. So it is for a program whose
weight addresses lack relocations, unless they did in the baseline. With --lint, the findings of anesim lint are failures, too.

--update writes the baseline instead. The file is sorted JSON with a line per descriptor,
suitable for version control. It contains the tool's version and the hash of its
constants, so that a change of anesim can be distinguished from a change of the program.

--expect compares with numbers from elsewhere: a file, or an expectation such as
'cycles<=600' or 'time_ns@conv1=590+-2%', where the text after @ is a descriptor or a layer.
A file is CSV or JSON with measure, value and optionally input (a path from the file, or
the words of --layer), descriptor (a number, a layer or total) and tolerance (2%, <= or >=).
What it does not list is not compared.

A network with layers that have no cost is INCOMPLETE: its totals leave them out. --update
says so and lists these layers in the baseline. A check of such a network fails unless
exactly the layers that the baseline lists have no cost.`,
		Example: `  anesim check --baseline perf.json --update model.hwx net.onnx
  anesim check --baseline perf.json --max 2% model.hwx net.onnx
  anesim check --baseline perf.json --layer "conv cin=64 h=28 w=28 cout=64 k=3 pad=1" --junit report.xml
  anesim check --expect compiler.csv --expect 'dma_bytes<=2e6' model.hwx`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	s := c.Flags()
	s.SortFlags = false
	s.StringVar(&f.baseline, "baseline", "", "`FILE` of the baseline")
	s.StringVar(&f.most, "max", "0%", "allowed difference as a `SHARE` of the baseline, like 2%")
	s.StringArrayVar(&f.layers, "layer", nil, "check a layer, `\"OP key=value...\"`; repeatable")
	s.StringArrayVar(&f.expect, "expect", nil, "compare with a `FILE` of numbers or with one, 'cycles<=600'; repeatable")
	s.BoolVar(&f.update, "update", false, "write the baseline")
	s.StringVar(&f.junit, "junit", "", "also write the verdicts to `FILE` as JUnit XML")
	s.BoolVar(&f.values, "values", false, "compute values and compare the checksums of outputs")
	s.BoolVar(&f.lint, "lint", false, "also look for mistakes, as anesim lint does")
	f.Dims.Register(s)
	f.RegisterOnly(s, "chip", "machine", "clock", "target", "in", "seed", "gate-tiles", "set", "init")
	return c
}

// parseShare parses the argument of --max, such as "2%" or "0.02".
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1e6) {
		return 0, usage.Errorf("--max %q: want a share of 0 or more, like 2%%", text)
	}
	if !percent && v > 1 {
		return 0, usage.Errorf("--max %s means %g%%: write %[1]s%% or %[3]g instead", strings.TrimSpace(number), 100*v, v/100)
	}
	return v, nil
}

// A checkedModel is a model with its names on the command line and in the baseline.
type checkedModel struct {
	name, entry string
	model       *anesim.Model
}

// findEntryName returns the name of a file's entry in a baseline. It is the path relative to the
// baseline file, with slashes, so that the check works from any directory. In older baselines,
// names are as on the command line; findEntryName returns such a name if it is the only match.
func findEntryName(b *check.Baseline, baseline, file string) string {
	if file == "-" || baseline == "" {
		return file
	}
	name := escapeInvalidUTF8(filepath.ToSlash(pathRelativeToScript(baseline, file)))
	if b.Has(file) && !b.Has(name) {
		return file
	}
	return name
}

// escapeInvalidUTF8 returns name with each byte that is not part of UTF-8 in the form \xNN, since
// JSON can hold no other text.
func escapeInvalidUTF8(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var b strings.Builder
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, name[0])
		} else {
			b.WriteString(name[:n])
		}
		name = name[n:]
	}
	return b.String()
}

// openModels opens all models that the command line names.
func (f *checkFlags) openModels(c *cobra.Command, base *check.Baseline, files []string) ([]checkedModel, error) {
	var list []checkedModel
	seen := map[string]bool{}
	add := func(name, entry string, m *anesim.Model) error {
		if seen[entry] {
			return usage.Errorf("duplicate model %s", report.Printable(name))
		}
		seen[entry] = true
		list = append(list, checkedModel{name, entry, m})
		return nil
	}
	for _, file := range files {
		m, err := f.Dims.Open(anesim.OpenOptions{}, file, files, c.InOrStdin())
		if err != nil {
			return nil, err
		}
		if err := f.plan.Read(m.Files()...); err != nil {
			return nil, err
		}
		entry := findEntryName(base, f.baseline, file)
		// An update also renames an entry that an older version named as on the command line.
		if f.update && entry == file && file != "-" {
			entry = escapeInvalidUTF8(filepath.ToSlash(pathRelativeToScript(f.baseline, file)))
		}
		if err := add(file, entry, m); err != nil {
			return nil, err
		}
	}
	for _, words := range f.layers {
		m, err := input.ParseLayer(strings.Fields(words))
		if err != nil {
			return nil, err
		}
		// Spaces between the words of a layer do not make another layer.
		name := strings.Join(strings.Fields(words), " ")
		if err := add(name, name, m); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, usage.Errorf("missing models; want programs, networks, or layers with --layer")
	}
	return list, nil
}

func (f *checkFlags) run(c *cobra.Command, files []string) error {
	switch {
	case f.baseline == "" && len(f.expect) == 0:
		return usage.Errorf("missing --baseline FILE or --expect")
	case f.baseline == "" && (f.update || f.values || c.Flags().Changed("max")):
		return usage.Errorf("--update, --values and --max need --baseline FILE")
	case f.update && len(f.expect) > 0:
		return usage.Errorf("--expect and --update are mutually exclusive: an update compares nothing")
	}
	if f.update && f.junit != "" {
		return usage.Errorf("--junit and --update are mutually exclusive: an update has no verdicts")
	}
	most, err := parseShare(f.most)
	if err != nil {
		return err
	}
	f.TimingOnly, f.Repeat = !f.values, 1
	o, err := f.Options()
	if err != nil {
		return err
	}
	if f.lint && len(o.Overrides) > 0 {
		return usage.Errorf("cannot combine --lint with --set: lint reads the registers of the file; anesim patch --set writes them to a file")
	}
	// All files are read before the first run, so that a mistake in one of them costs no time.
	base := new(check.Baseline)
	if f.baseline != "" {
		if base, err = readBaseline(f.baseline, f.update); err != nil {
			return input.InFile(f.baseline, err)
		}
	}
	expected, err := f.readExpectations()
	if err != nil {
		return err
	}
	models, err := f.openModels(c, base, files)
	if err != nil {
		return err
	}
	ignoreSIGPIPE()
	var verdicts []check.Verdict
	var entries []check.Entry
	var compared []check.Comparison
	var linted []jsonLintedProgram
	ctx, stop := interrupt.Context()
	defer stop()
	for _, x := range models {
		res, err := x.runModel(ctx, o)
		if err != nil {
			return err
		}
		if f.lint {
			list, err := lintRunPrograms(x.name, res)
			if err != nil {
				return err
			}
			linted = append(linted, list...)
		}
		e, err := check.NewEntry(res, x.entry)
		if err != nil {
			return input.InFile(x.name, err)
		}
		if f.update {
			// The baseline has the notes, and later checks accept them.
			for _, note := range e.Relocations {
				fmt.Fprintf(c.ErrOrStderr(), "%s: warning: %s\n", x.name, note)
			}
			if line := report.Incomplete(e.NotModelled); line != "" {
				fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", x.name, line)
			}
			// A baseline without any value would make every later check with --values fail.
			line := e.WithoutValues()
			if len(e.Outputs) == 0 && line != "" {
				return input.InFile(x.name, fmt.Errorf("--values: %s", line))
			}
			if line != "" {
				fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", x.name, line)
			}
			entries = append(entries, e)
			continue
		}
		list, err := compareExpectations(expected, &x, &e)
		if err != nil {
			return err
		}
		compared = append(compared, list...)
		if f.baseline == "" {
			// No baseline accepts what is wrong with the program by itself.
			if len(e.Relocations) > 0 {
				verdicts = append(verdicts, check.Verdict{Input: x.name, Relocations: e.Relocations})
			}
			continue
		}
		v := base.Check(&e, most)
		v.Input = x.name
		verdicts = append(verdicts, v)
	}
	if f.update {
		err = f.writeBaseline(c.OutOrStdout(), models, entries)
	} else {
		// The report for CI is written before anything is printed: a closed stdout must not lose it.
		if f.junit != "" {
			if err := writeJUnit(f.junit, verdicts, compared, linted); err != nil {
				return err
			}
		}
		err = joinFailures(printVerdicts(c.OutOrStdout(), verdicts, most), printComparisons(c.OutOrStdout(), expected, compared))
	}
	if f.lint {
		if e := writeFindings(c.OutOrStdout(), linted); e != nil && !errors.Is(e, syscall.EPIPE) {
			return e
		}
		err = cmp.Or(err, newLintError(linted))
	}
	return err
}

// ignoreSIGPIPE makes writes to a closed stdout or stderr fail with EPIPE, so that they no longer
// end the process. A check must still exit with its verdict if a command such as head cuts its
// output.
func ignoreSIGPIPE() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// runModel runs the model with the options o. If the device faults, it returns an error.
func (x *checkedModel) runModel(ctx context.Context, o anesim.Options) (*anesim.Result, error) {
	res, err := x.model.Run(ctx, o)
	if err != nil {
		return nil, input.ModelError(x.model, x.name, err)
	}
	if faults := res.Report.Faults; len(faults) > 0 {
		return nil, input.InFile(x.name, fmt.Errorf("device fault: %v", faults[0]))
	}
	return res, nil
}

// readBaseline reads the named baseline. If update is true, the file may be missing; see
// [check.ReadToUpdate].
func readBaseline(name string, update bool) (*check.Baseline, error) {
	file, err := os.Open(name)
	switch {
	case update && errors.Is(err, fs.ErrNotExist):
		return check.ReadToUpdate(nil)
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New(`no such baseline; run "anesim check --update" to write it`)
	case err != nil:
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > check.MaxBytes {
		return nil, fmt.Errorf("file has %d bytes; want at most %d", info.Size(), check.MaxBytes)
	}
	if update {
		return check.ReadToUpdate(file)
	}
	return check.Read(file)
}

// writeBaseline adds entries, one for each model, to the baseline file, and prints a line to w with
// their number. It reads the file again, since other processes may have changed it during the runs.
func (f *checkFlags) writeBaseline(w io.Writer, models []checkedModel, entries []check.Entry) error {
	var b *check.Baseline
	err := outfile.Update(f.baseline, func(w io.Writer) (err error) {
		if b, err = readBaseline(f.baseline, true); err != nil {
			return input.InFile(f.baseline, err)
		}
		for i := range entries {
			if name := entries[i].Input; !b.Has(name) {
				b.Rename(models[i].name, name) // older baselines have the name of the command line
			}
			b.Set(entries[i])
		}
		return b.Write(w)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "wrote %s to %s, which has %d now\n", report.Plural(len(entries), "model"), report.Printable(f.baseline), len(b.Entries))
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
