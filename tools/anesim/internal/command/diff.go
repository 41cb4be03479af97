package command

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/bench/check"
	"anesim/bench/report"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/view"
)

// diffFlags holds the flags of diff.
type diffFlags struct {
	runFlags
	flags.Dims
}

func diffCommand() *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Show what changed between two programs, networks or results",
		Long: `Diff runs two programs or networks, or reads two results that --json wrote,
pairs their descriptors by what they do, and prints what changed: register
fields by name, and time, energy and bytes by part. For programs and
networks it also compares weights: how many bytes and values of each
descriptor's constants differ, and by how much at most. The exit status is
0 whether or not they differ, and 1 if no layer of a network could be
compiled.`,
		Example: `  anesim diff old.hwx new.hwx
  anesim diff before.json after.json`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			f.TimingOnly, f.Repeat = true, 1
			var e [2]side
			for i, file := range args {
				var err error
				if e[i], err = f.readSide(c, file, args); err != nil {
					return err
				}
			}
			return printDiff(c.OutOrStdout(), &e[0], &e[1])
		},
	}
	f.Dims.Register(c.Flags())
	f.RegisterOnly(c.Flags(), "chip", "gate-tiles", "set", "init")
	return c
}

// maxResult is the largest file of a result.
const maxResult = 1 << 30

// A side is one of the two results that are compared.
type side struct {
	*check.Entry
	constants []check.Constants // of its descriptors; none if it was read from a result
}

// readSide runs a model, or reads a result from a .json file.
func (f *diffFlags) readSide(c *cobra.Command, file string, files []string) (s side, err error) {
	if strings.EqualFold(filepath.Ext(file), ".json") {
		b, err := input.ReadFile(file, c.InOrStdin(), maxResult)
		if err != nil {
			return s, err
		}
		if s.Entry, err = check.ReadEntry(b); err != nil {
			return s, input.InFile(file, err)
		}
		return s, nil
	}
	o, err := f.Options()
	if err != nil {
		return s, err
	}
	m, err := f.Dims.Open(anesim.OpenOptions{}, file, files, c.InOrStdin())
	if err != nil {
		return s, err
	}
	ctx, stop := flags.Interruptible()
	defer stop()
	if _, err := m.Programs(ctx, o); err != nil { // keeps their weights for the run
		return s, input.ModelError(m, err)
	}
	res, err := m.Run(ctx, o)
	if err != nil {
		return s, input.ModelError(m, err)
	}
	if faults := res.Report.Faults; len(faults) > 0 {
		return s, input.InFile(file, fmt.Errorf("device fault: %v", faults[0]))
	}
	e, err := check.NewEntry(res, file)
	if err != nil {
		return s, err
	}
	if len(e.NotModelled) > 0 && len(e.Descriptors) == 0 {
		return s, input.InFile(file, newNothingCompiledError(e.NotModelled))
	}
	s.Entry = &e
	s.constants, err = check.ConstantsOf(res)
	return s, err
}

// newNothingCompiledError says that no layer of a network could be compiled for the engine.
func newNothingCompiledError(list []report.Missing) error {
	return fmt.Errorf("no layer could be compiled for the engine: %s", report.Incomplete(list))
}

