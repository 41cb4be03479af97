package command

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"anesim/hw/regs"
	"anesim/internal/enums"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
)

func enumCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "enum [NAME|NUMBER]",
		Short: "Look up a name or a number in Apple's enumerations",
		Long: `Enum prints the meaning of a name or a number in every enumeration of the vendor's
software that contains it: operation classes, opcodes, activation modes, element types,
reductions, paddings, return values. The name of an enumeration, or a register field that
has one, prints all its values. Without an argument, enum lists the enumerations.`,
		Example: "  anesim enum fp16\n  anesim enum 0x3f\n  anesim enum UnitType\n  anesim enum NE.MACCfg.OpMode",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.Errorf("%s: found %d arguments; want one name or number", c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listEnums(c.OutOrStdout())
			}
			return findEnum(c.OutOrStdout(), args[0])
		},
	}
}

func listEnums(w io.Writer) error {
	t := terminal.Words("name", "Apple's name", "values", "source", "evidence")
	for e := range enums.All() {
		t.Add(e.Name, e.Vendor, strconv.Itoa(len(e.Values)), e.Source, string(e.Evidence))
	}
	for e := range regs.Enums() {
		n := 0
		for range e.Values() {
			n++
		}
		t.Add(e.Type, strings.Join(listRegisterFields(e), ", "), strconv.Itoa(n), "registers of real programs", "bytes")
	}
	return t.Print(w, 0)
}

// listRegisterFields returns the register fields whose values are named by the enumeration e.
func listRegisterFields(e regs.Enum) (fields []string) {
	for r := range regs.Registers() {
		for _, f := range r.Fields {
			if f.Type == e.Type {
				fields = append(fields, r.Block+"."+r.Name+"."+f.Name)
			}
		}
	}
	return fields
}

func findEnum(w io.Writer, text string) error {
	for e := range enums.All() {
		if !strings.EqualFold(e.Name, text) && !strings.EqualFold(e.Vendor, text) {
			continue
		}
		note := ""
		if e.Note != "" {
			note = "; " + e.Note
		}
		if _, err := fmt.Fprintf(w, "%s: %s (%s, %s)%s\n", e.Name, e.Vendor, e.Source, e.Evidence, note); err != nil {
			return err
		}
		var t terminal.Table
		addValues(&t, e.Values)
		return t.Print(w, 0)
	}
	if found, err := findField(w, text); found || err != nil {
		return err
	}
	var t terminal.Table
	for m := range enums.Find(text) {
		t.Add(m.Enum.Name, formatNumber(m.Value.Number), m.Value.Name, m.Value.Note, fmt.Sprintf("%s, %s", m.Enum.Source, m.Enum.Evidence))
	}
	if t.Rows() == 0 {
		return fmt.Errorf(`unknown name or number %q; run "anesim enum" to list all enumerations`, text)
	}
	return t.Print(w, 0)
}

// findField prints the named values of the register field that text names. The text may also be the
// name of the field's enumeration. The result found is false if there is no such field.
func findField(w io.Writer, text string) (found bool, err error) {
	for e := range regs.Enums() {
		fields := listRegisterFields(e)
		if !strings.EqualFold(e.Type, text) && !slices.ContainsFunc(fields, func(f string) bool { return strings.EqualFold(f, text) }) {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: %s, as descriptor text spells its values\n", e.Type, strings.Join(fields, ", ")); err != nil {
			return true, err
		}
		var t terminal.Table
		for n, name := range e.Values() {
			t.Add(formatNumber(uint64(n)), name)
		}
		return true, t.Print(w, 0)
	}
	return false, nil
}

// addValues adds a row for each value to t. It aligns the notes of consecutive values.
func addValues(t *terminal.Table, list []enums.Value) {
	for len(list) > 0 {
		n, width := 0, 0
		for n < len(list) && list[n].Note != "" {
			width = max(width, len(list[n].Name))
			n++
		}
		for _, v := range list[:n] {
			t.Add(formatNumber(v.Number), fmt.Sprintf("%-*s%*s%s", width, v.Name, terminal.Gap, "", v.Note))
		}
		list = list[n:]
		if len(list) > 0 {
			t.Add(formatNumber(list[0].Number), list[0].Name)
			list = list[1:]
		}
	}
}

// formatNumber formats the number of a value. Numbers below 10 are decimal, numbers below 1000 are
// hexadecimal followed by decimal, and larger numbers are hexadecimal.
func formatNumber(n uint64) string {
	switch {
	case n <= 9:
		return fmt.Sprint(n)
	case n < 1000:
		return fmt.Sprintf("%#x (%d)", n, n)
	}
	return fmt.Sprintf("%#x", n)
}
