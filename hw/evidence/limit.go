package evidence

import (
	"fmt"
	"strings"
)

// A LimitKind says why the model does not compute something or cannot be sure of it.
type LimitKind string

// Kinds of limits. With one of the first three, no values are computed. The last two apply to
// values that were computed.
const (
	MissingSpecification LimitKind = "missing specification" // no program or document shows how the hardware behaves
	NotModelled          LimitKind = "not modelled"          // the behaviour is known, but left out of the model
	MissingInput         LimitKind = "missing input"         // no input provided the bytes
	RestsOnInference     LimitKind = "inferred"              // values follow an interpretation of bytes that was not confirmed on silicon
	RestsOnAssumption    LimitKind = "assumed"               // values follow a choice that no program confirms
)

// A Limit describes something that the model cannot compute, or computes on an unconfirmed
// assumption.
type Limit struct {
	Kind  LimitKind
	What  string // description, without the place
	Where string // descriptor, layer, register or node; empty if the place is clear from the report
}

// Unspecified returns a [Limit] that says that the model cannot compute a feature because no program
// or document specifies it. The arguments describe the feature as in fmt.Sprintf.
func Unspecified(format string, args ...any) *Limit {
	return &Limit{Kind: MissingSpecification, What: fmt.Sprintf(format, args...)}
}

// NotInModel returns a [Limit] that says that the model leaves out a known feature. The arguments
// describe the feature as in fmt.Sprintf.
func NotInModel(format string, args ...any) *Limit {
	return &Limit{Kind: NotModelled, What: fmt.Sprintf(format, args...)}
}

// Blocks reports whether the limit prevents values from being computed. If it returns false, the
// values were computed but depend on an unconfirmed assumption.
func (l *Limit) Blocks() bool {
	return l.Kind != RestsOnInference && l.Kind != RestsOnAssumption
}

// String returns the limit as "where: what (kind)", or "what (kind)" if no place is known.
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
