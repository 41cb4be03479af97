// Package usage is what a wrong command line is answered with: an error of its own, by which the
// exit status is chosen, with the command, flag or argument that may have been meant.
package usage
