// Package plot draws a report with gonum/plot, for papers and slides: the roofline, power
// over time, energy by part. Every picture names the chip, the build's constants, its units
// and what the constants that it rests on are known by.
//
//	report.Report --Roofline, Timeline, Energy--> *plot.Plot --Encode--> SVG or PNG
package plot
