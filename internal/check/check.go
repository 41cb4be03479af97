package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"anesim"
	"anesim/hw"
	"anesim/internal/report"
)

// A Difference is a quantity of a model, such as its time, that differs from the baseline.
type Difference struct {
	Where string // "total", a layer, or a descriptor
	What  string // name of the quantity, such as "cycles"
	Unit  string
	Want  float64
	Got   float64
	Why   []string // registers and causes that explain it, largest first
	// Registers are the first elements of Why: changed registers, if there are any.
	Registers []string
	Appeared  bool // the item is new, gone or not comparable by number
}

// Relative returns (Got-Want)/|Want|. It returns 0 if both are equal and +Inf if only Want is zero.
func (d *Difference) Relative() float64 {
	switch {
	case d.Want == d.Got:
		return 0
	case d.Want == 0:
		return math.Inf(1)
	}
	return (d.Got - d.Want) / math.Abs(d.Want)
}

// String returns the difference on one line, such as "total: cycles: want 100, got 110 (+10.00%)".
func (d *Difference) String() string {
	if d.Appeared {
		return fmt.Sprintf("%s: %s", d.Where, d.What)
	}
	want, got := d.Values()
	s := fmt.Sprintf("%s: %s: want %s, got %s", d.Where, d.What, want, got)
	if r := d.Relative(); !math.IsInf(r, 0) {
		s += fmt.Sprintf(" (%+.2f%%)", 100*r)
	}
	return s
}

// A Verdict is the outcome of comparing one model with a baseline.
type Verdict struct {
	Input string
	// Unknown is set if the baseline does not have the model.
	Unknown bool
	// NotModelled lists the layers of a network that have no cost. Totals leave them out, so
	// the model passes only if the baseline lists the same layers.
	NotModelled []report.Missing
	// Accepted is set if the baseline lists every layer of NotModelled.
	Accepted bool
	// Relocations says how the relocations of a program differ from the addresses of its weights, unless
	// the baseline says the same. Costs do not depend on them, but a loader that places the constants
	// elsewhere does, so the model does not pass.
	Relocations []string
	// Uncompared says which values were not compared, and why, though the new entry or the
	// baseline has some or should have them. It is "" if all were compared.
	Uncompared string
	// Unverified says that values should have been compared and none were.
	Unverified bool
	// ModelChanged is set if the baseline was made by another version of this tool or with
	// other constants, so costs may differ even for the same program.
	ModelChanged bool
	// Constants lists the chip's constants that differ, such as "Clock 1.428e+09 -> 1e+09".
	Constants []string
	// ProgramChanged is set if registers differ.
	ProgramChanged bool
	Differences    []Difference // differences that exceed the limit
	// Want and Got are the costs of the whole model in the baseline and now.
	Want, Got Cost
	// Low and High are the interval of the total time relative to it. Within is set if the
	// baseline's time is inside the interval.
	Low, High float64
	Within    bool
}

// Passed reports whether the model is in the baseline, no quantity differs by more than the limit,
// values were compared if they should be, relocations agree with weights or are as in the baseline, and
// every layer without a cost also had none in the baseline.
func (v *Verdict) Passed() bool {
	return !v.Unknown && len(v.Relocations) == 0 && !v.Unverified && len(v.Differences) == 0 && (len(v.NotModelled) == 0 || v.Accepted)
}

// Cause returns a clause about why costs may differ, such as "the program changed; anesim's
// constants did not change". It returns "as in the baseline" if nothing differs. If the comparison
// was impossible or incomplete, the clause says so instead.
func (v *Verdict) Cause() string {
	switch {
	case v.Unknown:
		return "missing from the baseline"
	case len(v.NotModelled) > 0 && !v.Accepted:
		return report.Incomplete(v.NotModelled)
	case len(v.Relocations) > 0 && len(v.Differences) == 0:
		return strings.Join(v.Relocations, "; ")
	case v.Unverified:
		return v.Uncompared
	case v.ProgramChanged && len(v.Constants) > 0:
		return "the program changed, and so did the chip: " + joinFirstItems(v.Constants)
	case len(v.Constants) > 0:
		return "the chip changed, the program did not: " + joinFirstItems(v.Constants)
	case v.ProgramChanged && v.ModelChanged:
		return "the program changed, and so did anesim: constants or version are not the baseline's"
	case v.ProgramChanged && v.Within:
		return fmt.Sprintf("the program changed; the change is inside anesim's error (%+.0f %+.0f%%), so a device may show less or none", 100*v.Low, 100*v.High)
	case v.ProgramChanged:
		return "the program changed; anesim's constants did not change"
	case v.ModelChanged:
		return "anesim changed, the program did not: constants or version are not the baseline's"
	case len(v.Differences) > 0:
		return "neither registers nor constants changed: inputs, options or the code of anesim did"
	}
	return "as in the baseline"
}

