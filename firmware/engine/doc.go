// Package engine models an engine with its memory and firmware. Programs are loaded, bound
// to buffers and called.
//
//	loader.Program --Load--> Loaded --Start--> Call --Run, Run, ...--> Result
//	                           |                 |
//	      Set, Alias, Bind, BindBuffer           +-- firmware.Pass: a run of descriptors at
//	      between calls                              a time, on an hw.Device
//
// A [Session] boots the firmware once and keeps memory and power domains between calls.
// [Session.Load] places a program at the addresses it was linked for, or at the lowest free
// ones. Between calls, [Loaded.Set] sets the values of inputs, [Loaded.Alias] makes an
// output the next call's input, [Loaded.Bind] sets run-time parameters, and
// [Loaded.BindBuffer] moves a port to a buffer that another program uses too.
//
// There is one call loop, [Call.Run]. It executes descriptors up to a point where another
// program may get the engine, so a task queue can interleave calls. [Loaded.Call] runs a
// call to its end, and [Run] does so in a session of its own.
//
// A chain is read once when it is linked and once for each dispatch. Linking records
// everything that a run needs to know about all tasks before the first one executes.
//
// Faults of the device are in a [Result]. Errors concern the program, the options or the
// order of calls.
package engine
