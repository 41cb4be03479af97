package command

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/hw"
	"anesim/hw/machine"
	"anesim/internal/check"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
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
descriptor's constants differ, and by how much at most. Descriptors of a
network of which only addresses differ are counted. The exit status is
0 whether or not they differ, and 1 if no layer of a network could be
compiled.`,
		Example: `  anesim diff old.hwx new.hwx
  anesim diff before.json after.json`,
		Args: usage.TwoFiles,
		RunE: func(c *cobra.Command, args []string) error {
			// Registers, weights and costs are compared; none of them needs values.
			f.TimingOnly, f.Repeat = true, 1
			var e [2]side
			for i, file := range args {
				if f.Machine != "" && isResult(file) {
					return usage.Errorf("--machine %s: %s is the result of a run, which had its machine", f.Machine, report.Printable(file))
				}
				var err error
				if e[i], err = f.readSide(c, file, args); err != nil {
					return err
				}
			}
			return printDiff(c.OutOrStdout(), &e[0], &e[1])
		},
	}
	f.Dims.Register(c.Flags())
	f.RegisterOnly(c.Flags(), "chip", "machine", "clock", "gate-tiles", "set", "init")
	return c
}

// isResult reports whether file is a result rather than a program or a network.
func isResult(file string) bool { return strings.EqualFold(filepath.Ext(file), ".json") }

// maxResult is the largest file of a result.
const maxResult = 1 << 30

// A side is one of the two results that are compared.
type side struct {
	*check.Entry
	constants []check.Constants // of its descriptors; none if it was read from a result
	result    *anesim.Result    // nil if it was read from a result
}

// readSide returns one side of the comparison: it runs the model in file, or reads a result if the
// file ends in .json.
func (f *diffFlags) readSide(c *cobra.Command, file string, files []string) (s side, err error) {
	if isResult(file) {
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
	ctx, stop := interrupt.Context()
	defer stop()
	if _, err := m.Programs(ctx, o); err != nil { // keeps their weights for the run
		return s, input.ModelError(m, file, err)
	}
	res, err := m.Run(ctx, o)
	if err != nil {
		return s, input.ModelError(m, file, err)
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
	s.Entry, s.result = &e, res
	s.constants, err = check.ConstantsOf(res)
	return s, err
}

// newNothingCompiledError returns an error that says that no layer of a network could be compiled
// for the engine.
func newNothingCompiledError(list []report.Missing) error {
	return fmt.Errorf("no layer could be compiled for the engine: %s", report.Incomplete(list))
}

// printDiff prints the totals of both sides, and each descriptor or layer that differs. For a
// network, it only counts the descriptors that differ in addresses and nothing else.
func printDiff(w io.Writer, a, b *side) error {
	p := terminal.NewPager(w)
	for _, s := range [...]*side{a, b} {
		if line := report.Incomplete(s.NotModelled); line != "" {
			p.Printf("%s: %s", report.Printable(s.Input), line)
		}
	}
	network := len(a.Layers)+len(b.Layers) > 0
	p.Table(newTotalsTable(a, b, network), 0)
	// A result of --json may be of any host, so only two sides that ran here have comparable calls.
	if a.result != nil && b.result != nil && a.result.Host() > 0 {
		x, y := a.result.Call(), b.result.Call()
		p.Printf("")
		p.Printf("a call: %v -> %v (%s) on %s, %.1f%% of it the host", x, y, view.Change(float64(x), float64(y)), a.result.Options.Machine.Noun(),
			100*float64(b.result.Host())/float64(machine.Wall(b.result.Report.Time, b.result.Host())))
		if e, low, _ := a.result.CallEnergy(); low > 0 {
			f, least, most := b.result.CallEnergy()
			p.Printf("energy of a call: %s -> %s (%s; %s: %s to %s)", report.EnergyText(e), report.EnergyText(f), view.Change(float64(e), float64(f)),
				hw.IntervalPercent, report.EnergyText(least), report.EnergyText(most))
		}
		if note := a.result.Options.Machine.Note(); note != "" {
			p.Printf("note: %s", note)
		}
	}
	unit := "descriptor"
	if check.ByLayer(a.Entry, b.Entry) {
		unit = "layer"
	}
	// One allowance for all weights together bounds the time of a comparison of large networks.
	same, moved, n, unknown, left := 0, 0, 0, 0, int64(check.MostCompared)
	for _, d := range check.Diff(a.Entry, b.Entry) {
		n++
		weights, known := compareWeights(&d, a, b, &left)
		if !known {
			unknown++
		}
		switch {
		case !d.Changed() && !weights.Changed():
			same++
		// In a network, a change of one layer moves the tensors of all later ones. For a program, addresses
		// may be what the user looks for, so they are printed.
		case network && d.Moved() && !weights.Changed():
			moved++
		case d.A == nil:
			p.Printf("")
			p.Printf("+ %s: new, %s cycles", formatDescriptorLabel(d.B, d.BAt), report.Thousands(d.B.Cycles))
		case d.B == nil:
			p.Printf("")
			p.Printf("- %s: gone, %s cycles", formatDescriptorLabel(d.A, d.AAt), report.Thousands(d.A.Cycles))
		default:
			printDelta(p, &d, &weights, network, a.Chip, b.Chip)
		}
	}
	p.Printf("")
	// What only one side has is a difference that no cost or register shows.
	for _, s := range [...]*side{a, b} {
		for _, note := range s.Relocations {
			if !slices.Equal(a.Relocations, b.Relocations) {
				p.Printf("%s: %s", report.Printable(s.Input), note)
			}
		}
	}
	if unknown > 0 {
		p.Printf("weights of %s not compared: they read more than %s bytes in all", report.Plural(unknown, "descriptor"), report.Thousands(check.MostCompared))
	}
	if moved > 0 {
		p.Printf("%d of %s differ only in addresses", moved, report.Plural(n, unit))
	}
	p.Printf("%d of %s the same", same, report.Plural(n, unit))
	return p.Err
}

// newTotalsTable returns a table of the totals of both sides. For networks, it omits parts of
// totals that are equal.
func newTotalsTable(a, b *side, network bool) *terminal.Table {
	const most = 20 // characters of a name
	x, y := filepath.Base(a.Input), filepath.Base(b.Input)
	if x == y {
		x, y = a.Input, b.Input
	}
	t := terminal.Numbers("", terminal.Cut(report.Printable(x), most), terminal.Cut(report.Printable(y), most), "change")
	for _, x := range listKnownChanges(&a.Total, &b.Total, a.Chip, b.Chip) {
		if network && x.Of != "" && !x.Changed() {
			continue
		}
		name := x.Name
		if x.Of != "" {
			name = x.Of + " of " + x.Name
		}
		before, after := x.Values()
		t.Add(name, before, after, view.Change(x.A, x.B))
	}
	return t
}

// listKnownChanges returns the changes of the costs of two sides without energies, if those of one of the chips
// are not known.
func listKnownChanges(a, b *check.Cost, chips ...string) []check.CostChange {
	list := check.CostChanges(a, b)
	if slices.ContainsFunc(chips, machine.IsScaledChip) {
		list = slices.DeleteFunc(list, func(x check.CostChange) bool { return x.Name == check.MeasuredEnergy || x.Of == check.MeasuredEnergy })
	}
	return list
}

// formatDescriptorLabel returns a label for a descriptor. It is the name of the descriptor's layer
// or, without a layer, its index and operation. A layer in the form of a descriptor stores its name
// as the operation.
func formatDescriptorLabel(d *check.Descriptor, index int) string {
	if d.Layer != "" {
		return fmt.Sprintf("%s (%s, descriptor %d)", report.Printable(d.Layer), report.Printable(d.Op), index)
	}
	return fmt.Sprintf("%d %s", index, report.Printable(d.Op))
}

// printDelta prints a descriptor or layer that differs. For a network, it prints addresses only if
// nothing else explains the difference.
func printDelta(p *terminal.Pager, d *check.Delta, weights *check.ConstantsChange, network bool, chips ...string) {
	p.Printf("")
	text := fmt.Sprintf("%s -> %s cycles (%s)", report.Thousands(d.A.Cycles), report.Thousands(d.B.Cycles), view.Change(float64(d.A.Cycles), float64(d.B.Cycles)))
	changes := listKnownChanges(&d.A.Cost, &d.B.Cost, chips...)
	for _, x := range changes {
		if x.Name == check.MeasuredBytes || x.Name == check.MeasuredEnergy {
			before, after := x.Values()
			if before == after {
				text += ", " + after
			} else {
				text += fmt.Sprintf(", %s -> %s", before, after)
			}
		}
	}
	p.Printf("  %s: %s", formatDescriptorLabel(d.B, d.BAt), text)
	list := d.Changes
	if other := slices.DeleteFunc(slices.Clone(list), check.IsAddress); network && len(other) > 0 {
		list = other
	}
	for _, r := range list {
		p.Printf("      %s", r)
	}
	printWeights(p, weights)
	for _, of := range [...]string{"cycles", "energy", "bytes"} {
		printTerms(p, of, changes)
	}
}

// compareWeights compares the constants of a descriptor on both sides. The result known is false if
// a side has no constants, or if the comparison would exceed the budget of bytes.
func compareWeights(d *check.Delta, a, b *side, budget *int64) (c check.ConstantsChange, known bool) {
	if d.A == nil || d.B == nil || d.AAt >= len(a.constants) || d.BAt >= len(b.constants) {
		return c, true
	}
	return a.constants[d.AAt].Compare(&b.constants[d.BAt], budget)
}

// printWeights prints how many of a descriptor's constants differ, on one line.
func printWeights(p *terminal.Pager, c *check.ConstantsChange) {
	switch {
	case !c.Changed():
	case c.A != c.B:
		p.Printf("      weights: %s -> %s bytes, so values are not compared", report.Thousands(uint64(c.A)), report.Thousands(uint64(c.B)))
	case c.OfValues == 0:
		p.Printf("      weights: %s of %s bytes differ", report.Thousands(uint64(c.Bytes)), report.Thousands(uint64(c.OfBytes)))
	default:
		p.Printf("      weights: %s of %s bytes differ, %s of %s values, by at most %.4g", report.Thousands(uint64(c.Bytes)), report.Thousands(uint64(c.OfBytes)),
			report.Thousands(uint64(c.Values)), report.Thousands(uint64(c.OfValues)), c.Largest)
	}
}

// printTerms prints the parts of the named quantity that differ, on one line.
func printTerms(p *terminal.Pager, quantity string, list []check.CostChange) {
	var text []string
	for _, x := range list {
		if x.Of == quantity && x.Changed() {
			before, after := x.Values()
			text = append(text, fmt.Sprintf("%s %s -> %s", x.Name, before, after))
		}
	}
	if len(text) > 0 {
		p.Printf("      %s: %s", quantity, strings.Join(text, ", "))
	}
}
