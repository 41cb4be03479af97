package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/asm"
	"anesim/loader/e5"
	"anesim/tools/anesim/internal/dump"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/usage"
)

// dumpFlags holds the flags of dump.
type dumpFlags struct {
	all        bool
	json       bool
	text       bool
	procedure  string
	firstWords int
}

func dumpCommand() *cobra.Command {
	var f dumpFlags
	c := &cobra.Command{
		Use:   "dump FILE...",
		Short: "Print a program's container, descriptors and registers",
		Long: `Dump prints the contents of a program: memory and ports, and for each descriptor its
header and the registers it writes, by block and with named fields.

Each descriptor begins with a description of what it computes. Fields that are zero are
left out, and registers that are zero share a line; --all prints them. Sizes, strides and
offsets are bytes in hexadecimal. +0x... are bits that are set outside all known fields.
Consecutive elements of an array share a line if they are equal or differ by a constant
step. A register that is not written keeps its value from the descriptor before.

Several FILEs are printed one after the other; - is standard input.

With --text, dump prints descriptor text, which anesim asm assembles to the same bytes;
see docs/assembler.md.

FILE is a container, a bare chain, a firmware container, a program in the Linux driver's
form, captured registers or a dispatch descriptor. Containers for generations other than
the M1's are printed without descriptors, whose layout is not known. Captured registers
have no descriptors: their words are listed by position in the image, and under "v10" in JSON.`,
		Example: `  anesim dump model.hwx
  anesim dump --all --json a.hwx b.hwx
  cat model.hwx | anesim dump -`,
		Args:              usage.SomeFiles,
		ValidArgsFunction: flags.CompleteProgram,
		RunE:              f.runFiles,
	}
	s := c.Flags()
	s.SortFlags = false
	s.BoolVar(&f.all, "all", false, "print zero fields and zero registers")
	s.BoolVar(&f.json, "json", false, "print as JSON: whole words and raw fields")
	s.BoolVar(&f.text, "text", false, "print as descriptor text for anesim asm")
	s.StringVar(&f.procedure, "procedure", "", "`NAME` of the procedure, for containers with several; default is the first")
	s.IntVar(&f.firstWords, "first-words", 0, "size of a bare text's first descriptor in `WORDS`; 0 detects it")
	return c
}

// runFiles dumps the programs in files, one after the other.
func (f *dumpFlags) runFiles(c *cobra.Command, files []string) error {
	return forEachFile(c, files, func(i int, file string) error {
		if i > 0 && !f.json {
			fmt.Fprintln(c.OutOrStdout())
		}
		return f.run(c.OutOrStdout(), c.InOrStdin(), file)
	})
}

func (f *dumpFlags) run(w io.Writer, stdin io.Reader, name string) error {
	if f.firstWords != 0 && (f.firstWords < regs.HeaderWords || f.firstWords > regs.MaxWords) {
		return usage.Errorf("--first-words %d: want %d to %d", f.firstWords, regs.HeaderWords, regs.MaxWords)
	}
	if f.text && (f.json || f.all) {
		return usage.Errorf("--text and %s are mutually exclusive", map[bool]string{true: "--json", false: "--all"}[f.json])
	}
	options := loader.Options{FirstWords: f.firstWords, Procedure: f.procedure, Inspect: true}
	var p *loader.Program
	var dispatch *e5.Program
	err := input.Open(name, stdin, func(name string, r io.ReaderAt, size int64) (err error) {
		p, err = input.ReadProgram(&options, name, r, size)
		var u *loader.UnsupportedError
		// The loader reads programs only. A dispatch descriptor has none, so it is recognized by
		// the loader's refusal; it has no descriptor text either, which leaves the refusal for --text.
		if errors.As(err, &u) && u.Form == loader.DispatchDescriptor && !f.text {
			file, readErr := input.ReadWhole(r, size, input.MaxPiped)
			if readErr != nil {
				return readErr
			}
			// For a broken one, the loader's error stands: it says what the file is.
			if d, broken := e5.Read(file); broken == nil {
				dispatch, err = d, nil
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	how := dump.Options{All: f.all, JSON: f.json}
	if dispatch != nil {
		containers, err := dump.Containers(name, dispatch)
		if err != nil {
			return input.InFile(name, err)
		}
		return dump.WriteDispatch(w, name, dispatch, containers, how)
	}
	// The form is known only after reading.
	if f.firstWords != 0 && p.Form != loader.FormText {
		return usage.Errorf("--first-words does not apply to %s; want a bare descriptor text", name)
	}
	if f.text {
		if err := asm.Write(w, p); err != nil {
			return input.InFile(name, err)
		}
		return nil
	}
	if err := dump.Write(w, p, how); err != nil {
		return input.InFile(name, err)
	}
	return nil
}
