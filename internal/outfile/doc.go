// Package outfile writes a result file completely or not at all.
//
// A result is written to a temporary file in the same directory, flushed to disk and renamed to
// its final name. A reader of that name finds the old file or the new one, never a part, even
// after an error, on a full disk or after a signal. A symbolic link is replaced; the file it
// points to is not written. Temporary files of killed processes are removed when the same name is
// written again at least an hour later.
//
// A command that reads and writes files adds all of them to a [Plan] before it writes the first. The
// plan refuses an output that is an input or another output, even through another path or a link.
package outfile
