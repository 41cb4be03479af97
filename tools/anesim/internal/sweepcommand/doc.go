// Package sweepcommand implements "anesim sweep", which times grids of designs, and its
// subcommands merge, status, front and optimize. It has their flags and writes rows to the
// terminal, to files and to pages. Package internal/sweep defines and runs sweeps.
package sweepcommand
