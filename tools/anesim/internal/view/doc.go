// Package view is what pictures and pages show of a result: its headline, its items (the
// layers of a network, the descriptors of a program, the points of a sweep, the clients of
// a load) with cycles by cause, interval, energy by part and bytes, the power over time, and
// what the numbers rest on. It is made of the JSON documents of package anesim and nothing
// else, so that a picture of a stored result and of a run are the same picture.
//
//	report.Run, NetworkDocument, LoadDocument, rows of a sweep
//	    --Of...--> Report --> page (HTML), plot (SVG, PNG)
package view
