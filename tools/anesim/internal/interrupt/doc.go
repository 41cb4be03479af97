// Package interrupt ends the command when a signal asks for it: an interrupt from the terminal,
// SIGTERM from a scheduler, SIGHUP from a terminal that closes.
//
// A command that computes for long asks for a [Context], which the signal cancels; it then ends in
// order. At any other time, the process ends at once, after it has removed incomplete files. The exit
// status is that of a shell, 128 plus the number of the signal.
package interrupt
