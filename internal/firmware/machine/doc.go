// Package machine models an engine together with all layers that a call passes through on a
// real one:
//
//	client --> broker --> driver --> ring, doorbell --> controller --> queue --> engine
//	           whose turn  selectors, gates             commands        runs
//
// A [Machine] takes commands on its ring ([Machine.Send]) and selectors of user clients
// ([Machine.Driver], [Machine.Ask]). Load commands identify a model by the address that
// [Machine.Add] returned. Calls wait in the task queues of their priorities, and the queues
// interleave their runs of descriptors on one [engine.Session].
//
// Calls of clients take the time of the host's stages, and of the engine; [Machine.RunUntil] and the
// calls themselves move the clock. Several calls can be outstanding: their completions arrive in the
// order of time, and a run of descriptors can be stopped in its middle.
//
// A [Script] lists the actions of a host and its clients, one step per line. [ReadScript]
// parses it and [Script.Play] plays it and writes a transcript. [WriteRecording] writes the
// script of a finished run.
package machine
