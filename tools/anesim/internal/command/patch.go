package command

import (
	"anesim"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/lower"
	"anesim/tools/anesim/internal/outfile"
)

// patchFlags are the flags of patch.
type patchFlags struct {
	out                string
	weights, set, bind []string
	procedure          string
}

func patchCommand() *cobra.Command {
	var f patchFlags
	c := &cobra.Command{
		Use:   "patch FILE -o OUT",
		Short: "Exchange weights and register fields of a compiled program",
		Long: `Patch writes a copy of a program with other weights, register fields or parameters.
Everything else of the file stays as it is, byte for byte.

--weights exchanges the coefficients of a descriptor in place; no descriptor changes.
NAME is td and the descriptor's number, as anesim dump counts them, or the beginning of
the weight's name in the symbol table (K and its digest). The file holds fp16 values in
the order channel, input, row, column; those of groups behind one another. NAME.bias
exchanges the biases instead. A layout that is not known is refused: palettes,
zero-skipping, windows of several taps with a stride.

--set writes a field into every descriptor that writes its register, or with a number
and a colon ahead (1:NE.MACCfg.BiasMode=1) into that descriptor alone.

--bind gives a run-time parameter of the program a value and writes it into the fields
that take it. Containers of the vendor's compiler have no such parameters.`,
		Example: "  anesim patch conv.hwx --weights td0=w.npy -o out.hwx\n  anesim patch add.hwx --set PE.Cfg.OpMode=1 -o mul.hwx",
		Args:    oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(c.OutOrStdout(), args[0])
		},
	}
	s := c.Flags()
	s.SortFlags = false
	s.StringVarP(&f.out, "output", "o", "", "write the program to `FILE` (required)")
	s.StringArrayVar(&f.weights, "weights", nil, "exchange coefficients, `NAME=FILE`; may be repeated")
	s.StringArrayVar(&f.set, "set", nil, "write a register field, `GROUP.REGISTER.FIELD=VALUE`; may be repeated")
	s.StringArrayVar(&f.bind, "bind", nil, "give a run-time parameter a value, `NAME=VALUE`; may be repeated")
	s.StringVar(&f.procedure, "procedure", "", "the `NAME` of the procedure of a container that has several; the first without")
	return c
}

func (f *patchFlags) run(w io.Writer, name string) error {
	if f.out == "" {
		return usage("patch requires -o FILE")
	}
	if len(f.weights)+len(f.set)+len(f.bind) == 0 {
		return usage("patch requires --weights, --set or --bind")
	}
	p, err := (&loader.Options{Procedure: f.procedure}).Open(name)
	if err != nil {
		return inFile(name, err)
	}
	read := []string{name}
	t := &patcher{p: p}
	for _, s := range f.set {
		if err := t.set(s); err != nil {
			return err
		}
	}
	bind, err := bindings(f.bind)
	if err != nil {
		return err
	}
	for _, s := range f.bind {
		name, _, _ := strings.Cut(s, "=")
		if err := t.bind(name, bind[name]); err != nil {
			return err
		}
	}
	for _, s := range f.weights {
		name, file, ok := strings.Cut(s, "=")
		if !ok || name == "" || file == "" {
			return usage("--weights %q: want NAME=FILE", s)
		}
		read = append(read, file)
		if err := t.weights(name, file); err != nil {
			return err
		}
	}
	// What comes out has to load as what went in did.
	if _, err := p.Link(); err != nil {
		return inFile(name, err)
	}
	if err := outfile.Avoiding(f.out, read...); err != nil {
		return err
	}
	if err := outfile.Write(f.out, p.Bytes()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s: %s\n", f.out, strings.Join(t.done, ", "))
	return err
}

// A patcher changes a program in place.
type patcher struct {
	p    *loader.Program
	done []string
}

// set writes a register's field where descriptors write the register.
func (t *patcher) set(text string) error {
	only := -1
	if number, rest, ok := strings.Cut(text, ":"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return usage("--set %q: %q is no descriptor's number", text, number)
		}
		only, text = n, rest
	}
	o, err := anesim.ParseOverride(text)
	if err != nil {
		return &usageError{err}
	}
	mask, value := ^uint32(0), o.Value
	if o.Field != nil {
		mask, value = o.Field.With(0, 1<<o.Field.Width-1), o.Field.With(0, o.Value)
	}
	written := 0
	for d, err := range t.p.Descriptors() {
		if err != nil {
			return err
		}
		if only >= 0 && d.Index != only {
			continue
		}
		for _, at := range t.p.WordsOf(d, o.Register.Addr()) {
			w := t.p.Text[at:]
			binary.LittleEndian.PutUint32(w, regs.Masked(binary.LittleEndian.Uint32(w), mask, value))
			written++
		}
	}
	if written == 0 {
		who := "no descriptor writes"
		if only >= 0 {
			who = fmt.Sprintf("descriptor %d does not write", only)
		}
		return fmt.Errorf("--set %s: %s %s.%s", text, who, o.Register.Block, o.Register.Name)
	}
	t.done = append(t.done, fmt.Sprintf("%s in %s", text, plural(written, "place")))
	return nil
}

