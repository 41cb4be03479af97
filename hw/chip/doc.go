// Package chip checks, changes, reads and writes the constants of a chip.
//
// One table declares each constant with its unit, what it means and which values it may
// have. [Set] (a --chip override or a sweep), [Read] (a chip file) and [Check] (a chip made in
// Go) all refuse a value by that table, with the same words; [Write] prints it as comments.
package chip
