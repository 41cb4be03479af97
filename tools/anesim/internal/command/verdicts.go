package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"anesim/internal/check"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// Limits on what is printed for a model that differs: parts with differences, parts that only one
// side has, causes of the differences of a part, and its registers.
const (
	mostPlaces    = 12
	mostNamed     = 4
	mostCauses    = 6
	mostRegisters = 5
)

// printVerdicts prints the differences of each model from the baseline. It returns an error if
// there are any.
func printVerdicts(w io.Writer, verdicts []check.Verdict, most float64) error {
	p := terminal.NewPager(w)
	missed, unknown, unverified, unlinked := 0, 0, 0, 0
	for i := range verdicts {
		v := &verdicts[i]
		if v.Passed() {
			p.Printf("ok    %s", report.Printable(v.Input))
			if line := report.Incomplete(v.NotModelled); line != "" {
				p.Printf("      %s, as in the baseline", line)
			}
			if v.Uncompared != "" {
				p.Printf("      %s", v.Uncompared)
			}
			continue
		}
		switch {
		case v.Unknown:
			unknown++
		case len(v.Relocations) > 0 && len(v.Differences) == 0:
			unlinked++
		case v.Unverified && len(v.Differences) == 0:
			unverified++
		default:
			missed++
		}
		p.Printf("FAIL  %s: %s", report.Printable(v.Input), v.Cause())
		if len(v.Differences) > 0 {
			for _, note := range v.Relocations {
				p.Printf("      %s", note)
			}
		}
		printDifferences(p, v)
	}
	err := newVerdictsError(missed, unknown, unverified, unlinked, len(verdicts), most)
	if err == nil && p.Err != nil && !errors.Is(p.Err, syscall.EPIPE) {
		return p.Err // of a full disk, say, which does not change a verdict that is bad anyway
	}
	return err
}

// printDifferences prints the differences of a model: all of the total, and one for each other
// part. Parts that only one side has are printed together on one line.
func printDifferences(p *terminal.Pager, v *check.Verdict) {
	only := map[string][]string{}
	var parts []check.Place
	layered := false
	for _, x := range v.Places() {
		layered = layered || isLayer(&x)
		if kind := x.Only(); kind != "" {
			only[kind] = append(only[kind], x.Where)
		} else {
			parts = append(parts, x)
		}
	}
	var shown []string // the last explanation
	explain := func(x *check.Place) {
		lines := explainPlace(x, layered && len(only) > 0)
		if !isLayer(x) && !slices.Equal(lines, shown) {
			shown = lines
			p.Lines(lines)
		}
	}
	if len(parts) > 0 && parts[0].IsTotal() {
		for i := range parts[0].Differences {
			if d := &parts[0].Differences[i]; !layered || !d.Appeared { // the counters of a network are for its layers to explain
				p.Printf("      %s", formatDifference(d))
			}
		}
		explain(&parts[0])
		parts = parts[1:]
	}
	for _, kind := range [...]string{"new", "gone"} {
		if list := only[kind]; len(list) > 0 {
			text := strings.Join(list[:min(mostNamed, len(list))], ", ")
			if n := len(list) - mostNamed; n > 0 {
				text += fmt.Sprintf(" and %d more", n)
			}
			p.Printf("      %s: %s", kind, report.Printable(text))
		}
	}
	for i := range parts {
		if i == mostPlaces {
			p.Printf("      ... and %d more parts", len(parts)-i)
			break
		}
		x := &parts[i]
		d := cmp.Or(x.Measure(check.MeasuredTime), &x.Differences[0])
		text := formatDifference(d)
		if n := len(x.Differences) - 1; n > 0 {
			text += ", and " + report.Plural(n, "other measure")
		}
		p.Printf("      %s", text)
		explain(x)
	}
}

// isLayer reports whether the place x is a layer of a network.
func isLayer(x *check.Place) bool { return strings.HasPrefix(x.Where, "layer ") }

// formatDifference returns a difference on one line, such as "total: cycles 12,123 -> 11,508
// (-5.07%)".
func formatDifference(d *check.Difference) string {
	text := d.Where + ": " + d.What
	if !d.Appeared {
		text += " " + d.Change()
	}
	return report.Printable(text)
}

// explainPlace returns lines with the registers and causes that explain the differences of place x.
// If restructured is true, the network has other layers than before; registers then explain nothing
// and are omitted.
func explainPlace(x *check.Place, restructured bool) (lines []string) {
	registers := x.Registers
	if moved := slices.DeleteFunc(slices.Clone(registers), check.IsAddress); len(moved) > 0 {
		registers = moved // addresses follow from the other changes
	}
	if !restructured {
		lines = appendFirstLines(lines, registers, mostRegisters, "register changes")
	}
	return appendFirstLines(lines, x.Causes(), mostCauses, "causes")
}

// appendFirstLines appends the first limit elements of list to lines, indented. If list has more,
// it appends a line with their number and the noun.
func appendFirstLines(lines, list []string, limit int, noun string) []string {
	for i, line := range list {
		if i == limit {
			return append(lines, fmt.Sprintf("        and %d more %s", len(list)-i, noun))
		}
		lines = append(lines, "        "+line)
	}
	return lines
}

// newVerdictsError returns an error that says how many models, of all, differ from the baseline by
// more than tolerance, how many the baseline lacks, of how many no values were compared, and how many
// have relocations that do not agree with their weights and no other difference. It returns nil if all
// numbers are 0.
func newVerdictsError(differ, missing, unverified, unlinked, all int, tolerance float64) error {
	count := func(n int, one, several string) string {
		if n == 1 {
			several = one
		}
		return fmt.Sprintf("%d of %s %s", n, report.Plural(all, "model"), several)
	}
	var parts []string
	if differ > 0 {
		parts = append(parts, count(differ, "differs", "differ")+fmt.Sprintf(" from the baseline by more than %g%%", 100*tolerance))
	}
	if missing > 0 {
		parts = append(parts, count(missing, "is", "are")+" missing from the baseline (add with --update)")
	}
	if unverified > 0 {
		parts = append(parts, count(unverified, "has", "have")+" no values to compare")
	}
	if unlinked > 0 {
		parts = append(parts, count(unlinked, "has", "have")+" wrong relocations (a baseline accepts them with --update)")
	}
	if len(parts) == 0 {
		return nil
	}
	return errors.New(strings.Join(parts, ", "))
}
