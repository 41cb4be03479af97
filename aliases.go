package anesim

import (
	"anesim/firmware"
	"anesim/hw"
)

// Types of the rooms below that the options and results of this package are made of.
type (
	// A Chip is one machine's constants.
	Chip = hw.Chip
	// An Override is a register what-if.
	Override = firmware.Override
	// A Report is the engine's account of a chain.
	Report = hw.Report
)
