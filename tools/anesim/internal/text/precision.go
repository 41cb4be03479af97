package text

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// precisionWidth is the largest width of a report on precision, in characters.
const precisionWidth = 80

// WritePrecision writes which layers of the named model lose accuracy in their sums, and the scales
// that help, then the figures of all layers. The noun, "layer" or "descriptor", names a row of list.
func WritePrecision(w io.Writer, name, noun string, list []report.PrecisionRow) error {
	p := newPager(w)
	var sums, losers, helped []report.PrecisionRow
	var fixed []string // layers that lose and have no weights
	for _, r := range list {
		if r.Sums == nil {
			continue
		}
		sums = append(sums, r)
		if r.Sums.Loses() {
			losers = append(losers, r)
			switch {
			case !r.Sums.HasWeights():
				fixed = append(fixed, report.Printable(r.Name))
			case r.Sums.Gain() > 1:
				helped = append(helped, r)
			}
		}
	}
	name = terminal.CutMiddle(report.Printable(name), 30)
	// The answer comes first: which layers lose, then the remedy, and the figures last.
	switch {
	case len(sums) == 0:
		p.printf("%s: no %s multiplies and accumulates", name, noun)
	case len(losers) == 0:
		p.printf("%s: sums are nearly as exact as fp16 can be", name)
		p.printf("(%s with multiply-accumulates)", report.Plural(len(sums), noun))
	default:
		verb := "lose accuracy in their sums"
		if len(losers) == 1 {
			verb = "loses accuracy in its sums"
		}
		p.printf("%s: %d of %s %s", name, len(losers), report.Plural(len(sums), noun), verb)
	}
	if len(helped) > 0 {
		p.printScales(noun, helped)
	} else if len(losers) > len(fixed) {
		p.printf("no power of two on their weights reduces the error")
	}
	if len(fixed) > 0 {
		p.printf("no weights to scale, as in an average pool, whose input can be scaled instead:")
		p.printf("  %s", listNames(fixed))
	}
	if len(sums) > 0 {
		p.printf("")
		p.printSums(noun, sums)
	}
	p.printOtherRounding(noun, list)
	return p.Err
}

// printScales prints the layers for which a scale helps, those that gain most first.
func (p pager) printScales(noun string, list []report.PrecisionRow) {
	const most = 20
	slices.SortStableFunc(list, func(a, b report.PrecisionRow) int { return cmp.Compare(b.Sums.Gain(), a.Sums.Gain()) })
	p.printf("what to do: multiply weights by a power of two, and the sums by its inverse:")
	t := terminal.NewTable(terminal.Word(noun, 0), terminal.Word("op", 0), terminal.Number("error", 0),
		terminal.Number("weights", 0), terminal.Number("sums", 0), terminal.Number("error then", 0))
	for _, r := range list[:min(most, len(list))] {
		t.Add(report.Printable(r.Name), report.Printable(r.Op), formatError(r.Sums.Error),
			fmt.Sprintf("x 2^%d", r.Sums.Shift), fmt.Sprintf("x 2^%d", -r.Sums.Shift), formatError(r.Sums.Scaled))
	}
	p.TableWithin(t, precisionWidth, 2)
	if n := len(list) - most; n > 0 {
		p.printf("  and %d more (--json: precision.sums.shift)", n)
	}
	p.Lines([]string{
		"  how: scale weights and bias in the network's file, and put a multiplication",
		"  by the inverse behind them. It becomes PostScale of the same task and takes no",
		"  time. Or scale the next weights, if only ReLU or nothing lies between.",
		"  In a product of two tensors, scale either of them instead of weights.",
		"  Sums then stay below a quarter of the limit with these inputs.",
	})
}

// printSums prints the figures of all layers with multiply-accumulates.
func (p pager) printSums(noun string, list []report.PrecisionRow) {
	t := terminal.NewTable(terminal.Word(noun, 0), terminal.Word("op", 0), terminal.Number("lost", 0),
		terminal.Number("error", 0), terminal.Number("of fp16", 0), terminal.Number("largest sum", 0), terminal.Number("limit", 0))
	var results, sampled uint64
	for _, r := range list {
		s := r.Sums
		results, sampled = results+s.Results, sampled+s.Sampled
		limit := "-"
		if s.Limit > 0 {
			limit = strconv.FormatFloat(s.Limit, 'g', -1, 64)
		}
		t.Add(report.Printable(r.Name), report.Printable(r.Op), formatPercentage(s.Dropped+s.Vanished), formatError(s.Error),
			formatError(&s.Rounding), fmt.Sprintf("%.3g", s.Largest), limit)
	}
	p.TableWithin(t, precisionWidth, 0)
	p.Lines([]string{
		"lost: products that become 0, as operands are too small (exponents below -16",
		"  together) or the product rounds to 0 in steps of 2^-16",
		"error: root mean square over that of exact sums of the same fp16 operands, ahead",
		"  of an activation; of fp16: what rounding exact sums to fp16 would leave",
		"largest sum: magnitude of a partial sum; at the limit it becomes infinite",
	})
	if sampled < results {
		p.printf("figures are from a sample of %s of %s results, the same in every run", report.Thousands(sampled), report.Thousands(results))
	}
}

// printOtherRounding describes the roundings in layers without multiply-accumulates.
func (p pager) printOtherRounding(noun string, list []report.PrecisionRow) {
	names := map[string][]string{}
	var order []string
	for _, r := range list {
		if r.Sums != nil {
			continue
		}
		if names[r.Rounds] == nil {
			order = append(order, r.Rounds)
		}
		names[r.Rounds] = append(names[r.Rounds], report.Printable(r.Name))
	}
	if len(order) > 0 {
		p.printf("")
		other := ""
		if slices.ContainsFunc(list, func(r report.PrecisionRow) bool { return r.Sums != nil }) {
			other = "other "
		}
		p.printf("what the %s%ss round:", other, noun)
	}
	for _, what := range order {
		p.printf("  %s:", listNames(names[what]))
		p.printf("    %s", report.Printable(what))
	}
	if len(order) > 0 {
		p.printf("maxima, minima, ReLU and copies are exact; a table has straight lines between")
		p.printf("points of the function")
	}
}

// listNames returns the first of the given names, and how many more there are.
func listNames(all []string) string {
	const most = 3
	text := strings.Join(all[:min(most, len(all))], ", ")
	if n := len(all) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return terminal.CutMiddle(text, 70)
}

// formatError returns an error of sums as a percentage with two digits, or "infinite" for nil.
func formatError(e *float64) string {
	if e == nil {
		return "infinite"
	}
	return formatPercentage(*e)
}

// formatPercentage returns a share as a percentage with two digits, such as "2.8%" or "0.022%".
func formatPercentage(share float64) string {
	v := 100 * share
	switch {
	case v == 0:
		return "0"
	case v < 1e-4:
		return "<0.0001%"
	case v >= 9.95:
		return fmt.Sprintf("%.0f%%", v)
	}
	digits := 1 - int(math.Floor(math.Log10(v)))
	return strconv.FormatFloat(v, 'f', max(0, digits), 64) + "%"
}
