package evidence

import "strings"

// A LimitKind classifies the limits of the model.
type LimitKind string

// The kinds of limits. With the first three, values are not computed. The last two qualify values
// that were computed.
const (
	MissingSpecification LimitKind = "missing specification" // no program or document shows how the hardware behaves
	NotModelled          LimitKind = "not modelled"          // the behaviour is known, but left out of the model
	MissingInput         LimitKind = "missing input"         // no input provided the bytes
	RestsOnInference     LimitKind = "inferred"              // values follow an interpretation of bytes that was not confirmed on silicon
	RestsOnAssumption    LimitKind = "assumed"               // values follow a choice that no program confirms
)

// A Limit describes something that the model does not know or do, and where it occurred.
type Limit struct {
	Kind  LimitKind
	What  string // description, without the place
	Where string // descriptor, layer, register or node; empty if the place is clear from the report
}

// Blocks reports whether the limit prevents values from being computed. Otherwise it only qualifies
// them.
func (l *Limit) Blocks() bool {
	return l.Kind != RestsOnInference && l.Kind != RestsOnAssumption
}

// String returns the limit on one line, as "where: what (kind)".
func (l Limit) String() string {
	var b strings.Builder
	if l.Where != "" {
		b.WriteString(l.Where)
		b.WriteString(": ")
	}
	b.WriteString(l.What)
	b.WriteString(" (")
	b.WriteString(string(l.Kind))
	b.WriteString(")")
	return b.String()
}
