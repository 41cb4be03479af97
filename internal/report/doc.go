// Package report converts the result of a run to documents, traces and profiles.
//
// [NewRun] and [NewNetwork] make the document of a result: plain structs with the names and
// units of the JSON that docs/json.md describes. [WriteJSON] writes the document,
// [WriteTrace] a trace for Perfetto, and [WriteProfile] a profile for go tool pprof.
// [NewLoad], [WriteLoadTrace] and [WriteLoadProfile] do the same for several clients on one
// engine. [NewPlacement] shows where the layers of a network would run.
//
//	*anesim.Result --NewRun, NewNetwork--> document --WriteDocument--> JSON
//	               --WriteTrace----------> Perfetto
//	               --WriteProfile--------> pprof
//
// A document holds numbers only, so programs, tables and pages use the same fields.
package report
