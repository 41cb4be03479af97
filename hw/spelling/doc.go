// Package spelling finds the names that a misspelt one may have meant, for messages that end
// in "did you mean conv?".
//
// [Nearest] compares letters: it returns the names that differ in at most a third of them,
// and the names that begin alike. [Hint] and [Suggest] make the end of a message from them.
//
// The package imports nothing of this module and is stored below hw, the lowest room with
// names that a user types, so that chips, firmware, loaders and the command share one rule.
package spelling
