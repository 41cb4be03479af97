// Package outfile writes a result file completely or not at all.
//
// A result is written to a temporary file in the same directory, flushed to disk and renamed to
// its final name. A reader of that name finds the old file or the new one, never a part, even
// after an error, on a full disk or after a signal. A symbolic link is replaced; the file it
// points to is not written. Temporary files of killed processes are removed when the same name is
// written again at least an hour later.
//
// A command that reads and writes files calls CheckInputs with the files it has read. It refuses
// an output that is one of these files, even through another path or a link.
package outfile
