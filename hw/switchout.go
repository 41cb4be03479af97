package hw

import "anesim/hw/clock"

// Elapsed is the time of the descriptors so far. What memory still takes of the last one's
// results is not in it until the chain ends, with Report or SwitchOut.
func (d *Device) Elapsed() clock.Nanoseconds { return d.report.Time }

// SwitchOut takes the engine away between two descriptors of a chain: the results of those
// before land, nothing of the scratchpad outlasts it, and what follows overlaps with
// nothing. It returns what waiting for the results took.
func (d *Device) SwitchOut() clock.Nanoseconds {
	before := d.report.Time
	d.finish()
	d.line = pipeline{}
	if d.pad != nil { // nothing was computed in it
		d.pad.Spoil()
	}
	return d.report.Time - before
}
