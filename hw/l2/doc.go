// Package l2 is the engine's banked scratchpad: the 2 MiB between the tile DMA and the
// arithmetic, its address layout, and what a read or a write of it costs.
//
//	tile DMA --> +----------------------------------+ --> broadcast to the engines
//	             |  bank 0 | bank 1 | ... | bank 63 |
//	result   --> +----------------------------------+ --> tile DMA
//	             16-byte granule: bank = (addr / 16) mod 64
//
// A tile stands row by row; inside a row channel follows channel. Element (g, d, c, y, x)
// is at Base + g*Group + d*Depth + y*Row + c*Channel + 2x. Some results are written
// transposed, channel for x, which is how the engine transposes. Rows a bank apart fight
// for it: reading one granule of each of several rows takes as many cycles as the most
// loaded bank has granules (decompiled), which is why the compiler skews row strides.
package l2
