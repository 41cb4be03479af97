// Package anesim is a cycle-approximate model of the Apple M1 neural engine, faithful to
// its registers. It runs compiled programs, single layers and networks, and reports the values
// the engine would compute, cycles with their causes, bytes moved and energy.
//
//	m, err := anesim.Open("model.hwx")                     // or net.yaml, net.onnx
//	res, err := m.Run(context.Background(), anesim.Options{})
//	fmt.Println(res.Report.Cycles, res.Report.Time, res.Report.Energy)
//
// # Open
//
// [Open] and [Read] take a compiled program in any of its forms, or a network. [OpenOptions]
// say what the file leaves open. [Layer] makes one layer from an operation and its keys,
// [LayerOver] one program for a range of sizes, [Procedures] a container of several layers,
// [Identity] the built-in program. [FromProgram] and [FromNetwork] take what other packages
// built. All of them return a [Model].
//
// # Run
//
// [Model.Run] lowers the model if it has to and runs it with [Options]. The zero Options time
// it once on an M1 without computing values; Options.Values computes them, from
// Options.Inputs if they are given.
//
// A [Timer] times many models on one engine without values.
//
// # Read the result
//
// A [Result] has the engine's account descriptor by descriptor (Report), the layers of a
// network ([LayerResult]), the programs that ran ([ProgramResult]) and what came out
// ([Output]). [Result.Time] has an interval, [Result.Causes] says where the cycles went,
// [Result.Limits] what the model does not know, Report.Faults what the device would not
// survive, and [Result.Timeline] where the run spent its time on the wall clock.
//
// Package anesim/bench/report turns a result into JSON, a trace or a profile; package check
// compares it with a baseline; package explain says what would make the model faster.
//
// # Keep a session
//
// A [Session] is an engine with its memory. [Session.Load] places a model there once;
// [Loaded] binds its ports and calls it, and a [Call] runs it a few descriptors at a time.
//
// # Stability
//
// Names, the meaning of what they return and the JSON names of one report.Schema stay from one
// minor version to the next. What is computed does not: cycles, energy and intervals change
// as the model learns, and [ThisTool] says which constants a figure came from. Packages
// below this one are public for those who build programs or look at registers; they may
// change with a note in the CHANGELOG. Bits of computed values change only where a
// measurement showed the old ones wrong.
package anesim
