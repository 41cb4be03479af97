// Package usage handles mistakes on a command line. It has an error type, which selects the exit
// status, and adds suggestions for a misspelled command, flag or argument.
package usage
