package text

import (
	"fmt"
	"io"
	"strings"

	"anesim"
	"anesim/bench/fp32"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// An Accuracy holds the figures of a run on the accuracy of its values. Rows and FP32 are nil if --precision and
// --compare were not given.
type Accuracy struct {
	Name   string // of the model
	Noun   string // "layer" or "descriptor": a row of Rows
	Rows   []report.PrecisionRow
	FP32   *fp32.Comparison
	Result *anesim.Result
}

// WriteAccuracySummary writes whether fp16 hurts, by how much and where, in some fifteen lines of 80
// characters.
func WriteAccuracySummary(w io.Writer, a *Accuracy) error {
	p := newPager(w)
	p.printAccuracySummary(a)
	return p.Err
}

// EndAccuracy writes the summary again behind a long report on a terminal, where the answer at its
// beginning has scrolled away.
func EndAccuracy(w io.Writer, a *Accuracy) error {
	p := newPager(w)
	if p.Width > 0 {
		p.printf("")
		p.printAccuracySummary(a)
	}
	return p.Err
}

func (p pager) printAccuracySummary(a *Accuracy) {
	name := terminal.CutMiddle(report.Printable(a.Name), 30)
	if a.FP32 != nil {
		p.printOutputs(name, a.FP32)
		p.printItem("verdict", judgeOutputs(a.FP32))
		p.printWorst(a.FP32)
	} else {
		p.printf("%s: how exact its sums are", name)
	}
	if a.Rows != nil {
		p.printItem("sums", summarizeSums(a.Noun, a.Rows))
	}
	if n := len(a.Result.Synthetic); n > 0 {
		names := report.Printable(strings.Join(a.Result.Synthetic[:min(n, 4)], ", "))
		if n > 4 {
			names += fmt.Sprintf(" and %d more", n-4)
		}
		p.printItem("inputs", fmt.Sprintf("%s: pseudo-random; errors depend on them (--in NAME=FILE gives real ones)", names))
	}
	if a.FP32 != nil {
		p.printItem("weights", "rounding them to fp16 is not in these figures: both sides have the weights in fp16")
	}
	p.printItem("more", fmt.Sprintf("without --summary: every %s, and scales that help; docs/precision.md", a.Noun))
}

// halfRounding is the error that rounding to fp16 leaves: the root mean square of differences of up to half
// a unit in the last of 11 bits, over that of numbers between powers of two.
const halfRounding = 0.0002

// judgeOutputs says whether the errors of the outputs matter, measured by the error that fp16 results
// must have.
func judgeOutputs(c *fp32.Comparison) string {
	worst := 0.0
	for i := range c.Outputs {
		if c.Outputs[i].Error == nil {
			return "fp16 hurts, or values are missing: an output has no finite error"
		}
		worst = max(worst, *c.Outputs[i].Error)
	}
	times := fmt.Sprintf("%.0f times the 0.02%% that rounding results to fp16 would leave", worst/halfRounding)
	var text string
	switch {
	case len(c.Outputs) == 0:
		return "none: no output can be compared"
	case worst <= 2.5*halfRounding:
		text = "fp16 does not hurt: rounding the results to it would leave 0.02% alone"
	case worst < 0.01:
		text = "fp16 costs little: " + times
	default:
		text = "fp16 shows: " + times + "; compare the answers to real inputs (--in, --out)"
	}
	// A larger error on the way needs a word, or the table of layers seems to contradict the outputs.
	most := -1
	for i := range c.Layers {
		if e := c.Layers[i].Error; e != nil && *e > 10*worst && (most < 0 || *e > *c.Layers[most].Error) {
			most = i
		}
	}
	if most >= 0 {
		text += fmt.Sprintf(". Inside the network the error reaches %s (%s), but hardly the outputs", formatPercentage(*c.Layers[most].Error), report.Printable(c.Layers[most].Name))
	}
	return text
}

// printWorst prints the layers that add most to the error.
func (p pager) printWorst(c *fp32.Comparison) {
	if len(c.Worst) == 0 {
		return
	}
	p.printf("  layers that add most to the error:")
	t := newErrorTable()
	for _, i := range c.Worst {
		addErrorRow(t, &c.Layers[i])
	}
	p.TableWithin(t, precisionWidth, 4)
}

// summarizeSums says how many rows lose accuracy in their sums, and for how many a scale helps.
func summarizeSums(noun string, rows []report.PrecisionRow) string {
	sums, losers, helped := 0, 0, 0
	for _, r := range rows {
		if r.Sums == nil {
			continue
		}
		sums++
		if r.Sums.Loses() {
			losers++
			if r.Sums.HasWeights() && r.Sums.Gain() > 1 {
				helped++
			}
		}
	}
	switch {
	case sums == 0:
		return fmt.Sprintf("no %s multiplies and accumulates", noun)
	case losers == 0:
		return fmt.Sprintf("nearly as exact as fp16 can be, in %s", report.Plural(sums, noun))
	}
	return fmt.Sprintf("%d of %s lose accuracy: their errors are more than twice those of rounding to fp16; a power of two on the weights helps %d", losers, report.Plural(sums, noun), helped)
}
