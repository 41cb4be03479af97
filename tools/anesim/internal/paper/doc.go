// Package paper compares figures from published descriptions of the engine with those of the model.
//
// [Compare] computes a [Row] for each claim with a number that a run can show: the figure of the
// description, the figure of the model, and whether they agree. No figure of the model is stored.
// All are computed again, with new machines, sessions and programs.
package paper
