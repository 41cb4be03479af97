// Package spelling suggests names for a misspelled one, for messages that end in "did you mean
// conv?".
//
// [Nearest] compares letters. It returns the names that differ in at most a third of the letters,
// and the names with the same beginning. [Hint] and [Suggest] turn them into the end of a message.
//
// The package imports nothing of this module, so that chips, firmware, loaders and the command can
// all use it.
package spelling
