package patch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/spelling"
	"anesim/loader"
	"anesim/loader/internal/lower/coeff"
)

// An Error reports a change that cannot be made. The program is then unchanged.
type Error struct {
	What string // requested change
	Why  string // why it cannot be made
	Err  error  // the cause, or nil
}

// Unwrap returns the error that caused e, or nil if there is none.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	s := e.What + ": " + e.Why
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// A Program is a compiled program whose bytes can be changed in place.
type Program struct {
	*loader.Program
	Done []string // descriptions of the changes made
}

// Set changes the value of a register in every descriptor that writes it. text is
// GROUP.REGISTER.FIELD=VALUE for a field or GROUP.REGISTER=VALUE for a whole register; see
// [regs.ParseAssignment]. A prefix such as 3: restricts the change to descriptor 3. If text is
// malformed or no descriptor writes the register, Set returns an error and changes nothing.
func (p *Program) Set(text string) error {
	fail := func(format string, args ...any) error { return &Error{What: text, Why: fmt.Sprintf(format, args...)} }
	only, rest := -1, text
	if number, after, ok := strings.Cut(text, ":"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return fail("invalid descriptor number %q; want 0 or more", number)
		}
		only, rest = n, after
	}
	r, field, value, err := regs.ParseAssignment(rest)
	if err != nil {
		why := err.Error()
		if a := (*regs.AssignmentError)(nil); errors.As(err, &a) {
			why += spelling.Suggest(a.Unknown, a.Names)
		}
		return &Error{What: text, Why: why}
	}
	mask := ^uint32(0)
	if field != nil {
		mask, value = field.With(0, 1<<field.Width-1), field.With(0, value)
	}
	var words []uint32 // offsets of the words to change
	for d, err := range p.Descriptors() {
		if err != nil {
			return err
		}
		if only < 0 || d.Index == only {
			words = append(words, p.WordsOf(d, r.Addr())...)
		}
	}
	switch {
	// A descriptor that does not write the register takes its value from an earlier one, so there is no
	// place to change.
	case len(words) == 0 && only >= 0:
		return fail("descriptor %d does not write %s.%s", only, r.Block, r.Name)
	case len(words) == 0:
		return fail("no descriptor writes %s.%s", r.Block, r.Name)
	}
	for _, at := range words {
		w := p.Text[at:]
		binary.LittleEndian.PutUint32(w, regs.Masked(binary.LittleEndian.Uint32(w), mask, value))
	}
	p.Done = append(p.Done, fmt.Sprintf("%s in %s", text, formatCount(len(words), "place")))
	return nil
}