func printDiff(w io.Writer, a, b *side) error {
	for _, s := range [...]*side{a, b} {
		if line := report.Incomplete(s.NotModelled); line != "" {
			fmt.Fprintf(w, "%s: %s\n", report.Printable(s.Input), line)
		}
	}
	t := terminal.Numbers("", report.Printable(a.Input), report.Printable(b.Input), "change")
	for _, x := range check.CostChanges(&a.Total, &b.Total) {
		name := x.Name
		if x.Of != "" {
			name = x.Of + " of " + x.Name
		}
		t.Add(appendUnit(name, x.Unit), formatExact(x.A), formatExact(x.B), view.Change(x.A, x.B))
	}
	if err := t.Print(w, terminal.Gap); err != nil {
		return err
	}
	unit := "descriptor"
	if check.ByLayer(a.Entry, b.Entry) {
		unit = "layer"
	}
	same, n, unknown, left := 0, 0, 0, int64(check.MostCompared)
	for _, d := range check.Diff(a.Entry, b.Entry) {
		n++
		weights, known := compareWeights(&d, a, b, &left)
		if !known {
			unknown++
		}
		switch {
		case !d.Changed() && !weights.Changed():
			same++
		case d.A == nil:
			fmt.Fprintf(w, "\n+ %d %s: new, %s cycles\n", d.BAt, report.Printable(d.B.Op), report.Thousands(uint64(d.B.Cycles)))
		case d.B == nil:
			fmt.Fprintf(w, "\n- %d %s: gone, %s cycles\n", d.AAt, report.Printable(d.A.Op), report.Thousands(uint64(d.A.Cycles)))
		default:
			fmt.Fprintf(w, "\n  %d %s: %s -> %s cycles (%s)", d.BAt, report.Printable(d.B.Op), report.Thousands(uint64(d.A.Cycles)), report.Thousands(uint64(d.B.Cycles)), view.Change(float64(d.A.Cycles), float64(d.B.Cycles)))
			fmt.Fprintf(w, ", %s -> %s bytes, %s -> %s nJ\n", formatExact(float64(d.A.DMABytes)), formatExact(float64(d.B.DMABytes)), formatExact(float64(d.A.EnergyNJ)), formatExact(float64(d.B.EnergyNJ)))
			for _, r := range d.Changes {
				fmt.Fprintf(w, "      %s\n", r)
			}
			printWeights(w, &weights)
			for _, of := range [...]string{"cycles", "energy", "bytes"} {
				printTerms(w, of, check.CostChanges(&d.A.Cost, &d.B.Cost))
			}
		}
	}
	if unknown > 0 {
		fmt.Fprintf(w, "\nweights of %s not compared: they read more than %s bytes in all\n", report.Plural(unknown, "descriptor"), report.Thousands(check.MostCompared))
	}
	_, err := fmt.Fprintf(w, "\n%d of %s the same\n", same, report.Plural(n, unit))
	return err
}

// compareWeights compares the constants of a descriptor on both sides, if both are known. It
// returns known false if the comparison would exceed the limit on bytes.
func compareWeights(d *check.Delta, a, b *side, left *int64) (c check.ConstantsChange, known bool) {
	if d.A == nil || d.B == nil || d.AAt >= len(a.constants) || d.BAt >= len(b.constants) {
		return c, true
	}
	return a.constants[d.AAt].Compare(&b.constants[d.BAt], left)
}

// printWeights prints how many of a descriptor's constants differ, on one line.
func printWeights(w io.Writer, c *check.ConstantsChange) {
	switch {
	case !c.Changed():
	case c.OfValues == 0:
		fmt.Fprintf(w, "      weights: %s of %s bytes differ\n", report.Thousands(uint64(c.Bytes)), report.Thousands(uint64(c.OfBytes)))
	default:
		fmt.Fprintf(w, "      weights: %s of %s bytes differ, %s of %s values, by at most %s\n", report.Thousands(uint64(c.Bytes)), report.Thousands(uint64(c.OfBytes)),
			report.Thousands(uint64(c.Values)), report.Thousands(uint64(c.OfValues)), report.Number(c.Largest))
	}
}

// printTerms prints the terms of a measure that differ, on one line.
func printTerms(w io.Writer, of string, list []check.CostChange) {
	var text []string
	for _, x := range list {
		if x.Of == of && x.A != x.B {
			text = append(text, strings.TrimSpace(fmt.Sprintf("%s %s -> %s %s", x.Name, formatExact(x.A), formatExact(x.B), x.Unit)))
		}
	}
	if len(text) > 0 {
		fmt.Fprintf(w, "      %s: %s\n", of, strings.Join(text, ", "))
	}
}

func appendUnit(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

// formatExact formats a number with all its digits if it is an integer, in groups of three as in
// "2,866,855,936", and with nine significant digits otherwise.
func formatExact(v float64) string {
	const most = 1 << 53 // float64 represents all integers below this
	if v >= 0 && v < most && v == math.Trunc(v) {
		return report.Thousands(uint64(v))
	}
	return report.GroupDigits(report.Number(v))
}
