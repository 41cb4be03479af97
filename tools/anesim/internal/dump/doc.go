// Package dump prints the contents of a program: its memory and ports, then the header of each
// descriptor and the registers it writes, by register block and with named fields. Each descriptor
// begins with a description of its operation in words.
//
//	*loader.Program --Write--> text, JSON
//	*e5.Program --WriteDispatch--> text, JSON
package dump
