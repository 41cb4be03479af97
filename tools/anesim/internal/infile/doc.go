// Package infile reads input files through a memory mapping and survives files that shrink while
// they are read.
//
// A mapping avoids a copy of the file in the program's memory. If the file is truncated while it
// is mapped, or is sparse on a full disk, reading the missing part raises SIGBUS, which normally
// ends a program. File.ReadAt returns an error instead.
package infile
