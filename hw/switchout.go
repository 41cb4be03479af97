package hw

import "anesim/hw/clock"

// Elapsed returns the total time that the device has been busy. It does not include the time to
// store the last results of a chain until [Device.Report] or [Device.SwitchOut] has ended the
// chain.
func (d *Device) Elapsed() clock.Nanoseconds { return d.report.Time }

// SwitchOut gives the engine to another program between two descriptors. It waits until the results
// of earlier descriptors are in memory, discards the contents of L2, and returns how long the wait
// took. The next descriptor does not overlap with earlier ones.
func (d *Device) SwitchOut() clock.Nanoseconds {
	before := d.report.Time
	d.finishChain()
	d.line = pipeline{}
	if d.l2 != nil { // values were computed in it
		d.l2.Spoil()
	}
	return d.report.Time - before
}
