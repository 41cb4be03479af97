// Package terminal prints what a person reads on a terminal: tables that fit its width, lines
// of words that go on below themselves, and the progress of long work. In a pipe lines are
// whole, so that other tools find what they look for, and nothing moves.
package terminal
