// Package report turns the result of a run into documents, traces and profiles.
//
// [NewRun] and [NewNetwork] build the document of a result: plain structs with the names and
// units of the JSON that docs/json.md describes. Every other format is made from the same
// result: [WriteJSON] writes the document, [WriteTrace] a trace for Perfetto, [WriteProfile] a
// profile for go tool pprof. [NewLoad], [WriteLoadTrace] and [WriteLoadProfile] do the same for
// several clients on one engine, and [NewPlacement] says where the layers of a network would
// run.
//
//	*anesim.Result --NewRun, NewNetwork--> document --WriteDocument--> JSON
//	               --WriteTrace----------> Perfetto
//	               --WriteProfile--------> pprof
//
// A document holds numbers only: what a program reads and what a table or a page shows come
// from the same fields.
package report
