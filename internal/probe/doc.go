// Package probe tests the arithmetic of a real engine: it writes a Core ML model and a script that run
// on a Mac, and compares the results with the model's rules.
//
//	newModel --+--> Files: Core ML package, inputs, script ... a Mac ... results.json --> ReadResults --+
//	           |                                                                                        v
//	           +--> the model's own run (Expected) ------------------------------------------------> Compare
//	                                                                                                    |
//	rules: statements, and their alternatives --------------------------------------------------------->+
//	                                                                                                    v
//	                                                                                  Document: an Answer per rule
//
// The probe's model is a network of small layers, each with an output of its own (layers.go). Its
// inputs lie at the limits of the rules, or come from published measurements. A rule (rules.go) has
// alternatives, such as another direction of rounding (arithmetic.go). It is decided by the results on
// which it and an alternative differ, so that a wrong rule cannot hide among results that any rule gives.
//
// Published results are the anchors of the tests: the 141 single sums of M4 and M6, sums of an M1, and
// the relative errors of a linear layer and of a convolution, direct and by a Winograd transform. Nothing
// here has run on a Mac.
package probe
