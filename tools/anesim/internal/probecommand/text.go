package probecommand

import (
	"fmt"
	"io"
	"strings"

	"anesim/bench/probe"
	"anesim/bench/report"
	"anesim/tools/anesim/internal/terminal"
)

// textWidth limits lines if the text is not printed on a terminal.
const textWidth = 80

// order lists verdicts in the order in which their answers are printed: problems come first.
var order = [...]probe.Verdict{probe.Differs, probe.Unclear, probe.Elsewhere, probe.Missing, probe.Open, probe.Holds}

func writeAnswers(w io.Writer, d *probe.Document) error {
	p := terminal.NewPager(w)
	if p.Width == 0 {
		p.Width = textWidth
	}
	count := map[probe.Verdict]int{}
	for i := range d.Answers {
		count[d.Answers[i].Verdict]++
	}
	line := fmt.Sprintf("%d of %s of %s hold", d.Holds, report.Plural(d.Rules, "rule"), report.Printable(d.Chip))
	for i, words := range [...]string{"do not", "unclear", "not on the engine", "missing"} {
		if n := count[order[i]]; n > 0 {
			line += fmt.Sprintf(", %d %s", n, words)
		}
	}
	p.Printf("%s", line)
	p.Printf("results of %s, %s", describeMachine(d.Machine), describeMachine(d.System))
	if d.Answers[0].Rule == "engine" && d.Answers[0].Verdict == probe.Elsewhere {
		p.Printf("a processor computed these sums, so that they say nothing about the engine")
	}
	if d.Explanation != "" {
		p.Printf("one change gives all sums: %s", d.Explanation)
	}
	if c := changes(d); c != "" {
		p.Printf("to read them by the rules that they follow: --chip %s%s", report.Printable(d.Chip), c)
	}
	for _, v := range order {
		if count[v] > 0 {
			p.Printf("")
		}
		for i := range d.Answers {
			if a := &d.Answers[i]; a.Verdict == v {
				writeAnswer(p, a)
			}
		}
	}
	return p.Err
}

// describeMachine returns a machine's own name for itself, on one line.
func describeMachine(s string) string {
	const most = 60
	if s = report.Printable(s); s == "" {
		return "unknown"
	}
	return terminal.Cut(s, most)
}

// changes returns the changes of the chip's constants that make it follow the results.
func changes(d *probe.Document) string {
	var s strings.Builder
	for i := range d.Answers {
		if f := d.Answers[i].Fit; f != nil && f.Constant != "" && f.Equal == d.Answers[i].Of {
			s.WriteString("," + f.Constant)
		}
	}
	return s.String()
}

func writeAnswer(p *terminal.Pager, a *probe.Answer) {
	head := fmt.Sprintf("%-9s  %-17s  ", a.Verdict, a.Rule)
	// A rule that holds takes one line, so that the others stand out; each other verdict says what its
	// reader can do next.
	switch a.Verdict {
	case probe.Holds:
		p.Printf("%s%s", head, report.Plural(a.Of, "result"))
		if a.PrintedBy != "" {
			p.Printf("  relative error %.13g, as %s printed", a.RelativeError, a.PrintedBy)
		}
		return
	case probe.Missing:
		p.Printf("%sthe file has no results", head)
		return
	case probe.Unclear:
		p.Printf("%s%d of %d equal, the others by no known rule", head, a.Equal, a.Of)
		return
	case probe.Elsewhere:
		if a.Device != "" {
			p.Printf("%sCore ML ran it on the %s", head, a.Device)
		} else {
			p.Printf("%s%d of %d as a processor", head, a.Fit.Equal, a.Of)
			p.Printf("  found  %s", a.Fit.Rule)
		}
		return
	case probe.Open:
		if a.Equal == a.Of {
			p.Printf("%ssilicon says: as the model, all %d", head, a.Of)
			return
		}
		p.Printf("%ssilicon says: %d of %d as the model, up to %s off", head, a.Equal, a.Of, report.Plural(a.LargestSteps, "step"))
	default:
		p.Printf("%s%d of %d equal, up to %s off", head, a.Equal, a.Of, report.Plural(a.LargestSteps, "step"))
	}
	p.Printf("  rule   %s", a.Statement)
	if a.Fit != nil {
		p.Printf("  found  %s: %d of %d", a.Fit.Rule, a.Fit.Equal, a.Of)
	}
	if a.RelativeError != 0 {
		by := ""
		if a.PrintedBy != "" {
			by = ", as " + a.PrintedBy + " printed"
		}
		p.Printf("  relative error %.13g%s", a.RelativeError, by)
	}
	if f := a.First; f != nil {
		p.Printf("  first  %s%s: model %s, found %s", f.Output, strings.ReplaceAll(fmt.Sprint(f.Index), " ", ","), f.Expected, f.Found)
	}
}
