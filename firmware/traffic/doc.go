// Package traffic is an engine that many clients call: each has a program, a priority and
// arrivals, and the simulation says what waits for what and how long calls take.
//
//	client --arrival--> outside | gate | before | queue: runs | after --> done
//	                    (beside   (one command     engine        |
//	                     others)   in flight)                    +-> next of the gate
//
// A call passes the host's stages. A small part of them runs beside other calls; the rest
// holds the driver's gate, through which by default one command passes at a time. Behind
// it the command waits in the task queue of its priority and its runs of descriptors take
// the engine in turns, each as long as the device's own timing says.
//
// [Simulate] is an event queue over those runs. It draws its arrivals from a seed and
// is the same to the bit on every machine.
//
// A [Script] names clients and their models in YAML. [Script.Run] runs each program once,
// with the engine to itself, and simulates the clients with the times of its runs.
// [Outcome.WriteMachineScript] writes the calls as a script for package machine.
package traffic
