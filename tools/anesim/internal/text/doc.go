// Package text writes reports on a terminal: of a run of a program, of a network, of an
// explanation and of a load. Each report has a summary, a table with a row per descriptor, layer,
// part or client, and lines about where cycles and energy went and which assumptions the numbers
// depend on. The numbers come from the documents of internal/report and internal/explain, from which
// JSON and HTML pages are written as well.
package text
