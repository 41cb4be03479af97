// Package outfile writes result files whole or not at all.
//
// A result is written to a temporary file beside its place, flushed to the disk and
// renamed over the name asked for. Whoever reads the name finds the old file or the new
// one, never a part: not after an error, not after a full disk, not after a signal. A
// symbolic link of that name gives way, and what it leads to is not written. What a killed
// process left beside a name is removed when the name is written again, an hour later.
//
// A command that reads and writes files says what it has read with Avoiding; a name that
// leads to one of those files, by another path or a link, is refused.
package outfile
