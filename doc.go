// Package anesim is a cycle-approximate model of the Apple M1 neural engine, faithful to
// its registers: compiled programs, single layers and whole networks go in; the values the
// engine would compute, cycles with their causes, bytes moved and energy come out.
//
//	m, err := anesim.Open("model.hwx")                     // or net.yaml, net.onnx
//	res, err := m.Run(context.Background(), anesim.Options{})
//	fmt.Println(res.Report.Cycles, res.Report.Time, res.Report.Energy)
//
// [Open] and [Read] take a compiled program in any of its forms or a network; [Layer]
// makes one layer of an operation and its keys; [Identity] is the built-in program.
// [Model.Run] takes it to an engine:
//
//	Model --lower--> loader.Program --Link--> memory map, stream
//	           inputs --> input windows --+
//	                                      v
//	firmware.Controller: init table, gates, walk --> hw.Device --> hw.Report
//	                                                   |
//	          outputs <-- output windows <-------------+
//
// The zero [Options] times the model on an M1 without computing values; Options.Values
// computes them, and with Options.Inputs on what the caller gives. A [Result] has the
// engine's account descriptor by descriptor (Report), the layers of a network (Layers),
// what came out (Outputs), what the model does not know or do (Limits), what the device
// would not survive (Report.Faults), and the run on the wall clock (Timeline). Its JSON
// ([Result.WriteJSON]) is described in docs/json.md; [RunDocument] and [NetworkDocument]
// are its types.
//
// Time and energy have an interval and every constant its evidence: [Result.Time] and
// [Result.Constants].
//
// # Stability
//
// Names, the meaning of what they return and the JSON names of one [Schema] stay from one
// minor version to the next. What is computed does not: cycles, energy and intervals change
// as the model learns, and [ThisTool] says which constants a figure came from. Packages
// below this one are public for those who build programs or look at registers; they may
// change with a note in the CHANGELOG. Bits of computed values change only where a
// measurement showed the old ones wrong.
package anesim
