// Package report converts the result of a run to documents and profiles. Package trace below it draws
// the result over time.
//
// [NewRun] and [NewNetwork] make the document of a result: plain structs with the names and
// units of the JSON that docs/json.md describes. [WriteDocument] writes the document, and
// [WriteProfile] a profile for go tool pprof. [NewLoad] and [WriteLoadProfile] do the same for several
// clients on one engine. [NewPlacement] shows where the layers of a network would run.
//
//	*anesim.Result --NewRun, NewNetwork--> document --WriteDocument--> JSON
//	               --WriteProfile--------> pprof
//
// A document holds numbers only, so programs, tables and pages use the same fields.
package report
