package params

import (
	"bytes"
	"fmt"
	"slices"

	"anesim/hw/regs"
	"anesim/loader"
)

// maxValues is the largest number of values of a parameter for which [Derive] compiles programs.
const maxValues = 1 << 10

// A DeriveError reports that no single program can serve all values of a parameter. Either a field
// is not a linear function of the parameter, or the programs differ in other ways, or the
// parameter's name or range is invalid.
type DeriveError struct {
	Name  string // the parameter
	Value uint64 // value at which the program differs
	What  string // the difference, as a clause
}

func (e *DeriveError) Error() string {
	return fmt.Sprintf("cannot derive one program for every %s: at %s=%d %s", e.Name, e.Name, e.Value, e.What)
}

// Derive makes one program that serves all values of a parameter in range r. The function compile
// returns the program for a given value, and Derive calls it for every value in r. Derive returns
// the program for the largest value, and the set of fields, sizes and strides that depend on the
// parameter. It checks that setting the parameter to a value gives the same words as the program
// compiled for it. The error is a *DeriveError, or an error from compile or [Set.Apply].
func Derive(name string, r loader.Range, compile func(value uint64) (*loader.Program, error)) (*loader.Program, *Set, error) {
	bad := func(v uint64, format string, args ...any) (*loader.Program, *Set, error) {
		return nil, nil, &DeriveError{name, v, fmt.Sprintf(format, args...)}
	}
	switch {
	case !isParameterName(name):
		return bad(r.Start, "the parameter name is invalid")
	case r.Start >= r.Stop || r.Step == 0 || (r.Stop-r.Start)%r.Step != 0:
		return bad(r.Stop, "the range is invalid; want START below STOP and STOP-START a multiple of STEP")
	case r.Stop>>valueBits != 0:
		return bad(r.Stop, "the value has more than %d bits", valueBits)
	case (r.Stop-r.Start)/r.Step >= maxValues:
		return bad(r.Stop, "the range has more than %d values", maxValues)
	}
	// The two ends determine every linear term. The program of the largest value is the one that
	// is kept, because its buffers have room for all others.
	low, err := compile(r.Start)
	if err != nil {
		return nil, nil, err
	}
	high, err := compile(r.Stop)
	if err != nil {
		return nil, nil, err
	}
	d := derivation{name: name, r: r, low: low, high: high}
	d.set.Parameters = []Parameter{{name, r.Stop, r}}
	if what := d.relocateChangedFields(); what != "" {
		return bad(r.Start, "%s", what)
	}
	if what := d.addChangedPortAxes(); what != "" {
		return bad(r.Start, "%s", what)
	}
	whole, err := d.set.Apply(high)
	if err != nil {
		return nil, nil, err
	}
	// Between the ends the compiler may choose otherwise (another tile, one more task), so every
	// value is compiled and compared. The ends are compared too: a field of few bits may not hold
	// what was fitted.
	for v := r.Start; v <= r.Stop; v += r.Step {
		p := low
		if v == r.Stop {
			p = high
		} else if v != r.Start {
			if p, err = compile(v); err != nil {
				return nil, nil, err
			}
		}
		if what := findFirstDifference(whole, p, name, v); what != "" {
			return bad(v, "%s", what)
		}
	}
	return high, &d.set, nil
}

// A derivation holds the programs of the lowest and the highest value of a parameter while [Derive]
// combines them.
type derivation struct {
	name      string
	r         loader.Range
	low, high *loader.Program
	set       Set
}

// fitLinearTerm returns numbers such that (scale*v + plus) >> shift is a for the first value v of
// the range, and b for the last. It uses the smallest shift from minShift to 16 for which scale is
// an integer. ok is false if there is none.
func (d *derivation) fitLinearTerm(a, b uint64, minShift int) (scale, plus int64, shift int, ok bool) {
	span := int64(d.r.Stop - d.r.Start)
	for shift = minShift; shift <= 16; shift++ {
		rise := (int64(b) - int64(a)) << shift
		if rise%span == 0 {
			scale = rise / span
			return scale, int64(a)<<shift - scale*int64(d.r.Start), shift, true
		}
	}
	return 0, 0, 0, false
}