// formatCount returns the number n followed by noun, with an s appended unless n is 1.
func formatCount(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Bind sets the run-time parameter with the given name to value and updates the fields that depend
// on it. It returns an error and changes nothing if there is no such parameter, or if the value is
// out of range or does not fit in a field.
func (p *Program) Bind(name string, value uint64) error {
	relocations, text := slices.Clone(p.Relocations), slices.Clone(p.Text)
	written := 0
	for i := range relocations {
		r := &relocations[i]
		if r.Kind != loader.LiveIn || r.Name != name {
			continue
		}
		r.Value = value
		if err := r.Store(text, &p.BARs); err != nil {
			return err
		}
		written++
	}
	if written == 0 {
		return &Error{What: name, Why: "unknown run-time parameter"}
	}
	copy(p.Text, text)
	copy(p.Relocations, relocations)
	p.Done = append(p.Done, fmt.Sprintf("%s=%d in %s", name, value, formatCount(written, "place")))
	return nil
}

// Weights replaces the weights of a descriptor with values. name is the number of the descriptor,
// such as 3 or td3, or the beginning of the symbol of its weights, which is K followed by a hash.
// If name ends in .bias, Weights replaces the biases instead. The order of values is [group][output
// channel][input channel][row][column], without padding. Weights returns an *Error if the number of
// values is wrong, or if the descriptor has no weights in a known order.
func (p *Program) Weights(name string, values []float16.Float16) error {
	who, bias := strings.CutSuffix(name, ".bias")
	index, layout, err := p.findLayout(who)
	if err != nil {
		return err
	}
	constants := p.findConstants()
	if constants == nil {
		return &Error{What: name, Why: "file has no constants; pass the weights as an input"}
	}
	set, what := layout.SetWeights, "weight"
	if bias {
		set, what = layout.SetBiases, "bias value"
	}
	if err := set(constants, values); err != nil {
		return &Error{What: name, Why: "cannot replace values", Err: err}
	}
	p.Done = append(p.Done, fmt.Sprintf("%s of descriptor %d", formatCount(len(values), what), index))
	return nil
}

// findConstants returns the program's constants, from the start of the weights buffer to the end of
// its segment, or nil if the file has none.
func (p *Program) findConstants() []byte {
	at := p.BARs[p.WeightsBAR()]
	for i := range p.Segments {
		if s := &p.Segments[i]; at >= s.Addr && at-s.Addr < uint64(len(s.Data)) {
			return s.Data[at-s.Addr:]
		}
	}
	return nil
}

// isDecimal reports whether s consists of one or more decimal digits.
func isDecimal(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// findLayout returns the number and the weight layout of a descriptor. name is the descriptor's
// number, such as "3" or "td3", or a prefix of the symbol of its weights.
func (p *Program) findLayout(name string) (int, *coeff.Layout, error) {
	fail := func(format string, args ...any) (int, *coeff.Layout, error) {
		return 0, nil, &Error{What: name, Why: fmt.Sprintf(format, args...)}
	}
	only, addr := -1, uint64(0)
	if number, ok := strings.CutPrefix(name, "td"); ok || isDecimal(name) {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 {
			return fail("invalid descriptor number %q; want 0 or more", number)
		}
		only = n
	} else {
		var ok bool
		if addr, ok = p.findWeights(name); !ok {
			return fail("unknown or ambiguous weight symbol; want a unique prefix, or a descriptor number such as 0")
		}
	}
	var file regs.File
	var g regs.Groups
	n := 0
	for d, err := range p.Descriptors() {
		if err != nil {
			return 0, nil, err
		}
		// A descriptor writes only the registers that differ from those before it, so all earlier ones are
		// applied.
		if err := d.Apply(&file); err != nil {
			return 0, nil, err
		}
		file.Snapshot(&g)
		n++
		if only >= 0 && d.Index != only || only < 0 && !p.loadsWeightsFrom(&g, addr) {
			continue
		}
		// The first task that loads the weights decides: others that share them are assumed to read them
		// in the same layout.
		l, err := coeff.ReadLayout(&d.Header, &g, p.WeightsBAR())
		if err != nil {
			return 0, nil, &Error{What: name, Why: "unsupported weight layout", Err: err}
		}
		return d.Index, l, nil
	}
	if only < 0 {
		return fail("no descriptor reads the weights with this symbol")
	}
	return fail("unknown descriptor; the program has %s", formatCount(n, "descriptor"))
}

// findWeights returns the device address of the weights whose symbol begins with name, ignoring
// case. ok is false if there are none, or several.
func (p *Program) findWeights(name string) (addr uint64, ok bool) {
	found := ""
	for _, t := range p.Tiles {
		full := "K" + t.Digest
		if len(name) < 2 || len(full) < len(name) || !strings.EqualFold(full[:len(name)], name) || !t.Live {
			continue
		}
		if found != "" && found != full {
			return 0, false
		}
		if found == "" {
			found, addr = full, t.Addr
		}
	}
	return addr, found != ""
}

// loadsWeightsFrom reports whether a descriptor with registers g makes an engine load its weights
// from device address addr.
func (p *Program) loadsWeightsFrom(g *regs.Groups, addr uint64) bool {
	k := &g.KernelDMASrc
	for i, c := range k.CoeffDMAConfig {
		if c.En() && p.BARs[p.WeightsBAR()]+uint64(k.CoeffBaseAddr[i].Bytes()) == addr {
			return true
		}
	}
	return false
}
