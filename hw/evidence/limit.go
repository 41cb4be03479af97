package evidence

import "strings"

// A LimitKind groups what the model does not know or do.
type LimitKind string

// The kinds of limits. The first three leave values out; the last two say what values
// that were computed rest on.
const (
	MissingSpecification LimitKind = "missing specification" // no program and no document shows how the hardware does it
	NotModelled          LimitKind = "not modelled"          // known, and left out of the model
	MissingInput         LimitKind = "missing input"         // nobody gave the bytes it takes
	RestsOnInference     LimitKind = "inferred"              // values follow a reading of bytes that no silicon has confirmed
	RestsOnAssumption    LimitKind = "assumed"               // values follow a choice that no byte decides
)

// A Limit is something the model does not know or do, and where it was met.
type Limit struct {
	Kind  LimitKind
	What  string // in words, without the place
	Where string // descriptor, layer, register or node; empty where the report's place says it
}

// Blocks reports whether the limit leaves values out, rather than qualify them.
func (l *Limit) Blocks() bool {
	return l.Kind != RestsOnInference && l.Kind != RestsOnAssumption
}

// String is the limit on one line.
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
