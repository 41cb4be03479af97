// Package output writes the tensors that a run has computed, a file for each, under names that
// every file system takes and over no file that the command line names for something else.
package output
