package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/usage"
)

// asmFlags holds the flags of asm.
type asmFlags struct {
	plan *outfile.Plan
	out  string
	bind []string
}

func asmCommand(plan *outfile.Plan) *cobra.Command {
	f := asmFlags{plan: plan}
	c := &cobra.Command{
		Use:   "asm FILE.td -o OUT",
		Short: "Assemble a descriptor text",
		Long: `Asm assembles a descriptor text to a program. The program is a container if the text has
ports, and a bare chain otherwise. The output of dump --text assembles to the bytes that
it was printed from. docs/assembler.md describes the text, with a program that computes.`,
		Example: "  anesim asm relu.td -o relu.hwx\n  anesim asm relu.td --bind factor=3 -o relu3.hwx",
		Args:    usage.OneFile,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), c.InOrStdin(), args[0])
		},
	}
	s := c.Flags()
	s.SortFlags = false
	s.StringVarP(&f.out, "output", "o", "", "write the program to `FILE` (required)")
	s.StringArrayVar(&f.bind, "bind", nil, "set a parameter of the text, `NAME=VALUE`; repeatable")
	return c
}

func (f *asmFlags) run(w io.Writer, stdin io.Reader, name string) error {
	if f.out == "" {
		return usage.Errorf("missing -o FILE")
	}
	bind, err := flags.ParseBindings(f.bind)
	if err != nil {
		return err
	}
	text, err := input.ReadFile(name, stdin, input.MaxPiped)
	if err != nil {
		return err
	}
	u, read, err := input.Assemble(name, text, bind)
	if err != nil {
		return err
	}
	file, err := u.File()
	if err != nil {
		return input.InFile(name, err)
	}
	if err := f.plan.Read(read...); err != nil {
		return err
	}
	if err := outfile.Write(f.out, file); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%s: %s, %s bytes\n", f.out, report.Plural(len(u.Chain), "descriptor"), report.Thousands(uint64(len(file)))); err != nil {
		return err
	}
	// Relocations of a container are bytes of its text: an edit can leave them at other registers' words.
	if gaps := u.RelocationGaps(); len(gaps) > 0 {
		_, err = fmt.Fprintf(w, "warning: %v\n", gaps)
	}
	return err
}
