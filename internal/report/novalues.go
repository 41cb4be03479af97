package report

import (
	"fmt"

	"anesim"
)

// WhyNoOutputs returns the reason why a run has no output values, or the first one if there are
// several.
func WhyNoOutputs(r *anesim.Result) string {
	if f := r.Report.Faults; len(f) > 0 {
		return f[0].String()
	}
	if list := MissingOf(r); r.Model.Kind() == anesim.KindNetwork && len(list) > 0 {
		return "not modelled: " + NameMissing(list)
	}
	for i := range r.Programs {
		if why := WhyNoValues(&r.Programs[i]); why != "" {
			return why
		}
	}
	return "the program has no output port"
}

// WhyNoValues returns the reason why a program that was dispatched has no output values, or "" if
// none is known.
func WhyNoValues(p *anesim.ProgramResult) string {
	for _, l := range p.Limits {
		return l.String()
	}
	if p.Report == nil {
		return ""
	}
	for i := range p.Report.Descriptors {
		if d := &p.Report.Descriptors[i]; d.Note() != "" {
			return fmt.Sprintf("descriptor %d: %s", d.Index, d.Note())
		}
	}
	return ""
}
