// Package spelling finds the names that a misspelt one may have meant, for messages that end
// in "did you mean conv?".
//
// [Nearest] compares letters: names a third of which differ at most, and names that begin
// alike. [Hint] and [Suggest] make the end of a message of them.
package spelling
