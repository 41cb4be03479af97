package execycles

import (
	"fmt"
	"slices"
	"strings"
)

// A Target is an engine that Apple's compiler generates programs for. Its estimate has other
// constants and other rules for each. The zero value means H13.
type Target uint8

// The targets whose estimate is known.
const (
	H13  Target = 1 + iota // the A14's engine
	H13G                   // the M1's engine
)

// targetNames holds the names of the targets, as the compiler's option -t spells them.
var targetNames = [...]string{H13: "h13", H13G: "h13g"}

// String returns the name that the compiler's option -t has for the target: "h13" or "h13g".
func (t Target) String() string { return targetNames[t.Or(H13)] }

// Or returns t, or the target u if t is zero.
func (t Target) Or(u Target) Target {
	if t == 0 {
		return u
	}
	return t
}

// TargetNames returns the names that [ParseTarget] accepts.
func TargetNames() []string { return slices.Clone(targetNames[H13:]) }

// ParseTarget returns the target with the given name.
func ParseTarget(name string) (Target, error) {
	if i := slices.Index(targetNames[H13:], name); i >= 0 {
		return H13 + Target(i), nil
	}
	return 0, fmt.Errorf("unknown target %q; want %s", name, strings.Join(TargetNames(), " or "))
}
