package command

import (
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"anesim/bench/report"
	"anesim/loader/asm"
	"anesim/tools/anesim/internal/outfile"
)

// asmFlags are the flags of asm.
type asmFlags struct {
	out  string
	bind []string
}

func asmCommand() *cobra.Command {
	var f asmFlags
	c := &cobra.Command{
		Use:   "asm FILE.td -o OUT",
		Short: "Assemble a descriptor text",
		Long: `Asm makes a program of a descriptor text: a container when the text has ports, else a
bare chain. What dump --text prints assembles to the bytes it was printed from.
docs/assembler.md describes the text, with a program that computes.`,
		Example: "  anesim asm relu.td -o relu.hwx\n  anesim asm relu.td --bind factor=3 -o relu3.hwx",
		Args:    oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), c.InOrStdin(), args[0])
		},
	}
	s := c.Flags()
	s.SortFlags = false
	s.StringVarP(&f.out, "output", "o", "", "write the program to `FILE` (required)")
	s.StringArrayVar(&f.bind, "bind", nil, "give a parameter of the text a value, `NAME=VALUE`; may be repeated")
	return c
}

func (f *asmFlags) run(w io.Writer, stdin io.Reader, name string) error {
	if f.out == "" {
		return usage("asm requires -o FILE")
	}
	bind, err := bindings(f.bind)
	if err != nil {
		return err
	}
	text, err := readFile(name, stdin, maxPiped)
	if err != nil {
		return err
	}
	u, read, err := assemble(name, text, bind)
	if err != nil {
		return err
	}
	file, err := u.File()
	if err != nil {
		return inFile(name, err)
	}
	if err := outfile.Avoiding(f.out, read...); err != nil {
		return err
	}
	if err := outfile.Write(f.out, file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s: %s, %d bytes\n", f.out, report.Plural(len(u.Chain), "descriptor"), len(file))
	return err
}

// assemble assembles a file's descriptor text with parameters' values; read are the files it
// took.
func assemble(name string, text []byte, bind map[string]uint64) (u *asm.Unit, read []string, err error) {
	read = []string{name}
	u, err = asm.Assemble(name, text, &asm.Options{
		Bind: bind,
		Weights: func(weights string) ([]byte, error) {
			// A text names files from where it stands.
			if !filepath.IsAbs(weights) {
				weights = filepath.Join(filepath.Dir(name), weights)
			}
			read = append(read, weights)
			return readFP16(weights)
		},
	})
	return u, read, err
}

// bindings reads NAME=VALUE words.
func bindings(words []string) (map[string]uint64, error) {
	bind := make(map[string]uint64)
	for _, s := range words {
		name, value, ok := strings.Cut(s, "=")
		n, err := strconv.ParseUint(value, 0, 42)
		if !ok || name == "" || err != nil {
			return nil, usage("--bind %q: want NAME=VALUE, a number", s)
		}
		if _, twice := bind[name]; twice {
			return nil, usage("--bind %s is given twice", name)
		}
		bind[name] = n
	}
	return bind, nil
}

// readFP16 is the fp16 values of a file as little-endian bytes.
func readFP16(name string) ([]byte, error) {
	values, _, err := readTensor(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, 2*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, v.Bits())
	}
	return b, nil
}
