// Package dma is the engine's way to device memory: the memory itself, the walks of the
// tile DMA over tensors, the sixteen coefficient lanes of the kernel DMA, and what their
// traffic costs.
//
//	device memory            tile DMA                      L2 / engines
//	+-----------+   source   group > channel > row > x     +---------+
//	| segments  | ---------> base + g*Group + c*Plane ---> | tile    |
//	|           |            + y*Row + 2x                  +---------+
//	|           |   kernel   lane i: Kernel +              +---------+
//	|           | ---------> CoeffBaseAddr[i], Size[i] --> | lanes   |
//	|           |                                          +---------+
//	|           | <--------- the same walk, writing <----- | result  |
//	+-----------+
//
// Time is bytes over the lowest of four rates: what memory gives to reads, what it gives
// to reads and writes together, and what the transfers in flight allow the tile DMA each
// way and each lane. A request that nothing hides waits for the memory's latency.
//
// A walk is checked against the memory's segments before a byte of it moves: a surface
// that leaves its segment is a fault, never a partial copy.
package dma