// relocateChangedFields adds a relocation for each field that differs between the programs of the
// lowest and the highest value. It returns why the programs cannot be combined, or "" if they can.
func (d *derivation) relocateChangedFields() string {
	low, err := listDescriptors(d.low)
	if err != nil {
		return err.Error()
	}
	high, err := listDescriptors(d.high)
	if err != nil {
		return err.Error()
	}
	if len(low) != len(high) {
		return fmt.Sprintf("the chain has %d descriptors, but %d at %s=%d", len(low), len(high), d.name, d.r.Stop)
	}
	// A parameter changes values of fields, and nothing else: not the header (apart from the
	// estimate of its time, which nothing reads), not which registers a descriptor writes, and
	// not bits without a name, of which it is unknown what a value between would mean.
	for k := range low {
		if headerWithoutTime(low[k]) != headerWithoutTime(high[k]) {
			return fmt.Sprintf("descriptor %d has a different header than at %s=%d", k, d.name, d.r.Stop)
		}
		if !slices.EqualFunc(low[k].Records, high[k].Records, func(a, b regs.Record) bool { return a.Addr == b.Addr && len(a.Values) == len(b.Values) }) {
			return fmt.Sprintf("descriptor %d writes different registers than at %s=%d", k, d.name, d.r.Stop)
		}
		for i, rec := range low[k].Records {
			for j, a := range rec.Values {
				b := high[k].Records[i].Values[j]
				if a == b {
					continue
				}
				reg, ok := regs.RegisterAt(rec.Addr + 4*uint32(j))
				if !ok || reg.Unknown(a) != reg.Unknown(b) {
					return fmt.Sprintf("descriptor %d has different unnamed bits in register %#x than at %s=%d", k, rec.Addr+4*uint32(j), d.name, d.r.Stop)
				}
				for _, f := range reg.Fields {
					if f.Of(a) == f.Of(b) {
						continue
					}
					scale, plus, shift, ok := d.fitLinearTerm(uint64(f.Of(a)), uint64(f.Of(b)), f.Unit())
					if !ok || scale == 0 {
						return fmt.Sprintf("%s.%s.%s of descriptor %d is %d, but %d at %s=%d, which is not linear", reg.Block, reg.Name, f.Name, k, f.Of(a), f.Of(b), d.name, d.r.Stop)
					}
					d.set.Relocations = append(d.set.Relocations, loader.Relocation{
						Kind: loader.LiveIn, Task: k, Register: reg.Addr(), Bit: f.Low, Width: f.Width, Shift: shift,
						Name: d.name, Value: d.r.Stop, Range: d.r, Scale: scale, Plus: plus,
					})
				}
			}
		}
	}
	return ""
}

