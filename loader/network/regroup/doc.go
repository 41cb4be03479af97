// Package regroup has the multiply-accumulates of layers in other layers: several merged into
// one, or one split into parts.
//
// The array works on sixteen output channels at a time and each task costs time by itself, so
// that a network with the same results in other layers may be faster. Which are is not decided
// here: [Beside], [MergesBehind] and [Splits] say what is possible, and [Apply] does it.
package regroup
