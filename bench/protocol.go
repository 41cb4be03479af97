package bench

import (
	"fmt"

	"anesim/bench/measured"
)

// A Protocol is what a fold of a cross-validation leaves out of the fit.
type Protocol uint8

const (
	// ByShape leaves out all rows of a shape, on every machine: what is left says how the
	// fit holds for shapes it has not seen.
	ByShape Protocol = iota
	// BySession leaves out all rows of a session. Its host constants are then those of the
	// other sessions of the machine, or, where it has none, the pool of its kind: what is
	// left says how the fit holds for a machine it has not seen.
	BySession
)

// Protocols are all of them.
func Protocols() []Protocol { return []Protocol{ByShape, BySession} }

func (p Protocol) String() string {
	if p == BySession {
		return "session"
	}
	return "shape"
}

// shapeOf is what rows of one shape have in common.
func shapeOf(r *measured.Row) string { return fmt.Sprintf("%s %+v %s", r.Op, r.Shape, r.Weights) }
