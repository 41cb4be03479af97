// Package vendor reproduces the vendor compiler's own estimate of a descriptor's duration. The
// compiler stores it in the descriptor's header as ExeCycles, in whole microseconds. It describes
// the compiler's model of the engine, not the engine.
//
//	                 bytes moved / 34133.33 -----------+
//	MAC engines:     patches x channels x steps -------+--> max --> floor --> ExeCycles
//	planar engine:   channels x sources, or pixels ----+
//
// LPDDR4X-4266 with 64 bits transfers 34133.33 bytes in a microsecond. Compilers of 2020 store 0.
package vendor
