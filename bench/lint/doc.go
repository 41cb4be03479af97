// Package lint reads compiled programs for mistakes that the engine does not report: it runs
// them, and what comes out is wrong or slow.
//
// A descriptor names places and nothing else. That a tensor stands somewhere, and until when,
// is in the compiler's mind alone; the engine reads what stands there. So lint walks the chain
// once and keeps, for every byte of device memory and of the L2, which descriptor left it:
//
//	td 0   a a a a a a . .      a result of six units
//	td 1   a a a a b b b b      unread units of it are written over ...
//	td 2   ^ ^ ^ ^ ^ ^          ... and read as if they were still there: overlap
//
// From that follow the rules: [Overlap], [Unread], [Unwritten]. [Fold] looks at the strides of
// one surface, and [Hint] holds the fields that say what a descriptor waits for, or whose
// bytes it reads, to the addresses. Each rule rests on what the programs of the vendor's
// compiler do, and each finding says on what.
//
// Bytes are exact. A surface is rows of elements at multiples of 64 bytes in memory, of 16
// in the L2, and every row begins with a unit of that size: two rows meet where they share a
// unit. Rows without a gap between their units are one run, so a whole tensor mostly is one.
// What a program may take in time and memory grows with its descriptors; surfaces beyond
// that are left undecided, which the report counts.
package lint
