// Package l2 models the engine's banked L2: the 2 MiB of memory between the tile DMA and the
// arithmetic, its address layout, and the cost of reading and writing it.
//
//	tile DMA --> +----------------------------------+ --> broadcast to the engines
//	             |  bank 0 | bank 1 | ... | bank 63 |
//	result   --> +----------------------------------+ --> tile DMA
//	             16-byte granule: bank = (addr / 16) mod 64
//
// A buffer is stored row by row, and within a row channel by channel. Element (g, d, c, y, x) has
// the address Base + g*Group + d*Depth + y*Row + c*Channel + 2x. The engine transposes by writing a
// result with c and x swapped. Rows on the same bank conflict: reading one granule from each of
// several rows takes as many cycles as the busiest bank has granules (decompiled). The compiler
// therefore skews row strides.
package l2
