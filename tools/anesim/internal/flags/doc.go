// Package flags has the flags that commands share: those of every command that runs a model, the
// sizes of dimensions, the chip, and what a shell completes them with. It turns them into the
// options of a run.
package flags