// addChangedPortAxes adds an axis for each size and stride of a port that differs between the
// programs of the lowest and the highest value. It returns why the programs cannot be combined, or
// "" if they can.
func (d *derivation) addChangedPortAxes() string {
	if len(d.low.Ports) != len(d.high.Ports) {
		return fmt.Sprintf("the program has %d ports, but %d at %s=%d", len(d.low.Ports), len(d.high.Ports), d.name, d.r.Stop)
	}
	for i := range d.low.Ports {
		a, b := &d.low.Ports[i], &d.high.Ports[i]
		if a.Name != b.Name || a.Direction != b.Direction || a.BAR != b.BAR {
			return fmt.Sprintf("%v %s is not a port at %s=%d", a.Direction, a.Name, d.name, d.r.Stop)
		}
		add := func(axis int, stride bool, from, to uint64) bool {
			if from == to {
				return true
			}
			// A port's axis has no shift, unlike a field: sizes and strides are whole.
			scale, plus, shift, ok := d.fitLinearTerm(from, to, 0)
			if ok && shift == 0 {
				d.set.Axes = append(d.set.Axes, loader.LiveAxis{Port: a.Name, Direction: a.Direction, Axis: axis, Stride: stride, Name: d.name, Scale: scale, Plus: plus})
			}
			return ok && shift == 0
		}
		for axis := range 4 {
			if !add(axis, false, uint64(a.Shape[axis]), uint64(b.Shape[axis])) {
				return fmt.Sprintf("%v %s has a size that is not linear in %s", a.Direction, a.Name, d.name)
			}
		}
		for axis := range 4 {
			if !add(axis, true, a.Strides[axis], b.Strides[axis]) {
				return fmt.Sprintf("%v %s has a stride that is not linear in %s", a.Direction, a.Name, d.name)
			}
		}
	}
	return ""
}

func listDescriptors(p *loader.Program) (list []*regs.Descriptor, err error) {
	for d, err := range p.Descriptors() {
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// findFirstDifference sets the parameter called name to value in a copy of program derived, and
// compares the copy with p, the program that was compiled for that value. It returns the first
// difference as a clause, or "" if there is none.
func findFirstDifference(derived, p *loader.Program, name string, value uint64) string {
	// The text, ports and relocations are changed below and are the derived program's own.
	q := *derived
	q.Ports, q.Relocations = slices.Clone(derived.Ports), slices.Clone(derived.Relocations)
	q.Text = slices.Clone(derived.Text)
	for i := range q.Relocations {
		r := &q.Relocations[i]
		if r.Kind != loader.LiveIn || r.Name != name {
			continue
		}
		r.Value = value
		if err := r.Store(q.Text, &q.BARs); err != nil {
			return err.Error()
		}
	}
	if err := SetShape(&q, name, value); err != nil {
		return err.Error()
	}
	got, err := listDescriptors(&q)
	if err != nil {
		return err.Error()
	}
	want, err := listDescriptors(p)
	if err != nil {
		return err.Error()
	}
	if len(got) != len(want) {
		return fmt.Sprintf("the chain has %d descriptors; want %d as in the derived program", len(want), len(got))
	}
	for k := range got {
		if headerWithoutTime(got[k]) != headerWithoutTime(want[k]) || !slices.EqualFunc(got[k].Records, want[k].Records, func(a, b regs.Record) bool { return a.Addr == b.Addr && slices.Equal(a.Values, b.Values) }) {
			return fmt.Sprintf("descriptor %d writes values that are not linear in %s", k, name)
		}
	}
	for i := range p.Ports {
		a, b := &q.Ports[i], &p.Ports[i]
		// The derived program has the memory of the largest value, so a port may need less of it.
		if a.Shape != b.Shape || a.Strides != b.Strides || b.Bytes > a.Bytes {
			return fmt.Sprintf("%v %s has a different layout than in the derived program", b.Direction, b.Name)
		}
	}
	if !bytes.Equal(findConstants(&q), findConstants(p)) {
		return "the constants differ; make them inputs of the program"
	}
	return ""
}

// findConstants returns the program's constants, from the start of the weights buffer to the end of
// its segment, or nil if the program has none.
func findConstants(p *loader.Program) []byte {
	at := p.BARs[p.WeightsBAR()]
	for i := range p.Segments {
		if s := &p.Segments[i]; at >= s.Addr && at-s.Addr < uint64(len(s.Data)) {
			return s.Data[at-s.Addr:]
		}
	}
	return nil
}

// headerWithoutTime returns the header of d with its time set to 0. The time is an estimate of the
// compiler that nothing reads.
func headerWithoutTime(d *regs.Descriptor) regs.Header {
	h := d.Header
	h.Timing = h.Timing.WithExeCycles(0)
	return h
}
