// Package sweepcommand is the command that times grids of designs, with those below it: merge,
// status, front and optimise. What a sweep is and how it runs is package bench/sweep; here are
// its flags, and how its rows reach the terminal, files and pages.
package sweepcommand