// bind writes a parameter into the fields that take it.
func (t *patcher) bind(name string, value uint64) error {
	written := 0
	for i := range t.p.Relocations {
		r := &t.p.Relocations[i]
		if r.Kind != loader.LiveIn || r.Name != name {
			continue
		}
		r.Value = value
		v, err := r.Resolve(&t.p.BARs)
		if err != nil {
			return err
		}
		w := t.p.Text[r.Off:]
		binary.LittleEndian.PutUint32(w, r.Patch(binary.LittleEndian.Uint32(w), v))
		written++
	}
	if written == 0 {
		return fmt.Errorf("--bind %s: the program has no such run-time parameter", name)
	}
	t.done = append(t.done, fmt.Sprintf("%s in %s", name, plural(written, "place")))
	return nil
}

// weights exchanges the coefficients of a descriptor.
func (t *patcher) weights(name, file string) error {
	who, bias := strings.CutSuffix(name, ".bias")
	index, layout, err := t.layout(who)
	if err != nil {
		return fmt.Errorf("--weights %s: %w", name, err)
	}
	values, _, err := readTensor(file)
	if err != nil {
		return inFile(file, err)
	}
	constants, err := t.constants()
	if err != nil {
		return fmt.Errorf("--weights %s: %w", name, err)
	}
	set, what := layout.SetWeights, "weight"
	if bias {
		set, what = layout.SetBiases, "bias value"
	}
	if err := set(constants, values); err != nil {
		return inFile(file, err)
	}
	t.done = append(t.done, fmt.Sprintf("%s of descriptor %d", plural(len(values), what), index))
	return nil
}

// constants are the bytes behind the buffer of the weights.
func (t *patcher) constants() ([]byte, error) {
	at := t.p.BARs[regs.BARWeights]
	for i := range t.p.Segments {
		if s := &t.p.Segments[i]; at >= s.Addr && at < s.End() && s.Data != nil {
			return s.Data[at-s.Addr:], nil
		}
	}
	return nil, &lower.LayoutError{What: "the file has no constants; give them to anesim run as an input"}
}

// layout finds a descriptor by its number or its weight's name.
func (t *patcher) layout(name string) (int, *lower.Layout, error) {
	want := uint64(0)
	only := -1
	if number, ok := strings.CutPrefix(name, "td"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return 0, nil, fmt.Errorf("%q is no descriptor's number", number)
		}
		only = n
	} else {
		digest, ok := t.digest(name)
		if !ok {
			return 0, nil, fmt.Errorf("no weight of the program, or several, begin with %q; td0 is that of the first descriptor", name)
		}
		want = digest
	}
	var file regs.File
	var g regs.Groups
	count := 0
	for d, err := range t.p.Descriptors() {
		if err != nil {
			return 0, nil, err
		}
		if err := d.Apply(&file); err != nil {
			return 0, nil, err
		}
		file.Snapshot(&g)
		count++
		if only >= 0 && d.Index != only || only < 0 && !t.reads(&g, want) {
			continue
		}
		l, err := lower.LayoutOf(&d.Header, &g)
		return d.Index, l, err
	}
	if only < 0 {
		return 0, nil, fmt.Errorf("no descriptor reads the weight %s", name)
	}
	return 0, nil, fmt.Errorf("the program has %s", plural(count, "descriptor"))
}

// digest is the address of the one weight whose name begins so.
func (t *patcher) digest(name string) (addr uint64, ok bool) {
	found := ""
	for _, tile := range t.p.Tiles {
		full := "K" + tile.Digest
		if len(name) < 2 || len(full) < len(name) || !strings.EqualFold(full[:len(name)], name) || !tile.Live {
			continue
		}
		if found != "" && found != full {
			return 0, false
		}
		if found == "" {
			found, addr = full, tile.Addr
		}
	}
	return addr, found != ""
}

// reads reports whether a lane of the descriptor reads the constants at an address.
func (t *patcher) reads(g *regs.Groups, addr uint64) bool {
	k := &g.KernelDMASrc
	for i, c := range k.CoeffDMAConfig {
		if c.En() && t.p.BARs[regs.BARWeights]+uint64(k.CoeffBaseAddr[i].Bytes()) == addr {
			return true
		}
	}
	return false
}
