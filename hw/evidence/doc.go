// Package evidence describes the evidence for the numbers of the model, and the limits of the
// model.
//
// Every constant of a chip or a host is a [Constant]: a value with its unit, the kind of evidence
// and the source, so that a report can print the origin of each number. Anything that the model
// does not know or does not do is a [Limit] of one of a few kinds, so that reports can group limits
// and programs can distinguish them.
package evidence
