package probecommand

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"anesim/internal/probe"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/terminal"
)

// textWidth limits lines if the text is not printed on a terminal.
const textWidth = 80

// order lists verdicts in the order in which their answers are printed: problems come first.
var order = [...]probe.Verdict{probe.Differs, probe.Unclear, probe.Elsewhere, probe.Missing, probe.Open, probe.Holds}

// writeAnswers prints d, which compares results with the rules of the chip that the user typed.
func writeAnswers(w io.Writer, d *probe.Document, chip string) error {
	p := terminal.NewPager(w)
	if p.Width == 0 {
		p.Width = textWidth
	}
	count := map[probe.Verdict]int{}
	for i := range d.Answers {
		count[d.Answers[i].Verdict]++
	}
	verbs := [...]string{"hold", "do not"}
	if d.Holds == 1 {
		verbs[0] = "holds"
	}
	if count[probe.Differs] == 1 {
		verbs[1] = "does not"
	}
	line := fmt.Sprintf("%d of %s of %s %s", d.Holds, report.Plural(d.Rules, "rule"), report.Printable(d.Chip), verbs[0])
	// The first four of order: verdicts that stop a rule from being confirmed.
	for i, words := range [...]string{verbs[1], "unclear", "not on the engine", "missing"} {
		if n := count[order[i]]; n > 0 {
			line += fmt.Sprintf(", %d %s", n, words)
		}
	}
	p.Printf("%s", line)
	p.Printf("results of %s, %s", describeMachine(d.Machine), describeMachine(d.System))
	if text := describeDevice(d, count[probe.Elsewhere]+count[probe.Missing] == len(d.Answers)); text != "" {
		p.Printf("%s", text)
	}
	if d.Explanation != "" {
		p.Printf("one change gives all sums: %s", d.Explanation)
	}
	if c := listChanges(d); len(c) > 0 {
		p.Printf("to read them by the rules that they follow: --chip %s", quote(report.Printable(changeChip(chip, c))))
	}
	for _, v := range order {
		// An empty line between the groups.
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

// describeDevice returns which part of the results says nothing about the engine, if Core ML computed the
// linear layer elsewhere, or all layers that the file has. Otherwise, it returns "".
func describeDevice(d *probe.Document, all bool) string {
	engine := &d.Answers[0] // asks for the linear layer alone
	switch {
	case engine.Verdict != probe.Elsewhere:
		return ""
	case all:
		return "no layer ran on the engine, so that the results say nothing about it"
	case engine.Device != "":
		return fmt.Sprintf("Core ML ran the linear layer on the %s; only other layers say something about the engine", engine.Device)
	}
	return "a processor seems to have computed the linear layer, and perhaps the others"
}

// listChanges returns the changes of the chip's constants that make it follow the results, each as
// NAME=VALUE.
func listChanges(d *probe.Document) (list []string) {
	for i := range d.Answers {
		if f := d.Answers[i].Fit; f != nil && f.Constant != "" && f.Equal == d.Answers[i].Of {
			list = append(list, f.Constant)
		}
	}
	return list
}

// changeChip returns the value of --chip that makes changes of constants to the chip that the user typed,
// which may have changes of the same constants.
func changeChip(chip string, list []string) string {
	for _, c := range list {
		name, _, _ := strings.Cut(c, "=")
		words := strings.Split(chip, ",")
		words = slices.DeleteFunc(words, func(word string) bool { return strings.HasPrefix(word, name+"=") })
		chip = strings.Join(append(words, c), ",")
	}
	return chip
}

// quote returns an argument for a shell.
func quote(s string) string {
	if strings.ContainsAny(s, " '\"\\$`&;|<>()[]{}*?!#~") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
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
