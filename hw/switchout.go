package hw

import "anesim/hw/clock"

// Elapsed returns the time of the descriptors so far. It includes the drain of the last results
// only after the chain has ended with Report or SwitchOut.
func (d *Device) Elapsed() clock.Nanoseconds { return d.report.Time }

// SwitchOut takes the engine away between two descriptors of a chain. The results of earlier
// descriptors are written, the contents of the L2 are lost, and the next descriptor overlaps with
// nothing. SwitchOut returns the time spent waiting for the results.
func (d *Device) SwitchOut() clock.Nanoseconds {
	before := d.report.Time
	d.finish()
	d.line = pipeline{}
	if d.pad != nil { // values were computed in it
		d.pad.Spoil()
	}
	return d.report.Time - before
}
