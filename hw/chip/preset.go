package chip

import (
	"anesim/hw"
	"anesim/hw/spelling"
)

// Default is the name of the preset that a run has when no chip is given.
const Default = "m1"

// ByName returns the preset of a name, such as "m1". The error lists the presets.
func ByName(name string) (hw.Chip, error) {
	for _, c := range hw.Chips() {
		if c.Name == name {
			return c, nil
		}
	}
	return hw.Chip{}, spelling.Unknown("chip", name, Names())
}

// Names returns the names of the presets.
func Names() []string {
	var names []string
	for _, c := range hw.Chips() {
		names = append(names, c.Name)
	}
	return names
}
