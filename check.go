package anesim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"anesim/hw/regs"
)

// A Difference is a measure that is not what the baseline has.
type Difference struct {
	Where    string // "total", a layer, or a descriptor
	What     string // the measure
	Unit     string
	Want     float64
	Got      float64
	Why      []string // registers and causes that explain it, the largest first
	Appeared bool     // of an output or descriptor that is new, or gone
}

// Relative is the difference as a share of what was wanted; infinite from nothing.
func (d *Difference) Relative() float64 {
	switch {
	case d.Want == d.Got:
		return 0
	case d.Want == 0:
		return math.Inf(1)
	}
	return (d.Got - d.Want) / math.Abs(d.Want)
}

// String is the difference on one line.
func (d *Difference) String() string {
	if d.Appeared {
		return fmt.Sprintf("%s: %s", d.Where, d.What)
	}
	unit := d.Unit
	if unit != "" {
		unit = " " + unit
	}
	s := fmt.Sprintf("%s: %s: want %.10g%s, got %.10g%s", d.Where, d.What, d.Want, unit, d.Got, unit)
	if r := d.Relative(); !math.IsInf(r, 0) {
		s += fmt.Sprintf(" (%+.2f %%)", 100*r)
	}
	return s
}

// A Verdict is what a check of one model came to.
type Verdict struct {
	Input string
	// Unknown says that the baseline does not have the model.
	Unknown bool
	// ModelChanged says that another version of this tool, or other constants, made the
	// baseline: what the program costs may differ though the program does not.
	ModelChanged bool
	// ProgramChanged says that registers differ.
	ProgramChanged bool
	Differences    []Difference // those beyond what is allowed
}

// Passed reports whether nothing is beyond what is allowed.
func (v *Verdict) Passed() bool { return !v.Unknown && len(v.Differences) == 0 }

// Cause says in a sentence what changed, the model or the program.
func (v *Verdict) Cause() string {
	switch {
	case v.Unknown:
		return "the baseline does not have it"
	case v.ProgramChanged && v.ModelChanged:
		return "the program changed, and so did the model: constants or version are not the baseline's"
	case v.ProgramChanged:
		return "the program changed; the model is the baseline's, so a difference within the model's interval is one of the program all the same"
	case v.ModelChanged:
		return "the model changed, the program did not: constants or version are not the baseline's"
	case len(v.Differences) > 0:
		return "neither registers nor constants changed: inputs, options or the code of the model did"
	}
	return "as in the baseline"
}

// Check compares what a model cost with the baseline's entry of its name. A measure may
// differ by a share of the baseline's value up to most; checksums of outputs may not
// differ at all.
func (b *Baseline) Check(got *BaselineEntry, most float64) Verdict {
	v := Verdict{Input: got.Input}
	at := slices.IndexFunc(b.Entries, func(e BaselineEntry) bool { return e.Input == got.Input })
	if at < 0 {
		v.Unknown = true
		return v
	}
	want := &b.Entries[at]
	now := ThisTool()
	v.ModelChanged = b.Tool.Version != now.Version || b.Tool.Revision != now.Revision || b.Tool.Constants != now.Constants
	if want.Chip != got.Chip {
		v.gone("total", fmt.Sprintf("chip %s, the baseline is of %s", got.Chip, want.Chip))
	}
	pairs := align(want.Descriptors, got.Descriptors)
	for _, p := range pairs {
		if p.want == nil || p.got == nil || p.want.Registers != p.got.Registers {
			v.ProgramChanged = true
		}
	}
	v.compare("total", &want.Total, &got.Total, most, nil)
	v.outputs(want.Outputs, got.Outputs)
	v.layers(want.Layers, got.Layers, most)
	for _, p := range pairs {
		switch {
		case p.got == nil:
			v.gone(fmt.Sprintf("descriptor %d of the baseline (%s)", p.wantAt, p.want.Op), "gone")
		case p.want == nil:
			v.gone(fmt.Sprintf("descriptor %d (%s)", p.gotAt, p.got.Op), "new")
		default:
			v.compare(fmt.Sprintf("descriptor %d (%s)", p.gotAt, p.got.Op), &p.want.Cost, &p.got.Cost, most,
				RegisterChanges(p.want.Registers, p.got.Registers))
		}
	}
	return v
}

