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

	"anesim/internal/outfile"
	"anesim/loader"
	"anesim/loader/params"
	"anesim/loader/patch"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/usage"
)

// patchFlags holds the flags of patch.
type patchFlags struct {
	plan               *outfile.Plan
	out                string
	weights, set, bind []string
	procedure          string
	params             string
}

func patchCommand(plan *outfile.Plan) *cobra.Command {
	f := patchFlags{plan: plan}
	c := &cobra.Command{
		Use:   "patch FILE -o OUT",
		Short: "Replace weights and register fields of a compiled program",
		Long: `Patch writes a copy of a program with other weights, register fields or parameters.
All other bytes of the file stay the same.

--weights replaces the weights of a descriptor in place; no descriptor changes. NAME is
the number of the descriptor as anesim dump counts them (0 or td0), or the beginning of
the weights' name in the symbol table (K and its digest). The file holds fp16 values in
the order output channel, input channel, row, column, group after group. NAME.bias
replaces the biases instead. Unknown layouts are refused: palettes, zero-skipping, and
windows of several taps with a stride.

--set writes a field in every descriptor that writes its register, or only in the
descriptor whose number and a colon come first (1:NE.MACCfg.BiasMode=1).

--bind sets a run-time parameter of the program and writes it to the fields that depend
on it. A container cannot store parameters: --params names the file that describes them.
FILE may also be descriptor text, which defines its own parameters (.bind); it is
assembled with the values.`,
		Example: "  anesim patch conv.hwx --weights 0=w.npy -o out.hwx\n  anesim patch add.hwx --set PE.Cfg.OpMode=1 -o mul.hwx",
		Args:    usage.OneFile,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), c.InOrStdin(), args[0])
		},
	}
	s := c.Flags()
	s.SortFlags = false
	s.StringVarP(&f.out, "output", "o", "", "write the program to `FILE` (required)")
	s.StringArrayVar(&f.weights, "weights", nil, "replace weights, `NAME=FILE`; repeatable")
	s.StringArrayVar(&f.set, "set", nil, "write a register field, `BLOCK.REGISTER.FIELD=VALUE`; repeatable")
	s.StringArrayVar(&f.bind, "bind", nil, "set a run-time parameter, `NAME=VALUE`; repeatable")
	s.StringVar(&f.params, "params", "", "read the program's run-time parameters from `FILE`")
	s.StringVar(&f.procedure, "procedure", "", "`NAME` of the procedure, for containers with several; default is the first")
	return c
}

func (f *patchFlags) run(w io.Writer, stdin io.Reader, name string) error {
	if f.out == "" {
		return usage.Errorf("missing -o FILE")
	}
	if len(f.weights)+len(f.set)+len(f.bind) == 0 {
		return usage.Errorf("missing --weights, --set or --bind")
	}
	bind, err := flags.ParseBindings(f.bind)
	if err != nil {
		return err
	}
	p, read, err := f.openProgram(name, stdin, bind)
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
	// Check that the patched program still loads.
	if _, err := p.Link(); err != nil {
		return input.InFile(name, err)
	}
	if err := f.plan.Read(read...); err != nil {
		return err
	}
	if err := outfile.Write(f.out, p.Bytes()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s: %s\n", f.out, strings.Join(p.Done, ", "))
	return err
}

// openProgram reads a program and binds its parameters; it assembles descriptor text first. It also
// returns the names of the files that it read.
func (f *patchFlags) openProgram(name string, stdin io.Reader, bind map[string]uint64) (p *patch.Program, read []string, err error) {
	data, err := input.ReadFile(name, stdin, maxConverted)
	if err != nil {
		return nil, nil, err
	}
	opened, err := input.ReadProgram(&loader.Options{Procedure: f.procedure}, filepath.Base(name), bytes.NewReader(data), int64(len(data)))
	// The loader refuses descriptor text by its form; that is how text is recognized here.
	var u *loader.UnsupportedError
	if errors.As(err, &u) && u.Form == loader.DescriptorText {
		return f.assembleText(name, data, bind)
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

// assembleText assembles descriptor text with the values in bind for its parameters. It also
// returns the names of the files that it read.
func (f *patchFlags) assembleText(name string, text []byte, bind map[string]uint64) (*patch.Program, []string, error) {
	if f.params != "" {
		return nil, nil, usage.Errorf("--params does not apply to descriptor text, which defines its own parameters")
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
