// Package trace draws the results of runs over time, in files for Perfetto (ui.perfetto.dev).
//
//	trace.go   a run: dispatches, descriptors, their causes, power, bytes       Write, WriteAll
//	load.go    many clients on one engine: arrivals, queues, calls              WriteLoad
//	packet.go  the bytes of the file: protocol buffers of Perfetto
package trace