func (v *Verdict) gone(where, what string) {
	v.Differences = append(v.Differences, Difference{Where: where, What: what, Appeared: true})
}

// compare adds the measures of a place that differ too much.
func (v *Verdict) compare(where string, want, got *Cost, most float64, registers []string) {
	a, b := want.measures(), got.measures()
	for i := range a {
		d := Difference{Where: where, What: a[i].name, Unit: a[i].unit, Want: a[i].v, Got: b[i].v}
		if math.Abs(d.Relative()) <= most {
			continue
		}
		d.Why = append(d.Why, registers...)
		d.Why = append(d.Why, causeChanges(&want.Causes, &got.Causes)...)
		v.Differences = append(v.Differences, d)
	}
}

// causeChanges are the causes whose cycles differ, those that differ most first.
func causeChanges(want, got *CyclesDocument) []string {
	type change struct {
		name string
		by   int64
	}
	var list []change
	before := map[string]uint64{}
	for name, n := range want.All() {
		before[name] = n
	}
	for name, n := range got.All() {
		if by := int64(n) - int64(before[name]); by != 0 {
			list = append(list, change{name, by})
		}
	}
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(max(b.by, -b.by), max(a.by, -a.by)) })
	var text []string
	for _, c := range list {
		text = append(text, fmt.Sprintf("%s %+d cycles", strings.ReplaceAll(c.name, "_", " "), c.by))
	}
	return text
}

// RegisterChanges lists the fields that differ between two descriptors' registers, as
// [BaselineDescriptor] has them: "Common.TileCfg.TileHeight 0x20 -> 0x40". Neighbours in an
// array of registers share a line.
func RegisterChanges(want, got string) []string {
	if want == got {
		return nil
	}
	a, b := registers(want), registers(got)
	var list fieldChanges
	for r := range regs.Registers() {
		x, y := a[r.Block+"."+r.Name], b[r.Block+"."+r.Name]
		rest := x ^ y
		if rest == 0 {
			continue
		}
		for _, f := range r.Fields {
			if f.Of(x) != f.Of(y) {
				list.add(&r, "."+f.Name, f.Of(x), f.Of(y))
				rest = f.With(rest, 0)
			}
		}
		if rest != 0 {
			list.add(&r, "", x, y)
		}
	}
	return list.text()
}

// fieldChanges are changed fields, those of neighbours in an array joined.
type fieldChanges []fieldChange

type fieldChange struct {
	array, field string // of one register, array is its name
	first, last  int    // indices in the array, -1 for none
	from, to     uint32
	alike        bool // all go from the one value to the other
}

func (c *fieldChanges) add(r *regs.Register, field string, from, to uint32) {
	name, index := r.Block+"."+r.Name, -1
	if base, number, ok := strings.Cut(strings.TrimSuffix(name, "]"), "["); ok {
		if n, err := strconv.Atoi(number); err == nil {
			name, index = base, n
		}
	}
	for i := range *c {
		x := &(*c)[i]
		if index >= 0 && x.array == name && x.field == field && x.last == index-1 {
			x.last, x.alike = index, x.alike && x.from == from && x.to == to
			return
		}
	}
	*c = append(*c, fieldChange{name, field, index, index, from, to, true})
}

func (c fieldChanges) text() []string {
	var list []string
	for _, x := range c {
		name := x.array
		switch {
		case x.first < 0:
		case x.first == x.last:
			name = fmt.Sprintf("%s[%d]", name, x.first)
		default:
			name = fmt.Sprintf("%s[%d-%d]", name, x.first, x.last)
		}
		if x.alike {
			list = append(list, fmt.Sprintf("%s%s %#x -> %#x", name, x.field, x.from, x.to))
		} else {
			list = append(list, fmt.Sprintf("%s%s differ", name, x.field))
		}
	}
	return list
}

