// Package picture draws results as SVG: where cycles and energy go, the roofline, power over
// time, latencies, accuracy and Pareto fronts. A [Picture] is part of a page, and File makes
// it one that stands alone, with its title, legend and colours, for papers and slides.
//
//	report.Report --Roofline, Timeline, Energy, ...--> Picture --SVG--> page
//	                                                           --File-> picture.svg
package picture