// Check compares got with the baseline's entry of the same name. A quantity passes if its relative
// difference from the baseline is at most tolerance, such as 0.02 for 2%. Checksums and shapes of
// outputs must be equal. If the baseline has no such entry, Check sets Unknown in the verdict.
func (b *Baseline) Check(got *Entry, tolerance float64) Verdict {
	v := Verdict{Input: got.Input, NotModelled: got.NotModelled}
	at := slices.IndexFunc(b.Entries, func(e Entry) bool { return e.Input == got.Input })
	if at < 0 {
		v.Unknown = true
		return v
	}
	want := &b.Entries[at]
	v.Want, v.Got = want.Total, got.Total
	if !slices.Equal(want.Relocations, got.Relocations) {
		v.Relocations = got.Relocations
	}
	v.Accepted = !slices.ContainsFunc(got.NotModelled, func(m report.Missing) bool {
		return !slices.ContainsFunc(want.NotModelled, func(w report.Missing) bool { return w.Name == m.Name })
	})
	now := anesim.ThisTool()
	// Whether the model, its constants or the program changed is found before any cost, since it is the
	// reason for each difference that follows.
	v.ModelChanged = b.Tool.Version != now.Version || b.Tool.Revision != now.Revision || b.Tool.Constants != now.Constants
	v.Constants = listConstantChanges(want.Constants, got.Constants)
	if want.Chip != got.Chip {
		v.addUnmatchedPart(total, fmt.Sprintf("chip %s, the baseline is of %s", got.Chip, want.Chip))
	}
	pairs := pairDescriptors(want.Descriptors, got.Descriptors)
	for _, p := range pairs {
		if p.want == nil || p.got == nil || p.want.Registers != p.got.Registers {
			v.ProgramChanged = true
		}
	}
	everywhere, byLayer, each := collectRegisterChanges(pairs)
	v.compareCosts(total, &want.Total, &got.Total, tolerance, everywhere)
	// A difference inside the model's interval may be no difference on the device.
	if t := &got.Total; t.TimeHighNs > 0 && t.TimeNs != want.Total.TimeNs {
		v.Low, v.High = float64(t.TimeLowNs/t.TimeNs)-1, float64(t.TimeHighNs/t.TimeNs)-1
		v.Within = want.Total.TimeNs > t.TimeLowNs && want.Total.TimeNs < t.TimeHighNs
	}
	v.compareOutputs(want.Outputs, got)
	v.compareLayers(want.Layers, got.Layers, tolerance, byLayer)
	for i, p := range pairs {
		switch {
		case p.got == nil:
			v.addUnmatchedPart(fmt.Sprintf("descriptor %d of the baseline (%s)", p.wantAt, p.want.Op), disappeared)
		case p.want == nil:
			v.addUnmatchedPart(fmt.Sprintf("descriptor %d (%s)", p.gotAt, p.got.Op), appeared)
		default:
			v.compareCosts(fmt.Sprintf("descriptor %d (%s)", p.gotAt, p.got.Op), &p.want.Cost, &p.got.Cost, tolerance, each[i])
		}
	}
	return v
}

// listConstantChanges returns the constants of the chip whose values differ between want and got,
// such as "Clock 1.428e+09 -> 1e+09". It ignores constants that only one side has.
func listConstantChanges(want, got map[string]float64) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if now, ok := got[name]; ok && now != want[name] {
			list = append(list, fmt.Sprintf("%s %.6g -> %.6g", name, want[name], now))
		}
	}
	return list
}

