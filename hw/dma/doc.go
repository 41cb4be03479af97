// Package dma models the engine's access to device memory: the memory, the walks of the tile DMA
// over tensors, the sixteen weight lanes of the kernel DMA, and the time that their traffic
// takes.
//
//	device memory            tile DMA                      L2 / engines
//	+-----------+   source   group > channel > row > x     +---------+
//	| segments  | ---------> base + g*Group + c*Plane ---> | buffer  |
//	|           |            + y*Row + 2x                  +---------+
//	|           |   kernel   lane i: Kernel +              +---------+
//	|           | ---------> CoeffBaseAddr[i], Size[i] --> | lanes   |
//	|           |                                          +---------+
//	|           | <--------- the same walk, writing <----- | result  |
//	+-----------+
//
// Time is the number of bytes divided by the lowest rate that applies. There are four: memory's
// rate for reads, memory's rate for reads and writes together, and the rates that the outstanding
// transfers of the tile DMA (each way) and of each lane allow. A request that nothing hides waits
// for the latency of memory.
//
// A walk is checked against the segments of the memory before any byte moves. A surface that leaves
// its segment is a fault, never a partial copy.
package dma
