// Package output writes the tensors computed by a run, each to its own file. It chooses names
// that every file system accepts, and never overwrites another file named on the command line.
package output
