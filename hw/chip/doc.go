// Package chip checks, changes, reads and writes the constants of a chip.
//
// One table declares each constant with its unit, its meaning and the range of its values. [Set] (a
// --chip override or a sweep), [Read] (a chip file) and [Check] (a chip built in Go) check values
// against this table and report errors with the same text. [Write] prints the table's rows as
// comments.
//
// The presets themselves are in package hw: its own tests time and compute on an M1, and they could
// not import a package that imports hw.
package chip
