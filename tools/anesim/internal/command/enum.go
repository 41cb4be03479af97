package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anesim/hw/regs"
	"anesim/loader/enums"
)

func enumCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "enum [NAME|NUMBER]",
		Short: "Look up a name or a number in the vendor's enumerations",
		Long: `Enum prints what a name or a number stands for in every enumeration of the vendor's
software that has it: operation classes, opcodes, activation modes, element types,
reductions, paddings, return values. The name of an enumeration prints all its values,
and so does a register field that has one; without an argument, enum lists them all.`,
		Example: "  anesim enum fp16\n  anesim enum 0x3f\n  anesim enum UnitType\n  anesim enum NE.MACCfg.OpMode",
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
	for e := range regs.Enums() {
		n := 0
		for range e.Values() {
			n++
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%d\tregisters of real programs\tbytes", e.Type, strings.Join(registerFields(e), ", "), n))
	}
	return aligned(w, rows)
}

// registerFields are the register fields that an enumeration names the values of.
func registerFields(e regs.Enum) (fields []string) {
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
		var rows []string
		for _, v := range e.Values {
			rows = append(rows, enumRow(v))
		}
		return aligned(w, rows)
	}
	if found, err := findField(w, text); found || err != nil {
		return err
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

// findField prints the names that a register field's values have, by the enumeration or by
// the field.
func findField(w io.Writer, text string) (found bool, err error) {
	for e := range regs.Enums() {
		fields := registerFields(e)
		if !strings.EqualFold(e.Type, text) && !slices.ContainsFunc(fields, func(f string) bool { return strings.EqualFold(f, text) }) {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: %s, as descriptor text spells its values\n", e.Type, strings.Join(fields, ", ")); err != nil {
			return true, err
		}
		var rows []string
		for n, name := range e.Values() {
			rows = append(rows, enumRow(enums.Value{Number: uint64(n), Name: name}))
		}
		return true, aligned(w, rows)
	}
	return false, nil
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
