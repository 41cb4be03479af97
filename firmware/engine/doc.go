// Package engine is an engine with its memory and firmware: programs are loaded, bound to
// buffers and called.
//
//	loader.Program --Load--> Loaded --Start--> Call --Run, Run, ...--> Result
//	                           |                 |
//	      Set, Alias, Bind, BindBuffer           +-- firmware.Pass: a run of descriptors at
//	      between calls                              a time, on an hw.Device
//
// A [Session] boots the firmware once and keeps memory and power domains from call to call.
// [Session.Load] places a program at the addresses it was linked for or at the lowest free
// ones. Between calls [Loaded.Set] gives inputs values, [Loaded.Alias] turns an output into
// the next call's input, [Loaded.Bind] sets run-time parameters, and [Loaded.BindBuffer]
// moves a port to a buffer that another program has too.
//
// There is one call loop, [Call.Run]. It executes descriptors up to where another program
// may have the engine, so a task queue can interleave calls. [Loaded.Call] drives a call to
// its end, and [Run] does that in a session of its own.
//
// A chain is walked when it is linked and when it runs, and not besides: linking notes what
// a run needs to know of all tasks before the first one executes.
//
// Faults of the device are in a [Result]. Errors say what is wrong with the program, the
// options or the order of calls.
package engine
