// Package regroup merges several layers of a network into one, or splits a layer into parts, without a
// change of the results, to try whether that is faster.
//
// The array computes sixteen output channels at a time, and each task has a fixed cost, so
// other layers may compute the same network faster. This package does not decide which:
// [MergeKey], [CanCompose] and [CanSplit] say what is possible, and [Apply] does it.
package regroup
