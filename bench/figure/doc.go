// Package figure draws an accuracy: what the model says of measured rows against what was
// measured, and its error by the length of a call.
//
//	bench.Accuracy --Times-->  SVG, log-log, a series for each session
//	               --Errors--> SVG
package figure

import "errors"

// ErrNoRows is the error for an accuracy without a measured time.
var ErrNoRows = errors.New("figure: no row has a measured time")
