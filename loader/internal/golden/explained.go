package golden

import (
	"fmt"
	"strings"
	"testing"

	"anesim/loader"
)

// reasonSeparator separates a register from the reason for its value.
const reasonSeparator = " ; "

// Explained works like [Test], but compares programs and requires a reason for the value of every
// register. The file lists one register per line, followed by its reason:
//
//	Common.Cfg ShPref=3 ShMin=3 ShMax=3 ; a patch is 8 rows of 16 pixels
//
// A register without a reason is an error. With -rewrite, registers whose values have not changed
// keep their reasons.
func Explained(t *testing.T, pattern string, program func(t *testing.T, c *Case) *loader.Program) {
	t.Helper()
	Test(t, pattern, func(t *testing.T, c *Case) string {
		why := map[string]string{}
		td := ""
		for i, line := range c.Want {
			text, reason, ok := strings.Cut(line, reasonSeparator)
			if text = strings.TrimRight(text, " "); strings.HasPrefix(text, "td ") {
				td = text
			}
			if ok {
				// By descriptor and line: a reason belongs to a value, so a register that changes has none
				// until somebody writes it.
				why[td+text], c.Want[i] = reason, text
			}
		}
		var b strings.Builder
		registers, err := registers(program(t, c))
		if err != nil {
			t.Fatal(err)
		}
		for i := range registers {
			head, lines := registers[i].formatLines()
			b.WriteString(head)
			td, _, _ = strings.Cut(head, "\n")
			for _, line := range lines {
				reason := why[td+line]
				if reason == "" && !*rewrite {
					t.Errorf("%v: td %d%s: missing the reason for the register's value", c, i, line)
				}
				if *rewrite {
					line = fmt.Sprintf("%-58s%s%s", line, reasonSeparator, reason)
				}
				b.WriteString(line + "\n")
			}
		}
		return b.String()
	})
}

// formatLines returns the description of the descriptor, and its registers with one per
// line.
func (d *Descriptor) formatLines() (head string, lines []string) {
	head = fmt.Sprintf("td %d: %s\n", d.Index, d.About.Operation)
	for label, text := range d.About.Lines() {
		head += fmt.Sprintf("  %-7s %s\n", label, text)
	}
	for _, r := range joinEqualRegisters(d.Fields) {
		text := r.String()
		if name, fields, ok := strings.Cut(text, "{"); ok {
			text = name + " " + strings.TrimSuffix(fields, "}")
		} else {
			text = strings.Replace(text, "=", " ", 1)
		}
		lines = append(lines, "  "+r.group+"."+text)
	}
	return head, lines
}
