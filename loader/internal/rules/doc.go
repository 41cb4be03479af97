// Package rules finds the rules a reader holds its files to, so that a test can demand a
// broken file for each.
//
// A rule is a message in the reader's source: the format that a call of fail, wrap or the
// like gives. A file breaks the rule when reading it gives an error with that message.
package rules
