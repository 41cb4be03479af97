// Package firmware is the controller of the engine: it initialises the engine's
// registers, then walks a chain of task descriptors and hands each task to the device.
//
// On the chip a small processor does this. Its image holds a table of masked register
// writes for ten MMIO blocks; nothing computes before they are applied, because the
// thirty-two tile enables are among them:
//
//	init table                 MMIO                        device
//	+--------------+  masked  +---------------------+     +--------------------+
//	| ASC_CHINOOK  |  read-   | ...                 |     |                    |
//	| ASCWRAP      |  modify- | 0x2_6bc0_d014  1    |---->| SetTileEnables     |
//	| sneCtrl      |  write   | 0x2_6bc0_d1c4  1    |  1. |   bit 2e+h: engine |
//	| ANE          |--------->| 0x2_6bc0_d314  1    |     |   e, half h        |
//	| aneDpe...    |          | ...                 |     |                    |
//	+--------------+          +---------------------+     |                    |
//	text: descriptor -> descriptor -> descriptor          |                    |
//	          |   records -> regs.File -> regs.Task       |                    |
//	          +------------------------------------------>| Execute            |
//	                                                   2. +--------------------+
//
// A real image has 1994 records; the documents name 66 of them, which [Known] returns
// with the evidence of each. [ReadInit] reads a full table, or a part of one as CSV.
//
// # Power
//
// The engine has five power domains, the base and four clusters of four engines. Each has
// a status word whose low byte reads 0xff when it is on. A call brings the base up, then
// the clusters of the engines that its tasks name; nothing goes down again until the
// engine has idled so long that the rails go off, and then all of it does, to 0 W
// (measured). What a call waits for that, the wake, is told by the idle gap before it:
//
//	wake                              260 ms  +--------- cold
//	  ^                                       |
//	  |            0.5 ms  +------------------+
//	  |             ___---'
//	  +-------------+------+------------------+--------> idle gap
//	  0                 100 ms               5 s
//	  |<- rails on, waiting ->|<- rails off: 0 W
//
// [Power] is that state and [PowerTimes] its numbers, which come with the device; the
// controller keeps one, wakes it in [Controller.Run] and idles it in [Controller.Idle].
// All of it is the host's time: the engine's cycles know no wake.
//
// # Use
//
// [Controller.Boot] applies the table, [Controller.GateTiles] clears tile enables
// afterwards as a what-if, and [Controller.Run] walks a chain. What the device does
// wrong is the device's result; the errors of this package are about tables, lists and
// descriptor streams.
package firmware
