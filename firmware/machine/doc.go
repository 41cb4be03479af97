// Package machine is an engine behind all that a call goes through on a real one:
//
//	client --> broker --> driver --> ring, doorbell --> controller --> queue --> engine
//	           whose turn  selectors, gates             commands        runs
//
// A [Machine] takes commands on its ring ([Machine.Send]) and selectors of user clients
// ([Machine.Driver], [Machine.Ask]). Load commands name a model by the address that
// [Machine.Add] returned. Calls wait in the task queues of their priorities, and the queues
// interleave their runs of descriptors on one [engine.Session].
//
// A [Script] is what a host and its clients do, a line for each step: [ReadScript] reads it
// and [Script.Play] plays it with a transcript. [WriteRecording] writes the script of a run
// that has been made.
package machine
