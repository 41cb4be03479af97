// Package machine puts a program on a machine: the loader's memory and ports, the
// firmware that boots and walks, and the device that computes.
//
//	loader.Program --Link--> memory map, stream
//	     inputs  --> input windows --+
//	                                 v
//	firmware.Controller: init table, gates, walk --> hw.Device --> hw.Report
//	                                                    |
//	     outputs <-- output windows <-------------------+
//
// Everything that runs a program goes through here: the command, the benchmarks and the
// tests that use whole programs.
package machine
