// Package text writes what people read of a result on a terminal: of a program's run, a
// network's, an explanation and a load, each a head, a table with a row per descriptor, layer,
// part or client, and lines that say where cycles and energy went and what the numbers rest on.
// The numbers are those of the documents of bench/report and bench/explain, which JSON and pages
// are written from as well.
package text
