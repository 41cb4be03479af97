package host

import "anesim/hw/evidence"

// newPreset returns a host of machines with the given chip, with the given hold time, whose constants have
// the values v and the given source. It marks constants with value 0 as assumed, because no measurement
// shows such a cost.
func newPreset(name, chip, source string, v Vector, hold float64) Host {
	units := [...]string{"us/call", "us/MB", "us/MB", "us/MB", "ns/output", "ns/output", "us/MB"}
	h := Host{Name: name, Chip: chip}
	for i, c := range h.listConstants() {
		*c = evidence.Constant{Value: v[i], Unit: units[i], Evidence: evidence.Fitted, Source: source}
		if v[i] == 0 {
			c.Evidence, c.Source = evidence.Assumed, "no row shows such a cost"
		}
	}
	h.Hold = evidence.Constant{Value: hold, Unit: "ns", Evidence: evidence.Fitted, Source: source}
	if hold == 0 {
		h.Hold.Evidence, h.Hold.Source = evidence.Assumed, "too few energies were published; 0 means the hold time of the chip"
	}
	return h
}

const rows = "fitted to the public rows (TestCalibration in bench) of "

// phone is one term, because the inputs of the networks that it is fitted to are all of about the
// same size. Further terms tell no network better that the fit did not see. Networks that were published
// in 2022, for iOS 15, have a host of their own: those of two groups of authors leave 610 to 680 us to the
// call where they are small, those of iOS 16 and later 380 to 480.
var phone, phone2022 = Vector{450}, Vector{632}

// newLiveHost returns the host whose calls take the stages of the documents' latency budget as they were
// measured, without a fit. The budget includes the copies of a small call and has no rates.
func newLiveHost() Host {
	h := newPreset("macos-guide-live", "m1", "", Vector{}, 0)
	h.Floor = evidence.New(BudgetSum(), "us/call", evidence.Measured, "latency budget of a small dispatch: the sum of its stages")
	return h
}

// Presets returns all known hosts: one without any cost, two machines with a Linux driver that does
// not copy tensors, five sessions on machines with macOS, the guide's latency budget of a small call
// as it was measured, and phones with an A14 and two ranges of systems. Rates per megabyte
// refer to a million bytes of fp16 data.
func Presets() []Host {
	return []Host{
		newPreset("none", "", "the engine alone", Vector{}, 0),
		newPreset("linux", "m1max", rows+"the T6001 under Linux, whose engine ran at 300 MHz; a driver measured 38-42 us per submission", linux, linuxHold),
		newPreset("linux-m1", "m1", rows+"the T8103 under Linux, whose engine ran at 996 MHz and, in an earlier phase, at 1320 MHz", linuxM1, linuxM1Hold),
		newPreset("macos-air", "m1", rows+"MacBookAir10,1, macOS 15", air, airHold),
		newPreset("macos-mbp", "m1", rows+"MacBookPro17,1, macOS 26; zeros and subnormals of relu and softmax cost as much as a mispredicted branch", mbp, mbpHold),
		newPreset("macos-max", "m1max", rows+"MacBookPro18,2, macOS 26", max1, max1Hold),
		newPreset("macos-max-b", "m1max", rows+"a session labelled M1 with a 32 W GPU", maxB, maxBHold),
		newPreset("macos-guide", "m1max", rows+"the guide's session", guide, guideHold),
		newLiveHost(),
		newPreset("iphone12-coreml", "a14", "fitted to the networks of the A14 (bench.NetworkRows): a Core ML call on an iPhone 12, 12 Pro or 12 Pro Max with iOS 16 or later", phone, 0),
		newPreset("iphone12-ios15", "a14", "fitted to the networks of the A14 that were published in 2022 (bench.NetworkRows): a Core ML call with iOS 15", phone2022, 0),
	}
}
