package bench

import (
	"fmt"

	"anesim/bench/measured"
)

// A Protocol selects the rows that a fold of a cross-validation leaves out of the fit.
type Protocol uint8

const (
	// ByShape leaves out all rows of a shape on every machine. The result shows how the fit
	// generalises to unseen shapes.
	ByShape Protocol = iota
	// BySession leaves out all rows of a session. Its host constants then come from the
	// machine's other sessions, or from a pool of similar machines. The result shows how
	// the fit generalises to unseen machines.
	BySession
)

// Protocols returns all protocols.
func Protocols() []Protocol { return []Protocol{ByShape, BySession} }

func (p Protocol) String() string {
	if p == BySession {
		return "session"
	}
	return "shape"
}

// shapeOf returns a key that rows of one shape share.
func shapeOf(r *measured.Row) string { return fmt.Sprintf("%s %+v %s", r.Op, r.Shape, r.Weights) }
