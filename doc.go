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
// A run is also a stretch of wall time. [Timeline] lays its dispatches out on it, with the
// idle gaps the firmware's power domains see, the wakes those cost, the host's part and
// the descriptors, and says what the engine draws at each moment.
//
// Everything that runs a program goes through here: the command, the benchmarks and the
// tests that use whole programs.
package anesim
