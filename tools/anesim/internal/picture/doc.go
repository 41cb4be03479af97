// Package picture draws results as SVG: cycles by cause, energy, the roofline, power over time,
// latencies, accuracy and Pareto fronts. A [Picture] can be placed in a page. Its File method
// returns it as a standalone file with title, legend and colors, for papers and slides.
package picture
