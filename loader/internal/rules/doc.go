// Package rules finds the rules that a reader applies to files, so that a test can require
// a malformed file for each rule.
//
// A rule is an error message in the reader's source: the format argument of a call of fail,
// wrap or a similar function. A file violates the rule if reading it gives an error with
// that message.
package rules
