// Package anesim is a cycle-approximate model of the Apple M1 neural engine that reproduces its
// registers. It runs compiled programs, single layers and networks. It reports the values that the
// engine would compute, cycles with their causes, bytes moved and energy.
//
//	m, err := anesim.Open("model.hwx")                     // or net.yaml, net.onnx
//	res, err := m.Run(context.Background(), anesim.Options{})
//	fmt.Println(res.Report.Cycles, res.Report.Time, res.Report.Energy)
//
// # Open
//
// [Open] and [Read] read a compiled program in any of its formats, or a network. [OpenOptions]
// provides information that the file lacks. [Layer] makes one layer from an operation and its keys,
// [LayerOver] one program for a range of sizes, [Procedures] a container of several layers, and
// [Identity] the built-in program. [FromProgram] and [FromNetwork] use programs and networks that
// other packages built. All of them return a [Model].
//
// # Run
//
// [Model.Run] lowers the model if necessary and runs it with [Options]. The zero Options time it
// once on an M1 without computing values. Options.Values computes them, from Options.Inputs if
// those are given.
//
// A [Timer] times many models on one engine without computing values.
//
// # Read the result
//
// A [Result] holds the engine's figures per descriptor (Report), the layers of a network
// ([LayerResult]), the programs that ran ([ProgramResult]) and the outputs ([Output]).
// [Result.Time] returns the time with an interval, [Result.Causes] the cycles by cause,
// [Result.Limits] the limits of the model that the run met, and [Result.Timeline] the run on the
// wall clock. Report.Faults lists what the device would not survive.
//
// Package anesim/internal/report turns a result into JSON, a trace or a profile. Package check
// compares it with a baseline. Package explain says what would make the model faster.
//
// # Keep a session
//
// A [Session] is an engine with its memory. [Session.Load] loads a model into it once. [Loaded]
// binds the model's ports and calls it, and a [Call] runs it a few descriptors at a time.
//
// # Stability
//
// Names, the meaning of results, and the JSON names of one report.Schema do not change between
// minor versions. Computed figures do change: cycles, energy and intervals improve with the model,
// and [ThisTool] identifies the constants behind a figure. Packages below this one are public for
// those who build programs or look at registers. They may change with a note in the CHANGELOG. Bits
// of computed values change only if a measurement shows that the old ones are wrong.
package anesim
