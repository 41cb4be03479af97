// Package flags defines the flags that several commands share, converts them to the options of a
// run, and completes their values in a shell. The flags are those of every command that runs a
// model, the sizes of dimensions and the chip.
package flags
