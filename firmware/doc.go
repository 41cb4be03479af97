// Package firmware models the controller of the engine. The controller initializes the
// engine's registers, then reads a chain of task descriptors and passes each task to the
// device.
//
// On the chip a small processor does this. Its image contains a table of masked register
// writes for ten MMIO blocks. Nothing computes before they are applied, because the
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
// A real image has 1994 records. The documents give 66 of them, which [Known] returns with
// the evidence for each. [ReadInit] reads a full table, or a partial one as CSV.
//
// # Power
//
// The engine has five power domains: the base and four clusters of four engines. The low
// byte of a domain's status word is 0xff while it is on. A call powers up the base, then
// the clusters of the engines that its tasks use. Domains stay on until the engine has been
// idle for so long that the rails go off, and then everything goes off at once, to 0 W
// (measured). The wake is the time that a call waits for power. It depends on the preceding
// idle gap:
//
//	wake                              260 ms  +--------- cold
//	  ^                                       |
//	  |            0.5 ms  +------------------+
//	  |             ___---'
//	  +-------------+------+------------------+--------> idle gap
//	  0                 100 ms               5 s
//	  |<- rails on, waiting ->|<- rails off: 0 W
//
// [Power] is the state of the domains, and [PowerTimes] holds the constants, which come
// with the device. The controller has a Power, wakes it in [Controller.Run] and lets it
// idle in [Controller.Idle]. All of this is host time; the engine's cycle counts do not
// include it.
//
// # Use
//
// [Controller.Boot] applies the table, [Controller.GateTiles] clears tile enables
// afterwards to explore their effect, and [Controller.Run] executes a chain. Faults of the
// device are reported by the device. The errors of this package concern tables, lists and
// descriptor streams.
package firmware
