package text

import (
	"io"
	"math"
	"slices"

	"anesim/bench/fp32"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// WriteComparison writes how far the outputs of the named network are from those in float32, the layers
// that add most to that, and the errors along the network.
func WriteComparison(w io.Writer, name string, c *fp32.Comparison) error {
	p := newPager(w)
	name = terminal.CutMiddle(report.Printable(name), 30)
	// The answer comes first: how far off the network is, then where from, then every layer.
	p.printOutputs(name, c)
	if len(c.Worst) > 0 {
		p.printf("layers that add most to the error:")
		t := newErrorTable()
		for _, i := range c.Worst {
			addErrorRow(t, &c.Layers[i])
		}
		p.TableWithin(t, precisionWidth, 2)
	}
	for _, note := range c.Notes {
		p.printf("note: %s", report.Printable(note))
	}
	if len(c.Layers) == 0 {
		return p.Err
	}
	p.printf("")
	p.printf("the error along the network:")
	t := newErrorTable()
	for i := range c.Layers {
		addErrorRow(t, &c.Layers[i])
	}
	p.TableWithin(t, precisionWidth, 0)
	p.Lines([]string{
		"error: root mean square of the differences over that of the float32 values",
		"before: largest error of the operands; added: error that is not from operands",
		"largest: largest difference over the largest magnitude",
	})
	if hasUnknown(c) {
		p.printf("-: a value is missing, NaN, or infinite in only one of the two")
	}
	p.Lines([]string{
		"float32 has the same layers, with the same weights in fp16, and exact functions",
		"in place of activation tables",
	})
	return p.Err
}

// printOutputs prints how far the outputs of the named network are from those in float32.
func (p pager) printOutputs(name string, c *fp32.Comparison) {
	switch len(c.Outputs) {
	case 0:
		p.printf("%s: no output of the network can be compared with float32", name)
	case 1:
		out := &c.Outputs[0]
		of := terminal.CutMiddle(report.Printable(out.Name), 20)
		if out.Error == nil {
			p.printf("%s: output %s has no finite error with respect to float32", name, of)
		} else {
			p.printf("%s: output %s differs from float32 by %s", name, of, formatPercentage(*out.Error))
		}
	default:
		p.printf("%s: its outputs differ from float32 by", name)
		for i := range c.Outputs {
			out := &c.Outputs[i]
			p.printf("  %-10s %s", formatDifference(out.Error), terminal.CutMiddle(report.Printable(out.Name), 60))
		}
	}
}

func newErrorTable() *terminal.Table {
	return terminal.NewTable(terminal.Word("layer", 0), terminal.Word("op", 0), terminal.Number("before", 0),
		terminal.Number("error", 0), terminal.Number("added", 0), terminal.Number("largest", 0))
}

func addErrorRow(t *terminal.Table, l *fp32.Layer) {
	added := "-"
	if g := l.Growth(); !math.IsInf(g, 0) {
		added = formatPercentage(g)
	}
	op := l.Op
	if l.Activation != "" {
		op += "+" + l.Activation
	}
	t.Add(report.Printable(l.Name), report.Printable(op), formatPercentage(l.Before), formatDifference(l.Error), added, formatDifference(l.Largest))
}

// formatDifference returns an error of a comparison as a percentage, or "-" for nil: then a value is
// missing, or not finite in only one of the two.
func formatDifference(e *float64) string {
	if e == nil {
		return "-"
	}
	return formatPercentage(*e)
}

// hasUnknown reports whether the error of an output or of a layer is nil.
func hasUnknown(c *fp32.Comparison) bool {
	return slices.ContainsFunc(c.Outputs, func(x fp32.Output) bool { return x.Error == nil }) ||
		slices.ContainsFunc(c.Layers, func(l fp32.Layer) bool { return l.Error == nil })
}
