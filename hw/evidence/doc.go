// Package evidence is what a number of the hardware rests on, and what the model does not
// have.
//
// Every constant of a chip and of a host is a [Constant]: its value with the unit, the
// kind of evidence and the source, so that a report can print where each figure comes
// from. What the model does not know or does not do is a [Limit] of one of a few kinds,
// so that a report can group them and a program can tell them apart.
package evidence
