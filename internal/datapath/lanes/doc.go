// Package lanes defines how output channels are distributed over the sixteen lanes of weights:
// how many channels form a plane, and which lane holds which plane. Both the code that packs
// weights and the model of the array that reads them use this rule.
//
//	lane 0: plane 0, plane 16, ...
//	lane 1: plane 1, plane 17, ...
//
// For example, 224 channels form planes of 14. 768 channels form planes of 32, then planes of 16,
// if 32 is the maximum. The last fifteen or fewer channels take one lane each. All recorded hashes
// of sections agree with this rule, including the one with planes of 14.
package lanes