func (v *Verdict) outputs(want, got []OutputDocument) {
	if len(want) == 0 || len(got) == 0 {
		return // one of the two computed no values
	}
	for _, w := range want {
		at := slices.IndexFunc(got, func(o OutputDocument) bool { return o.Name == w.Name })
		switch {
		case at < 0:
			v.gone("output "+w.Name, "gone")
		case !slices.Equal(got[at].Shape, w.Shape):
			v.gone("output "+w.Name, fmt.Sprintf("shape %v, want %v", got[at].Shape, w.Shape))
		case got[at].CRC32 != w.CRC32:
			v.gone("output "+w.Name, fmt.Sprintf("checksum %s, want %s", got[at].CRC32, w.CRC32))
		}
	}
	for _, g := range got {
		if !slices.ContainsFunc(want, func(o OutputDocument) bool { return o.Name == g.Name }) {
			v.gone("output "+g.Name, "new")
		}
	}
}

func (v *Verdict) layers(want, got []BaselineLayer, most float64) {
	named := map[string]*BaselineLayer{}
	for i := range got {
		named[got[i].Name] = &got[i]
	}
	for i := range want {
		w := &want[i]
		if g := named[w.Name]; g != nil {
			v.compare("layer "+w.Name, &w.Cost, &g.Cost, most, nil)
			delete(named, w.Name)
		} else {
			v.gone("layer "+w.Name, "gone")
		}
	}
	for i := range got {
		if named[got[i].Name] != nil {
			v.gone("layer "+got[i].Name, "new")
		}
	}
}

// A pair is two descriptors that stand for each other; one of them is nil where there is
// no such.
type pair struct {
	want, got     *BaselineDescriptor
	wantAt, gotAt int
}

// maxAligned bounds what is aligned by content: longer chains are paired by place.
const maxAligned = 4096

// align pairs descriptors by what they do: equal registers first, then the same operation
// between two such pairs, in order.
func align(want, got []BaselineDescriptor) []pair {
	head := 0
	for head < len(want) && head < len(got) && want[head].Registers == got[head].Registers {
		head++
	}
	tail := 0
	for tail < len(want)-head && tail < len(got)-head && want[len(want)-1-tail].Registers == got[len(got)-1-tail].Registers {
		tail++
	}
	var list []pair
	for i := range head {
		list = append(list, pair{&want[i], &got[i], i, i})
	}
	list = append(list, between(want, got, head, tail)...)
	for i := tail; i > 0; i-- {
		a, b := len(want)-i, len(got)-i
		list = append(list, pair{&want[a], &got[b], a, b})
	}
	return list
}

// between aligns what lies between the ends that are the same: the most descriptors of one
// operation in order, equal registers before others.
func between(want, got []BaselineDescriptor, head, tail int) []pair {
	a, b := want[head:len(want)-tail], got[head:len(got)-tail]
	if len(a) == len(b) || len(a) > maxAligned || len(b) > maxAligned {
		var list []pair
		for i := range max(len(a), len(b)) {
			p := pair{wantAt: head + i, gotAt: head + i}
			if i < len(a) {
				p.want = &a[i]
			}
			if i < len(b) {
				p.got = &b[i]
			}
			list = append(list, p)
		}
		return list
	}
	// best[i][j] is the score of a[i:] with b[j:].
	best := make([][]int32, len(a)+1)
	for i := range best {
		best[i] = make([]int32, len(b)+1)
	}
	score := func(i, j int) int32 {
		switch {
		case a[i].Registers == b[j].Registers:
			return 4
		case a[i].Op == b[j].Op:
			return 1
		}
		return 0
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if s := score(i, j); s > 0 {
				best[i][j] = max(best[i][j], s+best[i+1][j+1])
			}
		}
	}
	var list []pair
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && score(i, j) > 0 && best[i][j] == score(i, j)+best[i+1][j+1]:
			list = append(list, pair{&a[i], &b[j], head + i, head + j})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || best[i][j] == best[i+1][j]):
			list = append(list, pair{want: &a[i], wantAt: head + i})
			i++
		default:
			list = append(list, pair{got: &b[j], gotAt: head + j})
			j++
		}
	}
	return list
}
