// Package view converts the documents of a result to the form that pictures and pages show: a
// headline, the items (layers of a network, descriptors of a program, points of a sweep, clients
// of a load) with cycles by cause, intervals, energy by part and bytes, the power over time, and
// the assumptions behind the numbers. It uses nothing but the JSON documents, so that a picture
// drawn from a stored result is the same as one drawn from the run.
//
//	report.Run, report.Network, report.Load, Sweep
//	    --From...--> Report --> page (HTML), plot (SVG)
package view
