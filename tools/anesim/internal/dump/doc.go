// Package dump prints what a program says: its memory and ports, then the header of each
// descriptor and the registers that it writes, group by group, with fields by name. What the
// bits of a descriptor are to the engine stands ahead of them in words.
//
//	*loader.Program --Write--> text, JSON
//	*e5.Program --WriteDispatch--> text, JSON
package dump
