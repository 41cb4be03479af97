// Package traffic simulates an engine that many clients call. Each client has a program, a
// priority and arrivals. The simulation shows how long calls take and what they wait for.
//
//	client --arrival--> outside | gate | before | queue: runs | after --> done
//	                    (overlaps (one command     engine        |
//	                     others)   in flight)                    +-> next of the gate
//
// A call passes through the host's stages. A small part of them overlaps with other calls.
// The rest holds the driver's gate, which by default admits one command at a time. After
// the gate, the command waits in the task queue of its priority ([queue.Scheduler]). Runs of
// descriptors take turns on the engine, each for the time that the device reports.
//
// [Simulate] processes the runs with an event queue. It draws arrivals from a seed and
// gives identical results on every machine.
//
// A [Script] describes clients and their models in YAML. [Script.Run] runs each program
// once, alone on the engine, and simulates the clients with the times of its runs.
// [Outcome.WriteMachineScript] writes the calls as a script for package machine.
package traffic
