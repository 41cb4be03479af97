// Package evidence is what a number of the hardware rests on. Every constant of a chip and
// of a host is a [Constant]: its value with the unit, the kind of evidence and the source,
// so that a report can print where each figure comes from.
package evidence