// joinFirstItems returns the first six items of list, separated by commas. If there are more, it
// also says how many.
func joinFirstItems(list []string) string {
	const most = 6
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// addUnmatchedPart adds a difference to v for a part of the model that the baseline and the model
// do not have in common.
func (v *Verdict) addUnmatchedPart(where, what string) {
	v.Differences = append(v.Differences, Difference{Where: where, What: what, Appeared: true})
}

// compareCosts adds a difference to v for each quantity that differs by more than the fraction
// tolerance. The difference is at the part of the model with the name where, whose changed
// registers are in registers.
func (v *Verdict) compareCosts(where string, want, got *Cost, tolerance float64, registers []string) {
	a, b := want.listQuantities(), got.listQuantities()
	var terms []string
	missed := map[string]bool{}
	for i := range a {
		d := Difference{Where: where, What: a[i].name, Unit: a[i].unit, Want: a[i].v, Got: b[i].v}
		if math.Abs(d.Relative()) <= tolerance {
			continue
		}
		if terms == nil {
			terms = formatTermChanges(want, got)
		}
		missed[d.What] = true
		d.Why, d.Registers = slices.Concat(registers, terms), registers
		v.Differences = append(v.Differences, d)
	}
	if text := formatCounterChanges(want.Counters, got.Counters, tolerance, missed); text != "" {
		if terms == nil {
			terms = formatTermChanges(want, got)
		}
		v.Differences = append(v.Differences, Difference{Where: where, What: text, Appeared: true, Why: slices.Concat(registers, terms), Registers: registers})
	}
}

// formatTermChanges returns text with both values of each part that differs: first the parts of the
// cycles, then those of the energy, then those of the bytes. In each of these groups, the largest
// differences come first.
func formatTermChanges(want, got *Cost) []string {
	list := slices.DeleteFunc(CostChanges(want, got), func(c CostChange) bool { return c.Of == "" || c.A == c.B })
	kinds := []string{"cycles", "energy", "bytes"}
	slices.SortStableFunc(list, func(a, b CostChange) int {
		return cmp.Or(
			cmp.Compare(slices.Index(kinds, a.Of), slices.Index(kinds, b.Of)),
			cmp.Compare(math.Abs(b.B-b.A), math.Abs(a.B-a.A)),
		)
	})
	var text []string
	for _, c := range list {
		switch c.Of {
		case "energy":
			text = append(text, fmt.Sprintf("energy of %s %s nJ", c.Name, report.GroupDigits(fmt.Sprintf("%+.6g", c.B-c.A))))
		default:
			text = append(text, fmt.Sprintf("%s %s %s", c.Name, report.GroupDigits(fmt.Sprintf("%+.0f", c.B-c.A)), c.Of))
		}
	}
	return text
}

// formatCounterChanges returns text with the counters that differ by more than the fraction
// tolerance, or "" if none do. It omits counters that repeat a quantity in missed.
func formatCounterChanges(want, got *report.Counters, tolerance float64, missed map[string]bool) string {
	if want == nil || got == nil {
		return ""
	}
	var list []string
	at := -1
	for name, n := range got.All() {
		at++
		switch {
		case at < hw.DMAReadBytes && missed[MeasuredCycles], at == hw.DPEEnergy && missed[MeasuredEnergy],
			(at == hw.DMAReadBytes || at == hw.DMAReadWriteBytes) && missed[MeasuredBytes]:
			continue
		}
		d := Difference{Want: float64(want[at]), Got: float64(n)}
		if math.Abs(d.Relative()) > tolerance {
			list = append(list, fmt.Sprintf("%s %s -> %s", name, report.Thousands(want[at]), report.Thousands(n)))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "counters: " + strings.Join(list, ", ")
}

// compareOutputs compares the checksums of outputs, or sets v.Uncompared.
func (v *Verdict) compareOutputs(want []report.Output, e *Entry) {
	got := e.Outputs
	v.Uncompared = e.WithoutValues()
	switch {
	case e.Values && len(got) == 0:
		v.Unverified = true
		return
	case e.Values && len(want) == 0:
		// An output that cannot be compared is not a pass: somebody who asked for values relies on it.
		v.Uncompared, v.Unverified = "no checksums in the baseline: update it with values (--update --values)", true
		return
	case len(got) == 0 && len(want) > 0:
		v.Uncompared = "the checksums in the baseline were not compared: values were not computed (--values)"
		return
	case len(got) == 0 || len(want) == 0:
		return
	}
	for _, w := range want {
		at := slices.IndexFunc(got, func(o report.Output) bool { return o.Name == w.Name })
		switch {
		case at < 0:
			v.addUnmatchedPart("output "+w.Name, disappeared)
		case !slices.Equal(got[at].Shape, w.Shape):
			v.addUnmatchedPart("output "+w.Name, fmt.Sprintf("shape: want %v, got %v", w.Shape, got[at].Shape))
		case got[at].CRC32 != w.CRC32:
			v.addUnmatchedPart("output "+w.Name, fmt.Sprintf("checksum: want %s, got %s", w.CRC32, got[at].CRC32))
		}
	}
	for _, g := range got {
		if !slices.ContainsFunc(want, func(o report.Output) bool { return o.Name == g.Name }) {
			v.addUnmatchedPart("output "+g.Name, appeared)
		}
	}
}

func (v *Verdict) compareLayers(want, got []Layer, most float64, registers map[string][]string) {
	named := map[string]*Layer{}
	for i := range got {
		named[got[i].Name] = &got[i]
	}
	for i := range want {
		w := &want[i]
		if g := named[w.Name]; g != nil {
			v.compareCosts("layer "+w.Name, &w.Cost, &g.Cost, most, registers[w.Name])
			delete(named, w.Name)
		} else {
			v.addUnmatchedPart("layer "+w.Name, disappeared)
		}
	}
	for i := range got {
		if named[got[i].Name] != nil {
			v.addUnmatchedPart("layer "+got[i].Name, appeared)
		}
	}
}
