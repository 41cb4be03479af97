// Package vendor is the vendor compiler's own estimate of a descriptor, which it stores
// in the descriptor's header as ExeCycles: whole microseconds of its model of the engine,
// not of the engine.
//
//	                 bytes moved / 34133.33 -----------+
//	MAC engines:     patches x channels x steps -------+--> max --> floor --> ExeCycles
//	planar engine:   channels x sources, or pixels ----+
//
// 34133.33 bytes are what LPDDR4X-4266 gives on 64 bits in a microsecond. Compilers of
// 2020 store 0.
package vendor
