// Package execycles reproduces Apple's own estimate of a descriptor's duration. The
// compiler stores it in the descriptor's header as ExeCycles, in whole microseconds. It describes
// the compiler's model of the engine, not the engine: what silicon does, package hw estimates.
//
//	                 bytes moved / rate of memory ------+
//	MAC engines:     patches x channels x steps --------+
//	                 granules or channels of a pass ----+--> max --> floor --> ExeCycles
//	                 look-ups in tables ----------------+
//	planar engine:   blocks, or channels x sources -----+
//
// The rates and some of the rules depend on the engine that the compiler generates the program for,
// its target. H13 is the A14's, H13G the M1's. Compilers of 2020 store 0.
package execycles
