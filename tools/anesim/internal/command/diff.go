package command

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/bench/check"
	"anesim/tools/anesim/internal/view"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	runFlags
	dimFlags
}

func diffCommand() *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "What changed between two programs, networks or results, and what it did",
		Long: `Diff runs two programs or networks, or reads two results that --json wrote, pairs
their descriptors by what they do, and prints what changed: register fields by name, and
time, energy and bytes term by term. The exit status is 0 whether or not they differ.`,
		Example: `  anesim diff old.hwx new.hwx
  anesim diff before.json after.json`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			f.timingOnly, f.repeat = true, 1
			var e [2]*check.Entry
			for i, file := range args {
				var err error
				if e[i], err = f.entry(c, file, args); err != nil {
					return err
				}
			}
			return printDiff(c.OutOrStdout(), e[0], e[1])
		},
	}
	f.dimFlags.register(c.Flags())
	f.registerOnly(c.Flags(), "chip", "gate-tiles", "set", "init")
	return c
}

// maxResult bounds the file of a result.
const maxResult = 1 << 30

// entry runs a model, or reads a result.
func (f *diffFlags) entry(c *cobra.Command, file string, files []string) (*check.Entry, error) {
	if strings.EqualFold(filepath.Ext(file), ".json") {
		b, err := readFile(file, c.InOrStdin(), maxResult)
		if err != nil {
			return nil, err
		}
		e, err := check.ReadEntry(b)
		if err != nil {
			return nil, inFile(file, err)
		}
		return e, nil
	}
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	m, err := f.dimFlags.open(anesim.OpenOptions{}, file, files, c.InOrStdin())
	if err != nil {
		return nil, err
	}
	ctx, stop := interruptible()
	defer stop()
	res, err := m.Run(ctx, o)
	if err != nil {
		return nil, modelError(m, err)
	}
	if faults := res.Report.Faults; len(faults) > 0 {
		return nil, inFile(file, fmt.Errorf("device fault: %v", faults[0]))
	}
	e, err := check.NewEntry(res, file)
	return &e, err
}

func printDiff(w io.Writer, a, b *check.Entry) error {
	t := numbers("", escaped(a.Input), escaped(b.Input), "change")
	for _, x := range check.CostChanges(&a.Total, &b.Total) {
		name := x.Name
		if x.Of != "" {
			name = x.Of + " of " + x.Name
		}
		t.add(withUnit(name, x.Unit), number(x.A), number(x.B), view.Change(x.A, x.B))
	}
	if err := t.print(w, gap); err != nil {
		return err
	}
	same, n := 0, 0
	for _, d := range check.Diff(a, b) {
		n++
		switch {
		case !d.Changed():
			same++
		case d.A == nil:
			fmt.Fprintf(w, "\n+ %d %s: new, %d cycles\n", d.BAt, escaped(d.B.Op), d.B.Cycles)
		case d.B == nil:
			fmt.Fprintf(w, "\n- %d %s: gone, %d cycles\n", d.AAt, escaped(d.A.Op), d.A.Cycles)
		default:
			fmt.Fprintf(w, "\n  %d %s: %d -> %d cycles (%s)", d.BAt, escaped(d.B.Op), d.A.Cycles, d.B.Cycles, view.Change(float64(d.A.Cycles), float64(d.B.Cycles)))
			fmt.Fprintf(w, ", %s -> %s bytes, %s -> %s nJ\n", number(float64(d.A.DMABytes)), number(float64(d.B.DMABytes)), number(float64(d.A.EnergyNJ)), number(float64(d.B.EnergyNJ)))
			for _, r := range d.Changes {
				fmt.Fprintf(w, "      %s\n", r)
			}
			for _, of := range [...]string{"cycles", "energy", "bytes"} {
				printTerms(w, of, check.CostChanges(&d.A.Cost, &d.B.Cost))
			}
		}
	}
	_, err := fmt.Fprintf(w, "\n%d of %s the same\n", same, plural(n, "descriptor"))
	return err
}

// printTerms says which terms of a measure differ, on one line.
func printTerms(w io.Writer, of string, list []check.CostChange) {
	var text []string
	for _, x := range list {
		if x.Of == of && x.A != x.B {
			text = append(text, strings.TrimSpace(fmt.Sprintf("%s %s -> %s %s", x.Name, number(x.A), number(x.B), x.Unit)))
		}
	}
	if len(text) > 0 {
		fmt.Fprintf(w, "      %s: %s\n", of, strings.Join(text, ", "))
	}
}

func withUnit(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}
