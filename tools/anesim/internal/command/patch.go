package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"anesim/loader"
	"anesim/loader/params"
	"anesim/loader/patch"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/outfile"
	"anesim/tools/anesim/internal/usage"
)

// patchFlags are the flags of patch.
type patchFlags struct {
	out                string
	weights, set, bind []string
	procedure          string
	params             string
}

func patchCommand() *cobra.Command {
	var f patchFlags
	c := &cobra.Command{
		Use:   "patch FILE -o OUT",
		Short: "Replace weights and register fields of a compiled program",
		Long: `Patch writes a copy of a program with other weights, register fields or parameters.
Everything else of the file stays as it is, byte for byte.

--weights replaces the weights of a descriptor in place; no descriptor changes.
NAME is td and the descriptor's number, as anesim dump counts them, or the beginning of
the weight's name in the symbol table (K and its digest). The file holds fp16 values in
the order output channel, input channel, row, column, group after group. NAME.bias
replaces the biases instead. A layout that is not known is refused: palettes,
zero-skipping, windows of several taps with a stride.

--set writes a field into every descriptor that writes its register, or with a number
and a colon ahead (1:NE.MACCfg.BiasMode=1) into that descriptor alone.

--bind gives a run-time parameter of the program a value and writes it into the fields
that take it. A container has no place for parameters: --params names the text that has
them. Descriptor text has parameters of its own (.bind); FILE may be one, and is assembled
with the values.`,
		Example: "  anesim patch conv.hwx --weights td0=w.npy -o out.hwx\n  anesim patch add.hwx --set PE.Cfg.OpMode=1 -o mul.hwx",
		Args:    usage.OneFile,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), c.InOrStdin(), args[0])
		},
	}
	s := c.Flags()
	s.SortFlags = false
	s.StringVarP(&f.out, "output", "o", "", "write the program to `FILE` (required)")
	s.StringArrayVar(&f.weights, "weights", nil, "replace weights, `NAME=FILE`; may be repeated")
	s.StringArrayVar(&f.set, "set", nil, "write a register field, `BLOCK.REGISTER.FIELD=VALUE`; may be repeated")
	s.StringArrayVar(&f.bind, "bind", nil, "give a run-time parameter a value, `NAME=VALUE`; may be repeated")
	s.StringVar(&f.params, "params", "", "read the program's run-time parameters from `FILE`")
	s.StringVar(&f.procedure, "procedure", "", "the `NAME` of the procedure of a container that has several; the first without")
	return c
}

func (f *patchFlags) run(w io.Writer, stdin io.Reader, name string) error {
	if f.out == "" {
		return usage.Errorf("patch requires -o FILE")
	}
	if len(f.weights)+len(f.set)+len(f.bind) == 0 {
		return usage.Errorf("patch requires --weights, --set or --bind")
	}
	bind, err := flags.Bindings(f.bind)
	if err != nil {
		return err
	}
	p, read, err := f.open(name, stdin, bind)
	if err != nil {
		return err
	}
	for _, s := range f.set {
		if err := p.Set(s); err != nil {
			return fmt.Errorf("--set %w", err)
		}
	}
	for _, s := range f.weights {
		name, file, ok := strings.Cut(s, "=")
		if !ok || name == "" || file == "" {
			return usage.Errorf("--weights %q: want NAME=FILE", s)
		}
		read = append(read, file)
		values, _, err := input.ReadTensor(file)
		if err != nil {
			return input.InFile(file, err)
		}
		if err := p.Weights(name, values); err != nil {
			return fmt.Errorf("--weights %w", err)
		}
	}
	// What comes out has to load as what went in did.
	if _, err := p.Link(); err != nil {
		return input.InFile(name, err)
	}
	if err := outfile.Avoiding(f.out, read...); err != nil {
		return err
	}
	if err := outfile.Write(f.out, p.Bytes()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s: %s\n", f.out, strings.Join(p.Done, ", "))
	return err
}

// open reads a program and binds its parameters; a descriptor text is assembled with them.
// read are the files it took.
func (f *patchFlags) open(name string, stdin io.Reader, bind map[string]uint64) (p *patch.Program, read []string, err error) {
	data, err := input.ReadFile(name, stdin, maxConverted)
	if err != nil {
		return nil, nil, err
	}
	opened, err := (&loader.Options{Procedure: f.procedure}).Read(filepath.Base(name), bytes.NewReader(data), int64(len(data)))
	var u *loader.UnsupportedError
	if errors.As(err, &u) && u.Form == loader.DescriptorText {
		return f.assembled(name, data, bind)
	}
	if err != nil {
		return nil, nil, input.InFile(name, err)
	}
	read = []string{name}
	if f.params != "" {
		text, err := input.ReadFile(f.params, nil, params.MaxText)
		if err != nil {
			return nil, nil, err
		}
		set, err := params.Parse(text)
		if err != nil {
			return nil, nil, input.InFile(f.params, err)
		}
		if opened, err = set.Apply(opened); err != nil {
			return nil, nil, input.InFile(f.params, err)
		}
		read = append(read, f.params)
	}
	p = &patch.Program{Program: opened}
	for _, s := range f.bind {
		parameter, _, _ := strings.Cut(s, "=")
		if err := p.Bind(parameter, bind[parameter]); err != nil {
			return nil, nil, fmt.Errorf("--bind %w", err)
		}
	}
	return p, read, nil
}

func (f *patchFlags) assembled(name string, text []byte, bind map[string]uint64) (*patch.Program, []string, error) {
	if f.params != "" {
		return nil, nil, usage.Errorf("--params: descriptor text has parameters of its own")
	}
	unit, read, err := input.Assemble(name, text, bind)
	if err != nil {
		return nil, nil, err
	}
	file, err := unit.File()
	if err != nil {
		return nil, nil, input.InFile(name, err)
	}
	o := loader.Options{Procedure: f.procedure, FirstWords: unit.FirstWords()}
	opened, err := o.Read(filepath.Base(name), bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, nil, input.InFile(name, err)
	}
	return &patch.Program{Program: opened, Done: slices.Clone(f.bind)}, read, nil
}
