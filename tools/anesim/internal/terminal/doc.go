// Package terminal prints reports on a terminal: tables that fit its width, lines that wrap with
// an indent, and a progress meter. When the output is a pipe or a file, lines are not wrapped, so
// that other tools can search them, and there is no meter.
package terminal
