package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"anesim/loader/enums"
)

func enumCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "enum [NAME|NUMBER]",
		Short: "Look up a name or a number in the vendor's enumerations",
		Long: `Enum prints what a name or a number stands for in every enumeration of the vendor's
software that has it: operation classes, opcodes, activation modes, element types,
reductions, paddings, return values. The name of an enumeration prints all its values;
without an argument, enum lists the enumerations.`,
		Example: "  anesim enum fp16\n  anesim enum 0x3f\n  anesim enum UnitType",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%s takes one name or number, not %d", c.CommandPath(), len(args))
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
	rows := []string{"name\tvendor's name\tvalues\tsource\tevidence"}
	for e := range enums.All() {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%s\t%s", e.Name, e.Vendor, len(e.Values), e.Source, e.Evidence))
	}
	return aligned(w, rows)
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
		var rows []string
		for _, v := range e.Values {
			rows = append(rows, enumRow(v))
		}
		return aligned(w, rows)
	}
	var rows []string
	for m := range enums.Find(text) {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s, %s", m.Enum.Name, enumRow(m.Value), m.Enum.Source, m.Enum.Evidence))
	}
	if len(rows) == 0 {
		return fmt.Errorf("no enumeration has %q; anesim enum lists them", text)
	}
	return aligned(w, rows)
}

func enumRow(v enums.Value) string {
	number := fmt.Sprint(v.Number)
	if v.Number > 9 {
		number = fmt.Sprintf("%#x", v.Number)
		if v.Number < 1000 {
			number += fmt.Sprintf(" (%d)", v.Number)
		}
	}
	return number + "\t" + v.Name + "\t" + v.Note
}
