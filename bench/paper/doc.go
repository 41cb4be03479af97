// Package paper compares the figures of the published descriptions of the engine with those
// of the model.
//
// [Compare] computes a [Row] for each claim that carries a number and that a run can show:
// the description's figure, the model's, and whether they agree. Nothing is stored: every
// figure of the model is computed anew, with machines, sessions and programs of its own.
package paper
