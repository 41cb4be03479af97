package bench

import (
	"fmt"

	"anesim/internal/measured"
)

// A Protocol is a way to divide the measured rows into folds for cross-validation. A fold is a
// group of rows that are left out of the fit together. The fit and its cross-validation are tests,
// Fit.Calibrate in fit_test.go and Fit.CrossValidate in folds_test.go, which write residuals.txt.
type Protocol uint8

const (
	// ByShape leaves out all rows of a shape on every machine. The result shows how the fit
	// generalizes to unseen shapes.
	ByShape Protocol = iota
	// BySession leaves out all rows of a session. Its host constants then come from the
	// machine's other sessions, or from a pool of similar machines. The result shows how
	// the fit generalizes to unseen machines.
	BySession
	// ByKind leaves out all rows of a kind. The result shows how the fit generalizes to work
	// that no row measures. Only the [EngineBand] of such work is derived from it.
	ByKind
)

// numProtocols is the number of protocols.
const numProtocols = 3

// Protocols returns the protocols whose errors are reported: [ByShape] and [BySession].
func Protocols() []Protocol { return []Protocol{ByShape, BySession} }

// String returns "shape", "session" or "kind".
func (p Protocol) String() string {
	switch p {
	case BySession:
		return "session"
	case ByKind:
		return "kind"
	}
	return "shape"
}

// shapeKey returns a string that two rows share if they have the same operation, shape and weight
// format.
func shapeKey(r *measured.Row) string { return fmt.Sprintf("%s %+v %s", r.Op, r.Shape, r.Weights) }
