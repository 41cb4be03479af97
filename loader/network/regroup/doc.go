// Package regroup merges several layers into one, or splits a layer into parts, with the same
// results.
//
// The array computes sixteen output channels at a time, and each task has a fixed cost, so
// other layers may compute the same network faster. This package does not decide which:
// [MergeKey], [CanCompose] and [CanSplit] say what is possible, and [Apply] does it.
package regroup
